import { asApiError, at, get, post } from './api.ts';
import { cache, listOptions, patchLists, useList, type Page, type Pages } from './cache.ts';
import { onKind } from './live.ts';
import type { Handoff } from './types.ts';

const inboxKey = (workspace: string) => ['workspace', workspace, 'handoffs'];
const waitingKey = (workspace: string) => [...inboxKey(workspace), 'pending'];
const ofSession = (session: string) => ['session', session, 'handoffs'];

/** Of all sessions of the workspace where this person may decide, newest first. */
export const waitingQuery = (workspace: string) =>
  listOptions<Handoff>(waitingKey(workspace), '/handoffs', { state: 'pending', workspace });

/** How many requests wait for this person in the workspace, as far as they were read. */
export function useWaiting(workspace: string, enabled = true): number {
  const { items } = useList({ ...waitingQuery(workspace), enabled });
  return items?.filter(handoff => handoff.state === 'pending').length ?? 0;
}

/** The same sessions' newest, whatever became of them. */
export const recentQuery = (workspace: string) =>
  listOptions<Handoff>([...inboxKey(workspace), 'all'], '/handoffs', { workspace }, 50);

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
    if (!data || !first || data.pages.some(page => page.items.some(row => row.id === handoff.id))) return data;
    return { ...data, pages: [{ ...first, items: [handoff, ...first.items] }, ...rest] };
  });
}

/** Adds a request to the inbox if this person may decide about it, which is the server's to say. */
async function addToInbox(workspace: string, id: string): Promise<void> {
  if (!cache.getQueryState(waitingKey(workspace))) return;
  const waiting = await get<Page<Handoff>>('/handoffs', { state: 'pending', workspace, limit: 50 });
  const handoff = waiting.items.find(item => item.id === id);
  if (handoff) addToList(waitingKey(workspace), handoff);
}

onKind('session', async ({ type, id: session, workspace_id: workspace, data }) => {
  const id = data?.handoff_id;
  if (!type.startsWith('handoff.') || typeof id !== 'string') return;
  try {
    const handoff = await readAgain(session, id);
    if (type !== 'handoff.proposed') {
      await cache.invalidateQueries({ queryKey: recentQuery(workspace).queryKey });
      return;
    }
    addToList([...ofSession(session), ''], handoff);
    if (handoff.state !== 'pending') return;
    addToList([...ofSession(session), 'pending'], handoff);
    await addToInbox(workspace, id);
  } catch (thrown) {
    const error = asApiError(thrown);
    if (error.notFound || error.denied) await cache.invalidateQueries({ queryKey: inboxKey(workspace) });
  }
});

// Who sees which session, and who may decide, is part of what the inbox holds.
onKind('session', async ({ type, workspace_id: workspace }) => {
  if (['session.acl_changed', 'session.changed', 'session.left'].includes(type))
    await cache.invalidateQueries({ queryKey: inboxKey(workspace) });
});
onKind('workspace', async ({ workspace_id: workspace }) => {
  await cache.invalidateQueries({ queryKey: inboxKey(workspace) });
});
