import { queryOptions } from '@tanstack/react-query';
import { asApiError, at, get, patch, post, remove } from './api.ts';
import { cache, dropFromLists, listOptions, patchLists } from './cache.ts';
import { onKind } from './live.ts';
import type { Connection, ConnectionChange } from './types.ts';

const ofWorkspace = (workspace: string) => ['workspace', workspace, 'connections'];
const ofProject = (project: string) => ['project', project, 'connections'];

/** When an assistant was last there is not announced, so it is asked for while somebody looks. */
const lookAgain = 20_000;

export const connectionsQuery = (workspace: string) => ({
  ...listOptions<Connection>(ofWorkspace(workspace), at`/workspaces/${workspace}/connections`),
  refetchInterval: lookAgain,
});

export const projectConnectionsQuery = (project: string) => ({
  ...listOptions<Connection>(ofProject(project), at`/projects/${project}/connections`),
  refetchInterval: lookAgain,
});

export const connectionQuery = (id: string) =>
  queryOptions({
    queryKey: ['connection', id],
    queryFn: ({ signal }) => get<Connection>(at`/connections/${id}`, undefined, signal),
    refetchInterval: lookAgain,
  });

function keepConnection(connection: Connection): Connection {
  cache.setQueryData(connectionQuery(connection.id).queryKey, connection);
  patchLists(ofWorkspace(connection.workspace_id), connection);
  for (const project of connection.projects) patchLists(ofProject(project.id), connection);
  return connection;
}

export async function changeConnection(id: string, change: ConnectionChange): Promise<Connection> {
  return keepConnection(await patch<Connection>(at`/connections/${id}`, change));
}

export async function addToProject(project: string, connection: string): Promise<Connection> {
  const added = keepConnection(
    await post<Connection>(at`/projects/${project}/connections`, { connection_id: connection }),
  );
  await cache.invalidateQueries({ queryKey: ofProject(project) });
  return added;
}

export async function removeFromProject(project: string, connection: string): Promise<void> {
  await remove(at`/projects/${project}/connections/${connection}`);
  dropFromLists(ofProject(project), connection);
  await cache.invalidateQueries({ queryKey: ['connection', connection] });
}

onKind('connection', async event => {
  const changed = event.data?.project_id;
  if (typeof changed === 'string') void cache.invalidateQueries({ queryKey: ofProject(changed) });
  try {
    const now = await get<Connection>(at`/connections/${event.id}`);
    keepConnection(now);
    if (event.type === 'connection.created') await cache.invalidateQueries({ queryKey: ofWorkspace(now.workspace_id) });
  } catch (thrown) {
    if (asApiError(thrown).notFound) dropFromLists(ofWorkspace(event.workspace_id), event.id);
  }
});
