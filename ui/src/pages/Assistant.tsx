import { useQuery } from '@tanstack/react-query';
import { Plus, SquareStack } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { asApiError } from '../data/api.ts';
import { useList } from '../data/cache.ts';
import { addToProject, changeConnection, connectionQuery, removeFromProject } from '../data/connections.ts';
import { useMe, useTeam } from '../data/me.ts';
import { projectsQuery } from '../data/projects.ts';
import type { Connection, Named, Team } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { has } from '../i18n/locale.ts';
import { byName, moment } from '../i18n/time.ts';
import { AuditList } from '../parts/AuditList.tsx';
import { OutsideBadge, StatusBadge } from '../parts/Badge.tsx';
import { Button } from '../parts/Button.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { Select, TextField } from '../parts/Field.tsx';
import { Page } from '../parts/Page.tsx';
import { RevokeDialog } from '../parts/Revoke.tsx';
import { Empty } from '../parts/State.tsx';
import { done, failed } from '../parts/toast.ts';
import { Ago, Name } from '../parts/words.tsx';
import { Unread } from './Unread.tsx';

export function Assistant({ connection: id }: { connection: string }) {
  const connection = useQuery(connectionQuery(id));
  const team = useTeam(connection.data?.workspace_id);
  return connection.data && team ? <Of connection={connection.data} team={team} /> : <Unread of={connection} />;
}

