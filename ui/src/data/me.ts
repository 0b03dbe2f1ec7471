import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { at, get, patch, post, remove } from './api.ts';
import { cache, listOptions } from './cache.ts';
import { keep, kept } from './kept.ts';
import type { BrowserSession, Me, Named, PersonalToken, Team } from './types.ts';

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => get<Me>('/me', undefined, signal) });

/** Who is signed in. The shell draws nothing before it knows. */
export const useMe = () => useSuspenseQuery(meQuery).data;

/** The workspace with this ID, if the person is in it. */
export function useTeam(id: string | undefined): Team | undefined {
  return useQuery(meQuery).data?.workspaces.find(team => team.id === id);
}

/** The workspace that was open last in this browser, or the first. */
export function lastWorkspace(me: Me): Team | undefined {
  return me.workspaces.find(team => team.id === kept('workspace')) ?? me.workspaces[0];
}

export const rememberWorkspace = (id: string) => keep('workspace', id);

export const signIn = (email: string, password: string) => post<Me>('/sign-in', { email, password });
export const signOut = () => post<void>('/sign-out');

export async function createWorkspace(name: string): Promise<Team> {
  const made = await post<Team>('/workspaces', { name });
  await cache.invalidateQueries({ queryKey: meQuery.queryKey });
  return made;
}

/** Everybody sees the person by this name from now on. */
export async function renameMe(name: string): Promise<void> {
  cache.setQueryData(meQuery.queryKey, await patch<Me>('/me', { name }));
  await cache.invalidateQueries({ predicate: ({ queryKey }) => queryKey[2] === 'members' });
}

/** Signs out all other browsers of the person. */
export async function changePassword(current: string, chosen: string): Promise<void> {
  await post('/me/password', { current, new: chosen });
  await cache.invalidateQueries({ queryKey: browsersKey });
}

export async function renameWorkspace(workspace: string, name: string): Promise<Named> {
  const renamed = await patch<Named>(at`/workspaces/${workspace}`, { name });
  await cache.invalidateQueries({ queryKey: meQuery.queryKey });
  return renamed;
}

const browsersKey = ['browser-sessions'];
export const browsersQuery = { ...listOptions<BrowserSession>(browsersKey, '/browser-sessions'), staleTime: 0 };

export async function endBrowserSession(id: string): Promise<void> {
  await remove(at`/browser-sessions/${id}`);
  await cache.invalidateQueries({ queryKey: browsersKey });
}

const tokensKey = ['personal-tokens'];
export const tokensQuery = listOptions<PersonalToken>(tokensKey, '/personal-tokens');

/** The answer alone holds the token. */
export async function createToken(name: string): Promise<PersonalToken> {
  const made = await post<PersonalToken>('/personal-tokens', { name });
  await cache.invalidateQueries({ queryKey: tokensKey });
  return made;
}

export async function revokeToken(id: string): Promise<void> {
  await remove(at`/personal-tokens/${id}`);
  await cache.invalidateQueries({ queryKey: tokensKey });
}
