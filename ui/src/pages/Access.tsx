import { useQuery } from '@tanstack/react-query';
import { Plug, Plus, Users } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { asApiError } from '../data/api.ts';
import type { AuditFilter } from '../data/audit.ts';
import { useList } from '../data/cache.ts';
import { addToProject, connectionsQuery, projectConnectionsQuery, removeFromProject } from '../data/connections.ts';
import { membersQuery } from '../data/members.ts';
import { useTeam } from '../data/me.ts';
import { addProjectMember, projectMembersQuery, projectQuery, removeProjectMember } from '../data/projects.ts';
import type { Connection, Member, Project, Team } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { byName } from '../i18n/time.ts';
import { AuditList } from '../parts/AuditList.tsx';
import { AssistantTile, OutsideBadge, StatusBadge } from '../parts/Badge.tsx';
import { Button, LinkButton } from '../parts/Button.tsx';
import { Checkbox, Select } from '../parts/Field.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { MenuItem, MoreMenu } from '../parts/Menu.tsx';
import { More } from '../parts/More.tsx';
import { Page } from '../parts/Page.tsx';
import { PersonTile } from '../parts/Person.tsx';
import { RevokeDialog } from '../parts/Revoke.tsx';
import { Empty, LoadedList } from '../parts/State.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { done, failed } from '../parts/toast.ts';
import { Name } from '../parts/words.tsx';
import { ConnectionMeta } from './Assistants.tsx';
import { Unread } from './Unread.tsx';

export function Access({ project: id, tab }: { project: string; tab?: string }) {
  const project = useQuery(projectQuery(id));
  const team = useTeam(project.data?.workspace_id);
  return project.data && team ? (
    <Of project={project.data} team={team} tab={tab ?? 'connected'} />
  ) : (
    <Unread of={project} />
  );
}

function Of({ project, team, tab }: { project: Project; team: Team; tab: string }) {
  const say = useText();
  const base = `/p/${project.id}/access`;
  const owner = team.role === 'owner';
  const inside = useList(projectConnectionsQuery(project.id));
  const tabs = [
    { id: 'people', text: say('app.access.people'), to: `${base}/people` },
    { id: 'connected', text: say('app.access.connected'), to: base, count: inside.items?.length },
    ...(owner ? [{ id: 'log', text: say('app.access.log'), to: `${base}/log` }] : []),
  ];
  const chosen = tabs.find(t => t.id === tab)?.id ?? 'connected';
  return (
    <Page
      title={say('app.access.title', { project: project.name })}
      crumbs={[
        { text: team.name, to: `/w/${team.id}` },
        { text: project.name, to: `/p/${project.id}` },
      ]}
      meta={say('app.access.text')}
    >
      <Tabs label={say('app.access')} tabs={tabs} chosen={chosen}>
        {chosen === 'people' && <People project={project} team={team} />}
        {chosen === 'connected' && <Connected project={project} team={team} inside={inside} />}
        {chosen === 'log' && <Log project={project} team={team} />}
      </Tabs>
    </Page>
  );
}

type Inside = ReturnType<typeof useList<Connection>>;

