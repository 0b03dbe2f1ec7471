import { Plug } from 'lucide-react';
import { Link, useSearchParams } from 'wouter';
import { useList } from '../data/cache.ts';
import { connectionsQuery } from '../data/connections.ts';
import { useTeam } from '../data/me.ts';
import type { Connection, Team } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { AssistantTile, Badge, OutsideBadge, StatusBadge } from '../parts/Badge.tsx';
import { LinkButton } from '../parts/Button.tsx';
import { Select, TextField } from '../parts/Field.tsx';
import { More } from '../parts/More.tsx';
import { Page } from '../parts/Page.tsx';
import { Empty, LoadedList, Nothing } from '../parts/State.tsx';
import { Ago, Name } from '../parts/words.tsx';
import { NotFound } from './NotFound.tsx';

export function Assistants({ workspace: id }: { workspace: string }) {
  const workspace = useTeam(id);
  return workspace ? <Of workspace={workspace} /> : <NotFound />;
}

type Show = 'now' | 'revoked' | 'unused';

const unusedAfter = 60 * 86_400_000;

/** Nobody heard of it for 60 days. */
const isUnused = (connection: Connection) =>
  connection.status !== 'revoked' &&
  Date.now() - Date.parse(connection.last_used_at ?? connection.created_at) > unusedAfter;

function Of({ workspace }: { workspace: Team }) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const show = (search.get('show') as Show | null) ?? 'now';
  const text = search.get('q') ?? '';
  const list = useList(connectionsQuery(workspace.id));
  const mayConnect = workspace.role !== 'viewer';
  const connect = mayConnect && (
    <LinkButton kind="primary" to={`/w/${workspace.id}/connect`}>
      <Plug aria-hidden />
      {say('app.connect')}
    </LinkButton>
  );
  const set = (name: string, value: string) =>
    setSearch(
      was => {
        const next = new URLSearchParams(was);
        if (value) next.set(name, value);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return (
    <Page
      title={say('app.assistants')}
      crumbs={[{ text: workspace.name, to: `/w/${workspace.id}` }]}
      actions={connect}
      meta={say('app.assistants.text')}
    >
      <LoadedList of={list} rows={4}>
        {items => {
          if (items.length === 0) {
            return (
              <div className="card">
                <Empty icon={Plug} title={say('app.assistants.none')} action={connect}>
                  {say('app.assistants.none.text')}
                </Empty>
              </div>
            );
          }
          const shown = items
            .filter(connection => (show === 'revoked') === (connection.status === 'revoked'))
            .filter(connection => show !== 'unused' || isUnused(connection))
            .filter(connection =>
              `${connection.name} ${connection.redirect_host} ${connection.approver.name}`
                .toLowerCase()
                .includes(text.toLowerCase()),
            )
            .toReversed();
          return (
            <>
              <div className="filters">
                <TextField label={say('app.filter')} type="search" value={text} onChange={value => set('q', value)} />
                <Select<Show>
                  label={say('app.show')}
                  value={show}
                  onChange={value => set('show', value === 'now' ? '' : value)}
                  options={[
                    ['now', say('app.assistants.show.now')],
                    ['unused', say('app.assistants.show.unused')],
                    ['revoked', say('app.assistants.show.revoked')],
                  ]}
                />
              </div>
              {shown.length === 0 ? (
                <Nothing clear={() => setSearch(new URLSearchParams(), { replace: true })} />
              ) : (
                <ul className="card list">
                  {shown.map(connection => (
                    <Row key={connection.id} connection={connection} />
                  ))}
                </ul>
              )}
              <More of={list} />
            </>
          );
        }}
      </LoadedList>
    </Page>
  );
}

function Row({ connection }: { connection: Connection }) {
  const say = useText();
  return (
    <li className="linked">
      <AssistantTile />
      <div className="what">
        <span className="title">
          <Link className="over" href={`/w/${connection.workspace_id}/assistants/${connection.id}`}>
            <Name>{connection.name}</Name>
          </Link>
          <OutsideBadge />
          {isUnused(connection) && <Badge tone="warn">{say('app.assistants.unused')}</Badge>}
        </span>
        <ConnectionMeta connection={connection} projects />
      </div>
      <div className="acts">
        <StatusBadge status={connection.status} />
      </div>
    </li>
  );
}

/** Where a connection leads, who made it, and when it was last there. */
export function ConnectionMeta({ connection, projects }: { connection: Connection; projects?: boolean }) {
  const say = useText();
  return (
    <span className="meta">
      <span className="mono">{connection.redirect_host}</span>
      <span>
        <Text
          of="app.connected_by"
          person={<Name>{connection.approver.name}</Name>}
          when={<Ago at={connection.created_at} />}
        />
      </span>
      <span>
        {connection.last_used_at ? (
          <Text of="app.used" when={<Ago at={connection.last_used_at} />} />
        ) : (
          say('app.unused')
        )}
      </span>
      {projects && (
        <span>
          {connection.projects.length === 0
            ? say('app.in_no_project')
            : say('app.in_projects', { n: connection.projects.length })}
        </span>
      )}
    </span>
  );
}
