import { clean } from '../i18n/format.ts';
import { useText } from '../i18n/Text.tsx';
import { ago, moment, useClock } from '../i18n/time.ts';

export { clean };

const longest = 80;

/** A name or a title that somebody gave, on one line. */
export function Name({ children: text }: { children: string }) {
  const whole = clean(text).replace(/\s+/g, ' ').trim();
  const short = [...whole].length > longest ? `${[...whole].slice(0, longest).join('')}…` : whole;
  return (
    <bdi dir="auto" {...(short !== whole && { title: whole })}>
      {short}
    </bdi>
  );
}

/** How long ago, and the exact moment for who asks. */
export function Ago({ at }: { at: string }) {
  useText();
  useClock();
  return (
    <time dateTime={at} title={moment(at)}>
      {ago(at)}
    </time>
  );
}

/** The first letters of a name, for its tile. */
export function initials(name: string): string {
  const words = clean(name)
    .split(/\s+/)
    .filter(word => /[\p{L}\p{N}]/u.test(word));
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map(word => (word ? [...word][0] : ''));
  return letters.join('').toUpperCase() || '?';
}
