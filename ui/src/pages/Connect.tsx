import { CircleCheck, Plus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { announce } from '../app/announce.ts';
import { asApiError } from '../data/api.ts';
import { useList } from '../data/cache.ts';
import { addToProject, connectionsQuery } from '../data/connections.ts';
import { useTeam } from '../data/me.ts';
import { projectsQuery } from '../data/projects.ts';
import type { Connection, Team } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { byName } from '../i18n/time.ts';
import { AssistantTile, OutsideBadge } from '../parts/Badge.tsx';
import { Button, LinkButton } from '../parts/Button.tsx';
import { Copy } from '../parts/Copy.tsx';
import { Select } from '../parts/Field.tsx';
import { Page } from '../parts/Page.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { done, failed } from '../parts/toast.ts';
import { Name } from '../parts/words.tsx';
import { ConnectionMeta } from './Assistants.tsx';
import { NotFound } from './NotFound.tsx';

export function Connect({ workspace: id }: { workspace: string }) {
  const workspace = useTeam(id);
  return workspace ? <Of workspace={workspace} /> : <NotFound />;
}

/** The assistants whose steps we know; some begin with a command. */
const hosts = [
  { id: 'claude' },
  { id: 'chatgpt' },
  { id: 'codex', command: 'codex mcp add osfoundry --url' },
  { id: 'claudecode', command: 'claude mcp add --transport http osfoundry' },
] as const;

/** An address that no service in the cloud can reach. */
const isLocal = (address: string) => {
  const { protocol, hostname } = new URL(address);
  return (
    protocol !== 'https:' ||
    !hostname.includes('.') ||
    /^(127|10|192\.168|169\.254)\.|^172\.(1[6-9]|2\d|3[01])\./.test(hostname)
  );
};

function Of({ workspace }: { workspace: Team }) {
  const say = useText();
  const [search] = useSearchParams();
  const host = hosts.find(h => h.id === search.get('host')) ?? hosts[0];
  const address = `${location.origin}/mcp`;
  const base = `/w/${workspace.id}/connect`;
  return (
    <Page
      title={say('app.connect')}
      crumbs={[
        { text: workspace.name, to: `/w/${workspace.id}` },
        { text: say('app.assistants'), to: `/w/${workspace.id}/assistants` },
      ]}
      meta={say('app.connect.text')}
    >
      <section className="card" aria-labelledby="address">
        <div className="sec stack">
          <h2 id="address">{say('app.connect.address')}</h2>
          <Copy label={say('app.connect.url')} text={address} copied={say('app.connect.copied')} />
          {isLocal(location.origin) && (
            <div className="banner">
              <p>
                <strong>{say('app.connect.local')}</strong> {say('app.connect.local.text')}
              </p>
            </div>
          )}
        </div>
      </section>
      <section className="section" aria-labelledby="steps">
        <h2 id="steps">{say('app.connect.steps')}</h2>
        <Tabs
          label={say('app.connect.steps')}
          chosen={host.id}
          tabs={hosts.map(h => ({ id: h.id, text: say(`host.${h.id}`), to: `${base}?host=${h.id}` }))}
        >
          <ol className="steps">
            <li>
              <div className="stack">
                {say(`host.${host.id}.1`)}
                {'command' in host && (
                  <Copy
                    label={say('app.connect.command')}
                    hideLabel
                    text={`${host.command} ${address}`}
                    copied={say('app.connect.command.copied')}
                  />
                )}
              </div>
            </li>
            <li>{say(`host.${host.id}.2`)}</li>
            <li>{say(`host.${host.id}.3`)}</li>
          </ol>
        </Tabs>
      </section>
      <Waiting workspace={workspace} />
    </Page>
  );
}

/** Waits for a connection that was made after the page was opened, and goes on with it. */
function Waiting({ workspace }: { workspace: Team }) {
  const say = useText();
  const { items } = useList(connectionsQuery(workspace.id));
  const [opened] = useState(Date.now);
  const fresh =
    items?.filter(
      connection => Date.parse(connection.created_at) > opened - 1_000 && connection.status !== 'revoked',
    ) ?? [];
  const latest = fresh.at(-1);
  const said = latest && say('app.connect.done', { client: latest.name, workspace: workspace.name });
  useEffect(() => {
    if (said) announce(said);
  }, [said]);
  return (
    <section className="card" aria-labelledby="waiting">
      <div className="sec row">
        {latest ? <CircleCheck className="good" aria-hidden /> : <span className="live-dot" aria-hidden />}
        <h2 id="waiting">{said ?? say('app.connect.waiting')}</h2>
      </div>
      {fresh.length > 0 ? (
        <ul className="list">
          {fresh.map(connection => (
            <Fresh key={connection.id} connection={connection} workspace={workspace} />
          ))}
        </ul>
      ) : (
        <p className="sec help">{say('app.connect.waiting.text')}</p>
      )}
    </section>
  );
}

function Fresh({ connection, workspace }: { connection: Connection; workspace: Team }) {
  const say = useText();
  const projects =
    useList(projectsQuery(workspace.id))
      .items?.filter(p => !p.archived)
      .toSorted(byName) ?? [];
  const [chosen, choose] = useState('');
  const project = projects.find(p => p.id === chosen) ?? projects[0];
  const add = async () => {
    if (!project) return;
    try {
      await addToProject(project.id, connection.id);
      done(say('app.added_to', { client: connection.name, project: project.name }));
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  const isIn = connection.projects.some(p => p.id === project?.id);
  return (
    <li>
      <AssistantTile />
      <div className="what">
        <span className="title">
          <Name>{connection.name}</Name>
          <OutsideBadge />
        </span>
        <ConnectionMeta connection={connection} projects />
      </div>
      <div className="acts">
        {workspace.role === 'owner' && project && (
          <>
            <Select
              label={say('app.project')}
              hideLabel
              value={project.id}
              onChange={choose}
              options={projects.map(p => [p.id, p.name] as const)}
            />
            {isIn ? (
              <LinkButton to={`/p/${project.id}/access`}>{say('app.access')}</LinkButton>
            ) : (
              <Button kind="primary" onPress={() => void add()}>
                <Plus aria-hidden />
                {say('app.add_to_project')}
              </Button>
            )}
          </>
        )}
      </div>
    </li>
  );
}
