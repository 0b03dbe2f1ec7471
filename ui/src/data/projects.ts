import { queryOptions } from '@tanstack/react-query';
import { asApiError, at, get, patch, post, put, remove } from './api.ts';
import { cache, dropFromLists, listOptions, patchLists } from './cache.ts';
import { onKind } from './live.ts';
import type { Member, Project, ProjectChange } from './types.ts';

const listKey = (workspace: string) => ['workspace', workspace, 'projects'];

export const projectsQuery = (workspace: string) =>
  listOptions<Project>(listKey(workspace), at`/workspaces/${workspace}/projects`);

export const projectQuery = (id: string) =>
  queryOptions({
    queryKey: ['project', id],
    queryFn: ({ signal }) => get<Project>(at`/projects/${id}`, undefined, signal),
  });

const membersKey = (project: string) => ['project', project, 'members'];
export const projectMembersQuery = (project: string) =>
  listOptions<Member>(membersKey(project), at`/projects/${project}/members`);

function keepProject(project: Project): Project {
  cache.setQueryData(projectQuery(project.id).queryKey, project);
  patchLists(listKey(project.workspace_id), project);
  return project;
}

export async function createProject(workspace: string, name: string, isPrivate: boolean): Promise<Project> {
  const made = await post<Project>(at`/workspaces/${workspace}/projects`, { name, private: isPrivate });
  cache.setQueryData(projectQuery(made.id).queryKey, made);
  await cache.invalidateQueries({ queryKey: listKey(workspace) });
  return made;
}

export async function changeProject(project: Project, change: ProjectChange): Promise<Project> {
  return keepProject(
    await patch<Project>(at`/projects/${project.id}`, { ...change, expected_version: project.version }),
  );
}

export async function addProjectMember(project: string, user: string): Promise<void> {
  await put(at`/projects/${project}/members/${user}`, {});
  await cache.invalidateQueries({ queryKey: membersKey(project) });
}

export async function removeProjectMember(project: string, user: string): Promise<void> {
  await remove(at`/projects/${project}/members/${user}`);
  await cache.invalidateQueries({ queryKey: membersKey(project) });
}

onKind('project', async event => {
  void cache.invalidateQueries({ queryKey: membersKey(event.id) });
  if (event.type === 'project.created') {
    await cache.invalidateQueries({ queryKey: listKey(event.workspace_id) });
    return;
  }
  try {
    keepProject(await get<Project>(at`/projects/${event.id}`));
  } catch (thrown) {
    const error = asApiError(thrown);
    if (!error.notFound && !error.denied) return;
    dropFromLists(listKey(event.workspace_id), event.id);
    void cache.invalidateQueries({ queryKey: ['project', event.id] });
  }
});
