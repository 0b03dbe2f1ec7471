import { at } from './api.ts';
import { listOptions } from './cache.ts';
import type { AuditEntry } from './types.ts';

export interface AuditFilter {
  connection?: string;
  tool?: string;
  decision?: 'allowed' | 'denied';
  since?: string;
  until?: string;
}

export const auditPath = (scope: Scope) =>
  'project' in scope ? at`/projects/${scope.project}/audit` : at`/workspaces/${scope.workspace}/audit`;

/** Whose activity: a workspace's, or one project's. */
export type Scope = { workspace: string } | { project: string };

/** Newest first. What was asked for is not announced; look again while somebody looks. */
export const auditQuery = (scope: Scope, filter: AuditFilter, size = 100) => ({
  ...listOptions<AuditEntry>(['audit', scope, filter, size], auditPath(scope), { ...filter }, size),
  refetchInterval: 10_000,
  staleTime: 0,
});
