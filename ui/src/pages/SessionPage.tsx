import { useQuery } from '@tanstack/react-query';
import { Archive, Laptop, Lock, Plus, Settings2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { lettersOff } from '../app/keys.ts';
import { asApiError } from '../data/api.ts';
import { useList } from '../data/cache.ts';
import { sessionHandoffsQuery } from '../data/handoffs.ts';
import { useMe, useTeam } from '../data/me.ts';
import { projectQuery } from '../data/projects.ts';
import { seatsQuery } from '../data/seats.ts';
import { changeSession, keepOnServer, sessionQuery } from '../data/sessions.ts';
import { tasksQuery } from '../data/tasks.ts';
import type { AgentSession, Project, Team } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { sessionAddress } from '../parts/addresses.ts';
import { Badge } from '../parts/Badge.tsx';
import { Button, LinkButton } from '../parts/Button.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { TextField } from '../parts/Field.tsx';
import { MenuItem, MoreMenu } from '../parts/Menu.tsx';
import { Page } from '../parts/Page.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { done, failed } from '../parts/toast.ts';
import { Connected } from './session/Connected.tsx';
import { Handoffs } from './session/Handoffs.tsx';
import { SessionState, TypeBadge } from './session/looks.tsx';
import { Mail } from './session/Mail.tsx';
import { NewTask } from './session/NewTask.tsx';
import { People } from './session/People.tsx';
import { State } from './session/State.tsx';
import { TaskView } from './session/TaskView.tsx';
import { Tasks } from './session/Tasks.tsx';
import { Unread } from './Unread.tsx';
import './session/session.css';

interface Params {
  session: string;
  tab?: string;
  task?: string;
}

export function SessionPage({ session: id, tab, task }: Params) {
  const session = useQuery(sessionQuery(id));
  const project = useQuery({ ...projectQuery(session.data?.project_id ?? ''), enabled: session.data !== undefined });
  const team = useTeam(session.data?.workspace_id);
  const error = session.error && asApiError(session.error);
  if (!session.data || !team || error?.notFound || error?.denied) return <Unread of={session} />;
  return <Of session={session.data} project={project.data} team={team} tab={tab} task={task} />;
}

/** What this person may do in the session, as far as the app can tell; the server judges. */
export interface Rights {
  edit: boolean;
  manage: boolean;
}

function useRights(session: AgentSession, project: Project | undefined, team: Team): Rights {
  const me = useMe();
  const editor = team.role !== 'viewer';
  return {
    edit: editor && !session.archived && !project?.archived,
    manage: team.role === 'owner' || (editor && (session.owner_id === me.id || project?.owner.id === me.id)),
  };
}

const tabIDs = ['state', 'tasks', 'handoffs', 'mail', 'connected'] as const;
type TabID = (typeof tabIDs)[number];

async function act(change: () => Promise<unknown>, said: string) {
  try {
    await change();
    done(said);
  } catch (thrown) {
    failed(asApiError(thrown).message);
  }
}

interface OfProps {
  session: AgentSession;
  project: Project | undefined;
  team: Team;
  tab: string | undefined;
  task: string | undefined;
}

function Of({ session, project, team, tab, task }: OfProps) {
  const say = useText();
  const [, navigate] = useLocation();
  const [asked, ask] = useState<'task' | 'rename' | 'people'>();
  const rights = useRights(session, project, team);
  const chosen: TabID = tabIDs.find(id => id === tab) ?? 'state';
  const pending = useList(sessionHandoffsQuery(session.id, 'pending')).items?.filter(h => h.state === 'pending').length;
  const waiting = useList(tasksQuery(session.id, true)).items?.filter(t => t.state === 'waiting').length;
  const seats = useList(seatsQuery(session.id)).items?.length;
  const close = () => ask(undefined);
  const base = sessionAddress(session.id);
  const tabs = [
    { id: 'state', text: say('app.session.tab.state'), to: base },
    { id: 'tasks', text: say('app.session.tab.tasks'), to: sessionAddress(session.id, 'tasks'), count: waiting },
    {
      id: 'handoffs',
      text: say('app.session.tab.handoffs'),
      to: sessionAddress(session.id, 'handoffs'),
      count: pending,
    },
    { id: 'mail', text: say('app.session.tab.mail'), to: sessionAddress(session.id, 'mail') },
    { id: 'connected', text: say('app.session.tab.connected'), to: sessionAddress(session.id, 'connected') },
  ];
  useTabKeys(tabs, navigate);
  const here = tabs.find(t => t.id === chosen)!;
  const title = here.count ? say('app.session.tab.counted', { tab: here.text, n: here.count }) : here.text;
  return (
    <Page
      title={session.title}
      documentTitle={[title, session.title]}
      crumbs={[
        { text: team.name, to: `/w/${team.id}` },
        ...(project ? [{ text: project.name, to: `/p/${project.id}` }] : []),
      ]}
      meta={
        <>
          <TypeBadge type={session.type} />
          <SessionState state={session.state} />
          <span>{say('app.session.agents.count', { n: session.agents.length })}</span>
          {seats ? <span>{say('app.session.assistants.count', { n: seats })}</span> : null}
          {session.restricted && <Badge icon={Lock}>{say('app.note.restricted')}</Badge>}
          {session.local_only && <Badge icon={Laptop}>{say('app.note.local_only')}</Badge>}
        </>
      }
      actions={
        <>
          {(rights.edit || rights.manage) && (
            <MoreMenu label={say('app.more_actions', { what: session.title })}>
              {rights.edit && <MenuItem onAction={() => ask('rename')}>{say('app.session.rename')}</MenuItem>}
              {rights.manage && <MenuItem onAction={() => ask('people')}>{say('app.session.people.ask')}</MenuItem>}
              {rights.manage && (
                <MenuItem
                  onAction={() =>
                    void act(
                      () => keepOnServer(session.id, !session.local_only),
                      say(session.local_only ? 'app.session.local.off' : 'app.session.local.on', {
                        session: session.title,
                      }),
                    )
                  }
                >
                  {say(session.local_only ? 'app.session.local.stop' : 'app.session.local.start')}
                </MenuItem>
              )}
              {rights.edit && (
                <MenuItem
                  onAction={() =>
                    void act(
                      () => changeSession(session, { archived: true }),
                      say('app.session.archived.done', { session: session.title }),
                    )
                  }
                >
                  {say('app.session.archive')}
                </MenuItem>
              )}
            </MoreMenu>
          )}
          {rights.edit && (
            <LinkButton to={`${base}/settings`}>
              <Settings2 aria-hidden />
              {say('app.session.settings')}
            </LinkButton>
          )}
          {rights.edit && (
            <Button kind="primary" onPress={() => ask('task')}>
              <Plus aria-hidden />
              {say('app.task.new')}
            </Button>
          )}
        </>
      }
    >
      {session.archived && (
        <div className="banner">
          <Archive aria-hidden />
          <p>{say('app.session.archived')}</p>
          {team.role !== 'viewer' && !project?.archived && (
            <Button
              onPress={() =>
                void act(
                  () => changeSession(session, { archived: false }),
                  say('app.session.restored', { session: session.title }),
                )
              }
            >
              {say('app.restore')}
            </Button>
          )}
        </div>
      )}
      <Tabs label={say('app.session.tabs')} tabs={tabs} chosen={chosen}>
        {chosen === 'state' && <State session={session} onNew={rights.edit ? () => ask('task') : undefined} />}
        {chosen === 'tasks' &&
          (task ? (
            <TaskView key={task} session={session} task={task} rights={rights} />
          ) : (
            <Tasks session={session} rights={rights} onNew={rights.edit ? () => ask('task') : undefined} />
          ))}
        {chosen === 'handoffs' && <Handoffs session={session} rights={rights} />}
        {chosen === 'mail' && <Mail session={session} rights={rights} />}
        {chosen === 'connected' && <Connected session={session} project={project} team={team} rights={rights} />}
      </Tabs>
      <NewTask session={session} isOpen={asked === 'task'} onClose={close} />
      <FormDialog
        isOpen={asked === 'rename'}
        onClose={close}
        title={say('app.session.rename')}
        submit={say('app.rename')}
        onSubmit={form => changeSession(session, { title: String(form.get('title')) })}
      >
        {faults => (
          <TextField
            label={say('app.title')}
            name="title"
            defaultValue={session.title}
            maxLength={200}
            autoFocus
            isRequired
            fault={faults.title}
          />
        )}
      </FormDialog>
      {asked === 'people' && <People session={session} team={team} onClose={close} />}
    </Page>
  );
}

/** 1 to 5 go to the tabs. */
function useTabKeys(tabs: Array<{ to: string }>, go: (to: string) => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target } = event;
      const typing =
        target instanceof Element &&
        target.closest('input, textarea, select, [role=dialog], [role=alertdialog], [role=menu]');
      const tab = tabs[Number(event.key) - 1];
      if (!tab || typing || event.ctrlKey || event.metaKey || event.altKey || lettersOff()) return;
      event.preventDefault();
      go(tab.to);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}
