import { useQueries } from '@tanstack/react-query';
import { Bot, FileText, Plug, SquareStack, UserRound, type LucideIcon } from 'lucide-react';
import { at, get } from '../data/api.ts';
import { useList, type Page } from '../data/cache.ts';
import { connectionsQuery } from '../data/connections.ts';
import { membersQuery } from '../data/members.ts';
import { projectsQuery } from '../data/projects.ts';
import type { AgentSession, NoteFields, Project, Team } from '../data/types.ts';
import { byName } from '../i18n/time.ts';
import { sessionAddress } from '../parts/addresses.ts';

/** Something with a name and a page. */
export interface Thing {
  key: string;
  icon: LucideIcon;
  text: string;
  where?: string;
  to: string;
  person?: boolean;
}

const mostProjects = 30;
const fresh = 30_000;

/** The newest names of one kind in each project. */
function useNamesIn<T>(projects: Project[], kind: 'notes' | 'agent-sessions'): T[] {
  const lists = useQueries({
    queries: projects.slice(0, mostProjects).map(project => ({
      queryKey: ['names', kind, project.id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        get<Page<T>>(`${at`/projects/${project.id}`}/${kind}`, { limit: 200 }, signal),
      staleTime: fresh,
    })),
  });
  return lists.flatMap(list => list.data?.items ?? []);
}

/** All that can be found by its name in the workspace: projects, notes, sessions, assistants and people. */
export function useThings(workspace: Team | undefined): Thing[] {
  const id = workspace?.id ?? '';
  const enabled = workspace !== undefined;
  const projects = useList({ ...projectsQuery(id), enabled }).items?.toSorted(byName) ?? [];
  const connections = useList({ ...connectionsQuery(id), enabled }).items ?? [];
  const people = useList({ ...membersQuery(id), enabled }).items ?? [];
  const notes = useNamesIn<NoteFields>(projects, 'notes');
  const sessions = useNamesIn<AgentSession>(projects, 'agent-sessions');
  const place = new Map(projects.map(project => [project.id, project.name]));
  return [
    ...projects.map(({ id: project, name }) => ({
      key: `p ${project}`,
      icon: SquareStack,
      text: name,
      to: `/p/${project}`,
    })),
    ...sessions.map(({ id: session, title, project_id }) => ({
      key: `s ${session}`,
      icon: Bot,
      text: title,
      where: place.get(project_id) ?? '',
      to: sessionAddress(session),
    })),
    ...notes.map(({ id: note, title, project_id }) => ({
      key: `n ${note}`,
      icon: FileText,
      text: title,
      where: place.get(project_id) ?? '',
      to: `/p/${project_id}/notes/${note}`,
    })),
    ...connections
      .filter(connection => connection.status !== 'revoked')
      .map(({ id: connection, name, redirect_host: where }) => ({
        key: `c ${connection}`,
        icon: Plug,
        text: name,
        where,
        to: `/w/${id}/assistants/${connection}`,
      })),
    ...people.map(({ id: person, name, email: where }) => ({
      key: `u ${person}`,
      icon: UserRound,
      text: name,
      where,
      to: `/w/${id}/people`,
      person: true,
    })),
  ];
}