function Connected({ project, team, inside }: { project: Project; team: Team; inside: Inside }) {
  const say = useText();
  const owner = team.role === 'owner';
  const everywhere = useList(connectionsQuery(team.id));
  const others = everywhere.items?.filter(
    connection => connection.status !== 'revoked' && !connection.projects.some(p => p.id === project.id),
  );
  const add = async (connection: Connection) => {
    try {
      await addToProject(project.id, connection.id);
      done(say('app.added_to', { client: connection.name, project: project.name }));
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <>
      <section className="card" aria-labelledby="inside">
        <div className="sec">
          <h2 id="inside">{say('app.access.inside')}</h2>
          <p className="help">{say('app.access.inside.text')}</p>
        </div>
        <LoadedList of={inside} rows={2}>
          {items =>
            items.length === 0 ? (
              <div className="sec">
                <Empty
                  icon={Plug}
                  title={say('app.access.none')}
                  action={
                    !others?.length &&
                    team.role !== 'viewer' && <LinkButton to={`/w/${team.id}/connect`}>{say('app.connect')}</LinkButton>
                  }
                >
                  {say('app.access.none.text', { workspace: team.name })}
                </Empty>
              </div>
            ) : (
              <ul className="list">
                {items.map(connection => (
                  <Row
                    key={connection.id}
                    connection={connection}
                    project={project}
                    team={team}
                    again={() => void add(connection)}
                  />
                ))}
              </ul>
            )
          }
        </LoadedList>
        <More of={inside} />
        {!owner && <p className="sec help">{say('app.access.owners')}</p>}
      </section>
      {(others?.length ?? 0) > 0 && (
        <section className="card" aria-labelledby="outside">
          <div className="sec">
            <h2 id="outside">{say('app.access.outside')}</h2>
            <p className="help">{say('app.access.outside.text')}</p>
          </div>
          <ul className="list">
            {others!.map(connection => (
              <li key={connection.id}>
                <AssistantTile />
                <Who connection={connection} />
                {owner && (
                  <div className="acts">
                    <Button
                      onPress={() => void add(connection)}
                      aria-label={say('app.add_to_project.label', { client: connection.name })}
                    >
                      <Plus aria-hidden />
                      {say('app.add_to_project')}
                    </Button>
                  </div>
                )}
              </li>
            ))}
          </ul>
          <More of={everywhere} />
        </section>
      )}
    </>
  );
}

function Who({ connection }: { connection: Connection }) {
  return (
    <div className="what">
      <span className="title">
        <Link href={`/w/${connection.workspace_id}/assistants/${connection.id}`}>
          <Name>{connection.name}</Name>
        </Link>
        <OutsideBadge />
        {connection.status !== 'active' && <StatusBadge status={connection.status} />}
      </span>
      <ConnectionMeta connection={connection} />
    </div>
  );
}

function Row({
  connection,
  project,
  team,
  again,
}: {
  connection: Connection;
  project: Project;
  team: Team;
  again: () => void;
}) {
  const say = useText();
  const [dialog, setDialog] = useState<'remove' | 'revoke'>();
  const [, navigate] = useLocation();
  const owner = team.role === 'owner';
  const client = connection.name;
  const close = () => setDialog(undefined);
  return (
    <li>
      <AssistantTile />
      <Who connection={connection} />
      {owner && (
        <div className="acts">
          <Button
            onPress={() => setDialog('remove')}
            aria-label={say('app.remove_from_project.label', { client, project: project.name })}
          >
            {say('app.remove_from_project')}
          </Button>
          <MoreMenu label={say('app.more_actions', { what: client })}>
            <MenuItem onAction={() => navigate(`/p/${project.id}/access/log?connection=${connection.id}`)}>
              {say('app.calls.here')}
            </MenuItem>
            <MenuItem onAction={() => navigate(`/w/${team.id}/assistants/${connection.id}`)}>
              {say('app.see_in_workspace')}
            </MenuItem>
            <MenuItem danger onAction={() => setDialog('revoke')}>
              {say('app.revoke.ask')}
            </MenuItem>
          </MoreMenu>
        </div>
      )}
      <FormDialog
        isOpen={dialog === 'remove'}
        onClose={close}
        danger
        title={say('app.remove.title', { client, project: project.name })}
        submit={say('app.remove')}
        onSubmit={async () => {
          await removeFromProject(project.id, connection.id);
          done(say('app.removed_from', { client, project: project.name }), { text: say('app.undo'), act: again });
        }}
      >
        <p>{say('app.remove.text', { workspace: team.name })}</p>
      </FormDialog>
      <RevokeDialog connection={connection} workspace={team.name} isOpen={dialog === 'revoke'} onClose={close} />
    </li>
  );
}

function People({ project, team }: { project: Project; team: Team }) {
  const say = useText();
  const owner = team.role === 'owner';
  const listed = useList(projectMembersQuery(project.id));
  const everyone = useList(membersQuery(team.id));
  const [adding, setAdding] = useState(false);
  const others = everyone.items?.filter(member => !listed.items?.some(m => m.id === member.id)).toSorted(byName) ?? [];
  const takeOut = async (member: Member) => {
    try {
      await removeProjectMember(project.id, member.id);
      done(say('app.access.person.removed', { person: member.name, project: project.name }));
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <section className="card" aria-labelledby="people">
      <div className="sec row">
        <div>
          <h2 id="people">{say('app.access.people')}</h2>
          <p className="help">
            {say(project.private ? 'app.access.people.private' : 'app.access.people.open', { workspace: team.name })}
          </p>
        </div>
        {owner && others.length > 0 && (
          <div className="end">
            <Button kind="primary" onPress={() => setAdding(true)}>
              <Plus aria-hidden />
              {say('app.access.person.add')}
            </Button>
          </div>
        )}
      </div>
      <LoadedList of={listed}>
        {items =>
          items.length === 0 ? (
            <div className="sec">
              <Empty icon={Users} title={say('app.access.people.none')} />
            </div>
          ) : (
            <ul className="list">
              {items.toSorted(byName).map(member => (
                <li key={member.id}>
                  <PersonTile name={member.name} />
                  <div className="what">
                    <span className="title">
                      <Name>{member.name}</Name>
                    </span>
                    <span className="meta">
                      <Name>{member.email}</Name>
                      <span>{say(`role.${member.role}`)}</span>
                    </span>
                  </div>
                  {owner && (
                    <div className="acts">
                      <Button
                        onPress={() => void takeOut(member)}
                        aria-label={say('app.remove.label', { what: member.name })}
                      >
                        {say('app.remove')}
                      </Button>
                    </div>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </LoadedList>
      <More of={listed} />
      <FormDialog
        isOpen={adding}
        onClose={() => setAdding(false)}
        title={say('app.access.person.add')}
        submit={say('app.access.person.add')}
        onSubmit={form => addProjectMember(project.id, String(form.get('user')))}
      >
        <Select
          label={say('app.person')}
          name="user"
          options={others.map(member => [member.id, member.name] as const)}
        />
      </FormDialog>
    </section>
  );
}

function Log({ project, team }: { project: Project; team: Team }) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const refused = search.get('decision') === 'denied';
  const connection = search.get('connection') ?? '';
  const connections = useList(connectionsQuery(team.id)).items ?? [];
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
  const filter: AuditFilter = { ...(connection && { connection }), ...(refused && { decision: 'denied' }) };
  return (
    <>
      <div className="filters">
        <Select
          label={say('app.assistant')}
          value={connection}
          onChange={value => set('connection', value)}
          options={[['', say('app.audit.everyone')], ...connections.map(c => [c.id, c.name] as const)]}
        />
        <Checkbox isSelected={refused} onChange={on => set('decision', on ? 'denied' : '')}>
          {say('app.audit.refused_only')}
        </Checkbox>
      </div>
      <AuditList
        workspace={team.id}
        scope={{ project: project.id }}
        filter={filter}
        clear={() => setSearch(new URLSearchParams())}
      />
    </>
  );
}
