import { queryOptions } from '@tanstack/react-query';
import { at, get, patch, put, remove } from './api.ts';
import { cache, listOptions } from './cache.ts';
import { onKind } from './live.ts';
import type { Figures, FiguresChange, Provider, ProviderBody } from './types.ts';

/** What every workspace has, and needs no model. */
export const rehearsal = 'rehearsal';

const listKey = (workspace: string) => ['workspace', workspace, 'providers'];
const figuresKey = (workspace: string) => ['workspace', workspace, 'figures'];

/** Only owners may read it. */
export const providersQuery = (workspace: string) =>
  listOptions<Provider>(listKey(workspace), at`/workspaces/${workspace}/providers`);

/** A key goes one way: it is sent, and never answered. */
export async function putProvider(workspace: string, name: string, body: ProviderBody): Promise<Provider> {
  const made = await put<Provider>(at`/workspaces/${workspace}/providers/${name}`, body);
  await cache.invalidateQueries({ queryKey: listKey(workspace) });
  return made;
}

export async function deleteProvider(workspace: string, name: string): Promise<void> {
  await remove(at`/workspaces/${workspace}/providers/${name}`);
  await cache.invalidateQueries({ queryKey: listKey(workspace) });
}

export const figuresQuery = (workspace: string) =>
  queryOptions({
    queryKey: figuresKey(workspace),
    queryFn: ({ signal }) => get<Figures>(at`/workspaces/${workspace}/figures`, undefined, signal),
  });

export async function changeFigures(workspace: string, change: FiguresChange): Promise<void> {
  cache.setQueryData(figuresKey(workspace), await patch<Figures>(at`/workspaces/${workspace}/figures`, change));
}

onKind('workspace', event => {
  if (event.type.startsWith('provider.')) void cache.invalidateQueries({ queryKey: listKey(event.workspace_id) });
  if (event.type === 'workspace.figures_changed')
    void cache.invalidateQueries({ queryKey: figuresKey(event.workspace_id) });
});
