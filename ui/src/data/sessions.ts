import { queryOptions } from '@tanstack/react-query';
import { again } from './again.ts';
import { asApiError, at, get, patch, post, put, remove } from './api.ts';
import { cache, dropFromLists, listOptions, patchLists, type Pages } from './cache.ts';
import { onKind } from './live.ts';
import type { Acl, AgentSession, AgentSessionBody, AgentSessionChange } from './types.ts';

const listKey = (project: string) => ['project', project, 'sessions'];

export const sessionsQuery = (project: string, archived = false) =>
  listOptions<AgentSession>([...listKey(project), archived], at`/projects/${project}/agent-sessions`, {
    archived: archived ? 'true' : undefined,
  });

export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id],
    queryFn: ({ signal }) => get<AgentSession>(at`/agent-sessions/${id}`, undefined, signal),
  });

function keepSession(session: AgentSession): AgentSession {
  cache.setQueryData(sessionQuery(session.id).queryKey, session);
  patchLists(listKey(session.project_id), session);
  return session;
}

export async function createSession(project: string, body: AgentSessionBody): Promise<AgentSession> {
  const made = keepSession(await post<AgentSession>(at`/projects/${project}/agent-sessions`, body));
  await cache.invalidateQueries({ queryKey: listKey(project) });
  return made;
}

export async function changeSession(session: AgentSession, change: AgentSessionChange): Promise<AgentSession> {
  const changed = keepSession(
    await patch<AgentSession>(at`/agent-sessions/${session.id}`, { ...change, expected_version: session.version }),
  );
  if (change.archived !== undefined || change.project_id !== undefined) {
    await cache.invalidateQueries({ queryKey: listKey(session.project_id) });
    await cache.invalidateQueries({ queryKey: listKey(changed.project_id) });
  }
  return changed;
}

/** Takes the session away from all connections, or gives it back; needs no version. */
export async function keepOnServer(session: string, localOnly: boolean): Promise<AgentSession> {
  return keepSession(await patch<AgentSession>(at`/agent-sessions/${session}`, { local_only: localOnly }));
}

const aclKey = (session: string) => ['session', session, 'acl'];

export const sessionACLQuery = (session: string) =>
  queryOptions({
    queryKey: aclKey(session),
    queryFn: ({ signal }) => get<Acl>(at`/agent-sessions/${session}/acl`, undefined, signal),
  });

/** Shares the session with the listed people only; nobody listed opens it to its project. */
export async function listPeople(session: string, users: Array<{ id: string; right: string }>): Promise<void> {
  if (users.length === 0) await remove(at`/agent-sessions/${session}/acl`);
  else await put<Acl>(at`/agent-sessions/${session}/acl`, { users });
  await cache.invalidateQueries({ queryKey: aclKey(session) });
  await readAgain(session);
}

const readAgain = async (id: string) => keepSession(await get<AgentSession>(at`/agent-sessions/${id}`));

const listed = ['session.created', 'session.archived', 'session.restored', 'session.changed', 'session.acl_changed'];
const states = ['task.queued', 'task.started', 'task.ended', 'task.waiting'];

onKind('session', async event => {
  const { id, type, project_id: project } = event;
  if (type === 'session.left' && project) dropFromLists(listKey(project), id);
  if (listed.includes(type) && project && !isShown(id)) void cache.invalidateQueries({ queryKey: listKey(project) });
  if (type === 'session.acl_changed') void cache.invalidateQueries({ queryKey: aclKey(id) });
  if ((!type.startsWith('session.') && !states.includes(type)) || !isShown(id)) return;
  await again(`session ${id}`, async () => {
    try {
      await readAgain(id);
    } catch (thrown) {
      const error = asApiError(thrown);
      if (!error.notFound && !error.denied) return;
      if (project) dropFromLists(listKey(project), id);
      void cache.invalidateQueries({ queryKey: ['session', id] });
    }
  });
  if (['session.archived', 'session.restored'].includes(type) && project)
    await cache.invalidateQueries({ queryKey: listKey(project) });
});

/** Whether the session, or a list with it, was fetched. */
function isShown(id: string): boolean {
  if (cache.getQueryState(['session', id])) return true;
  return cache
    .getQueriesData<Pages<AgentSession>>({
      queryKey: ['project'],
      predicate: query => query.queryKey[2] === 'sessions',
    })
    .some(([, data]) => data?.pages.some(page => page.items.some(row => row.id === id)));
}
