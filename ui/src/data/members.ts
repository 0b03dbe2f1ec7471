import { at, patch, post, remove } from './api.ts';
import { cache, listOptions } from './cache.ts';
import { onKind } from './live.ts';
import { meQuery } from './me.ts';
import type { Member } from './types.ts';

const listKey = (workspace: string) => ['workspace', workspace, 'members'];

export const membersQuery = (workspace: string) =>
  listOptions<Member>(listKey(workspace), at`/workspaces/${workspace}/members`);

export type Role = Member['role'];

/** Lets a person in. Without a password the answer has the link to choose one. */
export async function addMember(workspace: string, email: string, name: string, role: Role): Promise<Member> {
  const made = await post<Member>(at`/workspaces/${workspace}/members`, { email, name, role });
  await cache.invalidateQueries({ queryKey: listKey(workspace) });
  return made;
}

export async function setRole(workspace: string, user: string, role: Role): Promise<void> {
  await patch<Member>(at`/workspaces/${workspace}/members/${user}`, { role });
  await cache.invalidateQueries({ queryKey: listKey(workspace) });
}

export async function removeMember(workspace: string, user: string): Promise<void> {
  await remove(at`/workspaces/${workspace}/members/${user}`);
  await cache.invalidateQueries({ queryKey: listKey(workspace) });
}

onKind('workspace', event => {
  void cache.invalidateQueries({ queryKey: listKey(event.workspace_id) });
  void cache.invalidateQueries({ queryKey: meQuery.queryKey });
});
