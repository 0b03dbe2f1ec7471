import { again } from './again.ts';
import { at, post } from './api.ts';
import { cache, listOptions } from './cache.ts';
import { onKind } from './live.ts';
import type { Mail, MailBody } from './types.ts';

const listKey = (session: string) => ['session', session, 'mail'];

/** Newest first. */
export const mailQuery = (session: string) =>
  listOptions<Mail>(listKey(session), at`/agent-sessions/${session}/mail`, {}, 100);

/** Writes to an agent, or to the whole team. */
export async function writeMail(session: string, mail: MailBody): Promise<Mail> {
  const made = await post<Mail>(at`/agent-sessions/${session}/mail`, mail);
  await cache.invalidateQueries({ queryKey: listKey(session) });
  return made;
}

onKind('session', async event => {
  if (event.type !== 'mail.posted') return;
  await again(`mail ${event.id}`, () => cache.invalidateQueries({ queryKey: listKey(event.id) }));
});
