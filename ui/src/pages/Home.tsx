import { Lock, Plug, Plus, SquareStack } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useList } from '../data/cache.ts';
import { connectionsQuery } from '../data/connections.ts';
import { renameWorkspace, useMe, useTeam } from '../data/me.ts';
import { projectsQuery } from '../data/projects.ts';
import type { Connection, Project, Team } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { byName, useClock } from '../i18n/time.ts';
import { AuditList } from '../parts/AuditList.tsx';
import { AssistantTile, OutsideBadge, StatusBadge } from '../parts/Badge.tsx';
import { Button, LinkButton } from '../parts/Button.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { TextField } from '../parts/Field.tsx';
import { MenuItem, MoreMenu } from '../parts/Menu.tsx';
import { Page } from '../parts/Page.tsx';
import { done } from '../parts/toast.ts';
import { Empty, LoadedList } from '../parts/State.tsx';
import { Ago, Name } from '../parts/words.tsx';
import { NewProject } from './NewProject.tsx';
import { NotFound } from './NotFound.tsx';
import { Waits } from './Waits.tsx';

export function Home({ workspace: id }: { workspace: string }) {
  const workspace = useTeam(id);
  return workspace ? <Of workspace={workspace} /> : <NotFound />;
}

function greeting() {
  const hour = new Date().getHours();
  return hour < 5 || hour >= 18
    ? 'app.greeting.evening'
    : hour < 12
      ? 'app.greeting.morning'
      : 'app.greeting.afternoon';
}

function Of({ workspace }: { workspace: Team }) {
  const say = useText();
  useClock();
  const me = useMe();
  const [adding, setAdding] = useState(false);
  const [renaming, setRenaming] = useState(false);
  const projects = useList(projectsQuery(workspace.id));
  const connections = useList(connectionsQuery(workspace.id));
  const mayEdit = workspace.role !== 'viewer';
  const newProject = (
    <Button kind="primary" onPress={() => setAdding(true)}>
      <Plus aria-hidden />
      {say('app.project.new')}
    </Button>
  );
  return (
    <Page
      title={say(greeting(), { person: me.name.split(/\s+/)[0] ?? me.name })}
      here={workspace.name}
      actions={
        <>
          {workspace.role === 'owner' && (
            <MoreMenu label={say('app.more_actions', { what: workspace.name })}>
              <MenuItem onAction={() => setRenaming(true)}>{say('app.workspace.rename')}</MenuItem>
            </MoreMenu>
          )}
          {mayEdit && newProject}
        </>
      }
    >
      {connections.items?.every(connection => connection.status === 'revoked') && mayEdit && (
        <div className="banner info">
          <Plug aria-hidden />
          <p>
            <strong>{say('app.home.connect')}</strong> {say('app.home.connect.text')}
          </p>
          <LinkButton to={`/w/${workspace.id}/connect`}>{say('app.connect')}</LinkButton>
        </div>
      )}
      <Waits workspace={workspace.id} />
      <FormDialog
        isOpen={renaming}
        onClose={() => setRenaming(false)}
        title={say('app.workspace.rename')}
        submit={say('app.rename')}
        onSubmit={async form => {
          const { name } = await renameWorkspace(workspace.id, String(form.get('name')));
          done(say('app.workspace.renamed', { workspace: name }));
        }}
      >
        {faults => (
          <TextField
            label={say('app.name')}
            name="name"
            defaultValue={workspace.name}
            isRequired
            autoFocus
            autoComplete="off"
            fault={faults.name}
          />
        )}
      </FormDialog>
      <section className="section" aria-labelledby="home-projects">
        <h2 id="home-projects">{say('app.projects')}</h2>
        <LoadedList of={projects}>
          {items => (
            <Projects
              items={items}
              action={mayEdit && <Button onPress={() => setAdding(true)}>{say('app.project.new')}</Button>}
            />
          )}
        </LoadedList>
      </section>
      {(connections.items?.length ?? 0) > 0 && (
        <section className="section" aria-labelledby="home-assistants">
          <div className="row">
            <h2 id="home-assistants">{say('app.assistants')}</h2>
            <Link className="push" href={`/w/${workspace.id}/assistants`}>
              {say('app.see_all')}
            </Link>
          </div>
          <Assistants items={connections.items!} workspace={workspace.id} />
        </section>
      )}
      {workspace.role === 'owner' && (
        <section className="section" aria-labelledby="home-recent">
          <div className="row">
            <h2 id="home-recent">{say('app.home.recent')}</h2>
            <Link className="push" href={`/w/${workspace.id}/activity`}>
              {say('app.see_all')}
            </Link>
          </div>
          <AuditList workspace={workspace.id} scope={{ workspace: workspace.id }} filter={{}} size={8} brief />
        </section>
      )}
      <NewProject workspace={workspace.id} isOpen={adding} onClose={() => setAdding(false)} />
    </Page>
  );
}

function Projects({ items, action }: { items: Project[]; action: React.ReactNode }) {
  const say = useText();
  const shown = items.filter(project => !project.archived).toSorted(byName);
  if (shown.length === 0) {
    return (
      <div className="card">
        <Empty icon={SquareStack} title={say('app.home.no_projects')} action={action}>
          {say('app.home.no_projects.text')}
        </Empty>
      </div>
    );
  }
  return (
    <ul className="cards">
      {shown.map(project => (
        <li key={project.id}>
          <div className="row">
            <Link href={`/p/${project.id}`}>
              <Name>{project.name}</Name>
            </Link>
            {project.private && <Lock className="muted" aria-label={say('app.project.private')} />}
          </div>
          <p className="meta">
            <span>
              <Text of="app.changed" when={<Ago at={project.updated_at} />} />
            </span>
          </p>
        </li>
      ))}
    </ul>
  );
}

const used = (connection: Connection) => connection.last_used_at ?? connection.created_at;
const shownAssistants = 5;

function Assistants({ items, workspace }: { items: Connection[]; workspace: string }) {
  const say = useText();
  const shown = items.toSorted((a, b) => used(b).localeCompare(used(a))).slice(0, shownAssistants);
  return (
    <ul className="card list">
      {shown.map(connection => (
        <li key={connection.id} className="linked">
          <AssistantTile />
          <div className="what">
            <span className="title">
              <Link className="over" href={`/w/${workspace}/assistants/${connection.id}`}>
                <Name>{connection.name}</Name>
              </Link>
              <OutsideBadge />
            </span>
            <span className="meta">
              <span className="mono">{connection.redirect_host}</span>
              <span>
                {connection.last_used_at ? (
                  <Text of="app.used" when={<Ago at={connection.last_used_at} />} />
                ) : (
                  say('app.unused')
                )}
              </span>
            </span>
          </div>
          <div className="acts">
            <StatusBadge status={connection.status} />
          </div>
        </li>
      ))}
    </ul>
  );
}