function Of({ connection, team }: { connection: Connection; team: Team }) {
  const say = useText();
  const me = useMe();
  const [dialog, setDialog] = useState<'rename' | 'revoke'>();
  const owner = team.role === 'owner';
  const mayChange = (owner || connection.approver.id === me.id) && connection.status !== 'revoked';
  const close = () => setDialog(undefined);
  const paused = connection.status === 'paused';
  const pause = async () => {
    try {
      await changeConnection(connection.id, { status: paused ? 'active' : 'paused' });
      done(say(paused ? 'app.resumed' : 'app.paused', { client: connection.name }));
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <Page
      title={connection.name}
      crumbs={[
        { text: team.name, to: `/w/${team.id}` },
        { text: say('app.assistants'), to: `/w/${team.id}/assistants` },
      ]}
      meta={
        <>
          <OutsideBadge />
          <StatusBadge status={connection.status} />
          <span className="mono">{connection.redirect_host}</span>
        </>
      }
      actions={
        mayChange && (
          <>
            <Button onPress={() => setDialog('rename')}>{say('app.rename')}</Button>
            <Button onPress={() => void pause()}>{say(paused ? 'app.resume' : 'app.pause')}</Button>
            <Button kind="danger" onPress={() => setDialog('revoke')}>
              {say('app.revoke.ask')}
            </Button>
          </>
        )
      }
    >
      {paused && (
        <div className="banner">
          <p>{say('app.paused.text')}</p>
        </div>
      )}
      <Facts connection={connection} />
      <Projects connection={connection} team={team} />
      {owner && (
        <section className="section" aria-labelledby="calls">
          <div className="row">
            <h2 id="calls">{say('app.calls')}</h2>
            <Link className="push" href={`/w/${team.id}/activity?connection=${encodeURIComponent(connection.id)}`}>
              {say('app.calls.all')}
            </Link>
          </div>
          <AuditList
            workspace={team.id}
            scope={{ workspace: team.id }}
            filter={{ connection: connection.id }}
            size={10}
            brief
          />
        </section>
      )}
      <FormDialog
        isOpen={dialog === 'rename'}
        onClose={close}
        title={say('app.rename.title', { what: connection.name })}
        submit={say('app.rename')}
        onSubmit={form => changeConnection(connection.id, { name: String(form.get('name')) })}
      >
        {faults => (
          <TextField
            label={say('app.name')}
            name="name"
            defaultValue={connection.name}
            isRequired
            autoFocus
            autoComplete="off"
            fault={faults.name}
          />
        )}
      </FormDialog>
      <RevokeDialog connection={connection} workspace={team.name} isOpen={dialog === 'revoke'} onClose={close} />
    </Page>
  );
}

function Facts({ connection }: { connection: Connection }) {
  const say = useText();
  const scope = (name: string) => {
    const key = `app.scope.${name.split(':')[1] ?? ''}`;
    return has(key) ? say(key) : name;
  };
  return (
    <section className="card" aria-labelledby="facts">
      <h2 className="sr" id="facts">
        {say('app.facts')}
      </h2>
      <dl className="sec facts">
        <div>
          <dt>{say('app.facts.by')}</dt>
          <dd>
            <Name>{connection.approver.name}</Name>,{' '}
            <time dateTime={connection.created_at}>{moment(connection.created_at)}</time>
          </dd>
        </div>
        <div>
          <dt>{say('app.facts.used')}</dt>
          <dd>{connection.last_used_at ? <Ago at={connection.last_used_at} /> : say('app.unused')}</dd>
        </div>
        <div>
          <dt>{say('app.facts.sends_to')}</dt>
          <dd className="mono">{connection.redirect_host}</dd>
        </div>
        {connection.client_host && (
          <div>
            <dt>{say('app.facts.described')}</dt>
            <dd className="mono">{connection.client_host}</dd>
          </div>
        )}
        <div>
          <dt>{say('app.facts.may')}</dt>
          <dd>
            <ul>
              {connection.scopes.map(name => (
                <li key={name}>{scope(name)}</li>
              ))}
            </ul>
          </dd>
        </div>
      </dl>
    </section>
  );
}

function Projects({ connection, team }: { connection: Connection; team: Team }) {
  const say = useText();
  const [adding, setAdding] = useState(false);
  const owner = team.role === 'owner';
  const all = useList(projectsQuery(team.id)).items ?? [];
  const others = all
    .filter(project => !project.archived && !connection.projects.some(p => p.id === project.id))
    .toSorted(byName);
  const mayAdd = owner && connection.status !== 'revoked';
  const add = mayAdd && others.length > 0 && (
    <Button onPress={() => setAdding(true)}>
      <Plus aria-hidden />
      {say('app.add_to_project')}
    </Button>
  );
  const takeOut = async (project: Named) => {
    const names = { client: connection.name, project: project.name };
    try {
      await removeFromProject(project.id, connection.id);
      done(say('app.removed_from', names), { text: say('app.undo'), act: () => void putIn(project) });
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  const putIn = async (project: Named) => {
    try {
      await addToProject(project.id, connection.id);
      done(say('app.added_to', { client: connection.name, project: project.name }));
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <section className="card" aria-labelledby="projects-of">
      <div className="sec row">
        <div>
          <h2 id="projects-of">{say('app.projects')}</h2>
          <p className="help">{say('app.assistant.projects.text')}</p>
        </div>
        <div className="end">{add}</div>
      </div>
      {connection.projects.length === 0 ? (
        <div className="sec">
          <Empty icon={SquareStack} title={say('app.in_no_project')}>
            {say('app.in_no_project.text')}
          </Empty>
        </div>
      ) : (
        <ul className="list">
          {connection.projects.map(project => (
            <li key={project.id}>
              <SquareStack aria-hidden />
              <div className="what">
                <Link href={`/p/${project.id}/access`}>
                  <Name>{project.name}</Name>
                </Link>
              </div>
              {owner && (
                <div className="acts">
                  <Button
                    onPress={() => void takeOut(project)}
                    aria-label={say('app.remove_from_project.label', {
                      client: connection.name,
                      project: project.name,
                    })}
                  >
                    {say('app.remove_from_project')}
                  </Button>
                </div>
              )}
            </li>
          ))}
        </ul>
      )}
      <FormDialog
        isOpen={adding}
        onClose={() => setAdding(false)}
        title={say('app.add_to_project')}
        submit={say('app.add_to_project')}
        onSubmit={async form => {
          const project = others.find(p => p.id === form.get('project'));
          if (!project) return;
          await addToProject(project.id, connection.id);
          done(say('app.added_to', { client: connection.name, project: project.name }));
        }}
      >
        <Select
          label={say('app.project')}
          name="project"
          options={others.map(project => [project.id, project.name] as const)}
        />
        <p className="help">
          <Text of="app.add_to_project.text" client={<Name>{connection.name}</Name>} />
        </p>
      </FormDialog>
    </section>
  );
}
