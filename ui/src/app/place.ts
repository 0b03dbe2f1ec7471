import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { lastWorkspace, rememberWorkspace, useMe } from '../data/me.ts';
import { projectQuery } from '../data/projects.ts';
import { sessionQuery } from '../data/sessions.ts';
import type { Team } from '../data/types.ts';

/** Where the person is: the workspace and the project that the address is about. */
export interface Place {
  workspace: Team | undefined;
  project: string | undefined;
}

/** Reads the place from the address. A page about neither is in the workspace that was open last. */
export function usePlace(): Place {
  const me = useMe();
  const [path] = useLocation();
  const [, kind, id] = path.split('/');
  const session = useQuery({ ...sessionQuery(id ?? ''), enabled: kind === 's' }).data;
  const project = kind === 'p' ? id : kind === 's' ? session?.project_id : undefined;
  const known = useQuery({ ...projectQuery(project ?? ''), enabled: project !== undefined }).data;
  const wanted = kind === 'w' ? id : known?.workspace_id;
  const workspace = me.workspaces.find(team => team.id === wanted) ?? lastWorkspace(me);
  useEffect(() => {
    if (workspace) rememberWorkspace(workspace.id);
  }, [workspace]);
  return { workspace, project };
}
