import { has, say, type TextKey } from './locale.ts';

/** What an operation of the owner API or a tool does, in words; undefined if it has none yet. */
export function actOf(tool: string): string | undefined {
  const key = `app.act.${tool}`;
  return has(key) ? say(key) : undefined;
}

/** Why a call was refused, in words. */
export function reasonOf(code: string): string {
  const key = `app.code.${code}`;
  return has(key) ? say(key) : say('app.code.other' satisfies TextKey, { code });
}
