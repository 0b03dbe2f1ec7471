import { Activity, CircleX, CircleCheck } from 'lucide-react';
import { Link } from 'wouter';
import { auditQuery, type AuditFilter, type Scope } from '../data/audit.ts';
import { useList } from '../data/cache.ts';
import { connectionsQuery } from '../data/connections.ts';
import { membersQuery } from '../data/members.ts';
import { projectsQuery } from '../data/projects.ts';
import type { AuditEntry, Connection } from '../data/types.ts';
import { actOf, reasonOf } from '../i18n/acts.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { clock, day, moment } from '../i18n/time.ts';
import { AssistantTile, Badge, OutsideBadge } from './Badge.tsx';
import { More } from './More.tsx';
import { PersonTile } from './Person.tsx';
import { Empty, LoadedList, Nothing } from './State.tsx';
import { Ago, Name } from './words.tsx';

interface Props {
  workspace: string;
  scope: Scope;
  filter: AuditFilter;
  size?: number;
  /** A few rows without days and without more. */
  brief?: boolean;
  clear?: () => void;
}

/** Who asked for what, and what was answered, newest first. */
export function AuditList({ workspace, scope, filter, size = 100, brief, clear }: Props) {
  const say = useText();
  const list = useList(auditQuery(scope, filter, size));
  const names = useNames(workspace);
  const filtered = Object.values(filter).some(Boolean);
  return (
    <LoadedList of={list} rows={6}>
      {entries => {
        if (entries.length === 0) {
          return (
            <div className="card">
              {filtered && clear ? (
                <Nothing clear={clear} />
              ) : (
                <Empty icon={Activity} title={say('app.audit.none')}>
                  {say('app.audit.none.text')}
                </Empty>
              )}
            </div>
          );
        }
        if (brief) {
          return (
            <ul className="card list">
              {entries.slice(0, size).map(entry => (
                <Row key={entry.id} entry={entry} names={names} workspace={workspace} brief />
              ))}
            </ul>
          );
        }
        return (
          <>
            {byDay(entries).map(([title, rows]) => (
              <section className="section" key={title}>
                <h2 className="small muted">{title}</h2>
                <ul className="card list">
                  {rows.map(entry => (
                    <Row key={entry.id} entry={entry} names={names} workspace={workspace} />
                  ))}
                </ul>
              </section>
            ))}
            <More of={list} />
          </>
        );
      }}
    </LoadedList>
  );
}

function byDay(entries: AuditEntry[]): [string, AuditEntry[]][] {
  const days = new Map<string, AuditEntry[]>();
  for (const entry of entries) {
    const title = day(entry.at);
    days.set(title, [...(days.get(title) ?? []), entry]);
  }
  return [...days];
}

interface Names {
  people: Map<string, string>;
  projects: Map<string, string>;
  connections: Map<string, Connection>;
}

function useNames(workspace: string): Names {
  const members = useList(membersQuery(workspace)).items ?? [];
  const projects = useList(projectsQuery(workspace)).items ?? [];
  const connections = useList(connectionsQuery(workspace)).items ?? [];
  return {
    people: new Map(members.map(member => [member.id, member.name])),
    projects: new Map(projects.map(project => [project.id, project.name])),
    connections: new Map(connections.map(connection => [connection.id, connection])),
  };
}

function Row({
  entry,
  names,
  workspace,
  brief,
}: {
  entry: AuditEntry;
  names: Names;
  workspace: string;
  brief?: boolean;
}) {
  const say = useText();
  const connection = entry.connection_id ? names.connections.get(entry.connection_id) : undefined;
  const person = names.people.get(entry.user_id) ?? say('app.audit.someone');
  const who = entry.connection_id ? (connection?.name ?? say('app.audit.gone')) : person;
  const refused = entry.decision === 'denied';
  return (
    <li>
      {entry.connection_id ? <AssistantTile /> : <PersonTile name={who} />}
      <div className="what">
        <span className="title">
          {connection ? (
            <Link href={`/w/${workspace}/assistants/${connection.id}`}>
              <Name>{who}</Name>
            </Link>
          ) : (
            <Name>{who}</Name>
          )}
          {entry.connection_id && <OutsideBadge />}
          <span className="act">{actOf(entry.tool) ?? <code>{entry.tool}</code>}</span>
        </span>
        {refused && <span className="why">{reasonOf(entry.code ?? '')}</span>}
        <div className="under">
          <Where entry={entry} names={names} />
          {!brief && <Details entry={entry} person={person} />}
        </div>
      </div>
      <div className="acts">
        {refused ? (
          <Badge tone="bad" icon={CircleX}>
            {say('app.audit.refused')}
          </Badge>
        ) : (
          !brief && (
            <Badge tone="ok" icon={CircleCheck}>
              {say('app.audit.allowed')}
            </Badge>
          )
        )}
        <span className="small muted when">
          {brief ? (
            <Ago at={entry.at} />
          ) : (
            <time dateTime={entry.at} title={moment(entry.at)}>
              {clock(entry.at)}
            </time>
          )}
        </span>
      </div>
    </li>
  );
}

/** What it was about, as a link where there is a page for it. */
function Where({ entry, names }: { entry: AuditEntry; names: Names }) {
  const say = useText();
  const project = entry.project_id;
  const name = project ? names.projects.get(project) : undefined;
  const note =
    entry.kind === 'note' && project && entry.resource_id ? `/p/${project}/notes/${entry.resource_id}` : undefined;
  if (!name && !note) return null;
  return (
    <span className="meta">
      {name && (
        <Link href={`/p/${project}`}>
          <Name>{name}</Name>
        </Link>
      )}
      {note && <Link href={note}>{say('app.audit.note')}</Link>}
    </span>
  );
}

function Details({ entry, person }: { entry: AuditEntry; person: string }) {
  const say = useText();
  return (
    <details className="fold small muted">
      <summary>{say('app.details')}</summary>
      <dl className="facts">
        <div>
          <dt>{say('app.audit.tool')}</dt>
          <dd>
            <code>{entry.tool}</code>
          </dd>
        </div>
        {entry.code && (
          <div>
            <dt>{say('app.audit.code')}</dt>
            <dd>
              <code>{entry.code}</code>
            </dd>
          </div>
        )}
        {entry.connection_id && (
          <div>
            <dt>{say('app.audit.approver')}</dt>
            <dd>
              <Name>{person}</Name>
            </dd>
          </div>
        )}
        {entry.resource_id && (
          <div>
            <dt>{say('app.audit.about')}</dt>
            <dd>
              <code>{`${entry.kind ?? ''} ${entry.resource_id}`.trim()}</code>
            </dd>
          </div>
        )}
        <div>
          <dt>{say('app.audit.took')}</dt>
          <dd>
            <Text of="app.audit.ms" n={Math.round(entry.duration_us / 100) / 10} />
          </dd>
        </div>
        {entry.detail && (
          <div>
            <dt>{say('app.details')}</dt>
            <dd>
              <code>{JSON.stringify(entry.detail)}</code>
            </dd>
          </div>
        )}
      </dl>
    </details>
  );
}
