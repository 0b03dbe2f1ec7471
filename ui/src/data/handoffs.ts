import { asApiError, at, get, post } from './api.ts';
import { cache, listOptions, patchLists, type Pages } from './cache.ts';
import { onKind } from './live.ts';
import type { Handoff } from './types.ts';

const waitingKey = (workspace: string) => ['workspace', workspace, 'handoffs'];
const ofSession = (session: string) => ['session', session, 'handoffs'];

/** Of all sessions of the workspace where this person may decide, newest first. */
export const waitingQuery = (workspace: string) =>
  listOptions<Handoff>(waitingKey(workspace), '/handoffs', { state: 'pending', workspace });

/** Of one session, newest first. */
export const sessionHandoffsQuery = (session: string, state?: Handoff['state']) =>
  listOptions<Handoff>([...ofSession(session), state ?? ''], at`/agent-sessions/${session}/external-handoffs`, {
    state,
  });

const one = (session: string, id: string) => at`/agent-sessions/${session}/external-handoffs/${id}`;

/** Puts what the server says of the handoff in every list that has it; reports whether one did. */
function keepHandoff(handoff: Handoff): boolean {
  const inSession = patchLists(ofSession(handoff.session_id), handoff);
  const inbox = patchLists(['workspace'], handoff);
  return inSession || inbox;
}

export interface Decision {
  decision: 'accept' | 'decline';
  reason?: string;
}

/**
 * Decides what was shown: the digest says what that was, so that nothing else is
 * approved.
 */
export async function decide(handoff: Handoff, decision: Decision): Promise<Handoff> {
  const decided = await post<Handoff>(`${one(handoff.session_id, handoff.id)}/decision`, {
    ...decision,
    ...(handoff.digest && { digest: handoff.digest }),
  });
  keepHandoff(decided);
  return decided;
}

/** The handoff as it stands now. */
export async function readAgain(session: string, id: string): Promise<Handoff> {
  const handoff = await get<Handoff>(one(session, id));
  keepHandoff(handoff);
  return handoff;
}

/** Puts a handoff that came in at the beginning of the list, if that was read. */
function addToList(key: string[], handoff: Handoff): void {
  cache.setQueryData<Pages<Handoff>>(key, data => {
    const [first, ...rest] = data?.pages ?? [];
    if (!data || !first) return data;
    return { ...data, pages: [{ ...first, items: [handoff, ...first.items] }, ...rest] };
  });
}

onKind('session', async event => {
  const id = event.data?.handoff_id;
  if (!event.type.startsWith('handoff.') || typeof id !== 'string') return;
  try {
    const handoff = await get<Handoff>(one(event.id, id));
    if (keepHandoff(handoff)) return;
    addToList([...ofSession(event.id), ''], handoff);
    if (handoff.state !== 'pending') return;
    addToList([...ofSession(event.id), 'pending'], handoff);
    // Whether this person may decide about it is the server's to say.
    await cache.invalidateQueries({ queryKey: waitingKey(event.workspace_id) });
  } catch (thrown) {
    const error = asApiError(thrown);
    if (!error.notFound && !error.denied) return;
    await cache.invalidateQueries({ queryKey: waitingKey(event.workspace_id) });
  }
});
