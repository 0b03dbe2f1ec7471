import { Download } from 'lucide-react';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { ApiError, asApiError, get } from '../data/api.ts';
import { auditPath, type AuditFilter, type Scope } from '../data/audit.ts';
import { useList, type Page as PageOf } from '../data/cache.ts';
import { connectionsQuery } from '../data/connections.ts';
import { useTeam } from '../data/me.ts';
import { projectsQuery } from '../data/projects.ts';
import type { AuditEntry, Team } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { byName } from '../i18n/time.ts';
import { AuditList } from '../parts/AuditList.tsx';
import { Button } from '../parts/Button.tsx';
import { Checkbox, Select, TextField } from '../parts/Field.tsx';
import { Page } from '../parts/Page.tsx';
import { Failure } from '../parts/State.tsx';
import { failed } from '../parts/toast.ts';
import { csvOf, save } from '../parts/csv.ts';
import { NotFound } from './NotFound.tsx';

export function Activity({ workspace: id }: { workspace: string }) {
  const workspace = useTeam(id);
  return workspace ? <Of workspace={workspace} /> : <NotFound />;
}

const names = ['connection', 'project', 'tool', 'decision', 'since', 'until'] as const;

function Of({ workspace }: { workspace: Team }) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const [busy, setBusy] = useState(false);
  const value = Object.fromEntries(names.map(name => [name, search.get(name) ?? ''])) as Record<
    (typeof names)[number],
    string
  >;
  const connections = useList(connectionsQuery(workspace.id)).items ?? [];
  const projects = useList(projectsQuery(workspace.id)).items?.toSorted(byName) ?? [];
  const set = (name: string, text: string) =>
    setSearch(
      was => {
        const next = new URLSearchParams(was);
        if (text) next.set(name, text);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  const scope = value.project ? { project: value.project } : { workspace: workspace.id };
  const filter: AuditFilter = {
    ...(value.connection && { connection: value.connection }),
    ...(value.tool && { tool: value.tool }),
    ...(value.decision === 'denied' && { decision: 'denied' as const }),
    ...(dayStart(value.since) && { since: dayStart(value.since) }),
    ...(dayStart(value.until, 1) && { until: dayStart(value.until, 1) }),
  };
  const download = async () => {
    setBusy(true);
    try {
      const rows = await everything(scope, filter);
      save(
        'activity.csv',
        csvOf(
          [
            'at',
            'user_id',
            'connection_id',
            'tool',
            'project_id',
            'kind',
            'resource_id',
            'decision',
            'code',
            'duration_us',
          ],
          rows,
        ),
      );
    } catch (thrown) {
      failed(asApiError(thrown).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Page
      title={say('app.activity')}
      crumbs={[{ text: workspace.name, to: `/w/${workspace.id}` }]}
      meta={say('app.audit.final')}
      actions={
        workspace.role === 'owner' && (
          <Button onPress={() => void download()} isBusy={busy}>
            <Download aria-hidden />
            {say('app.audit.csv')}
          </Button>
        )
      }
    >
      {workspace.role === 'owner' ? (
        <>
          <div className="filters">
            <Select
              label={say('app.assistant')}
              value={value.connection}
              onChange={text => set('connection', text)}
              options={[['', say('app.audit.everyone')], ...connections.map(c => [c.id, c.name] as const)]}
            />
            <Select
              label={say('app.project')}
              value={value.project}
              onChange={text => set('project', text)}
              options={[['', say('app.audit.everywhere')], ...projects.map(p => [p.id, p.name] as const)]}
            />
            <TextField
              label={say('app.audit.since')}
              type="date"
              value={value.since}
              onChange={text => set('since', text)}
            />
            <TextField
              label={say('app.audit.until')}
              type="date"
              value={value.until}
              onChange={text => set('until', text)}
            />
            <Checkbox isSelected={value.decision === 'denied'} onChange={on => set('decision', on ? 'denied' : '')}>
              {say('app.audit.refused_only')}
            </Checkbox>
          </div>
          <AuditList
            workspace={workspace.id}
            scope={scope}
            filter={filter}
            clear={() => setSearch(new URLSearchParams())}
          />
        </>
      ) : (
        <Failure error={new ApiError(403, 'forbidden', '')} />
      )}
    </Page>
  );
}

/** The beginning of a day of the calendar here, some days later; "" for no day. */
function dayStart(day: string, later = 0): string {
  const [year, month, date] = day.split('-').map(Number);
  if (!year || !month || !date) return '';
  return new Date(year, month - 1, date + later).toISOString();
}

async function everything(scope: Scope, filter: AuditFilter): Promise<AuditEntry[]> {
  const rows: AuditEntry[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page: PageOf<AuditEntry> = await get(auditPath(scope), { ...filter, limit: 200, cursor });
    rows.push(...page.items);
    cursor = page.next_cursor;
  }
  return rows;
}
