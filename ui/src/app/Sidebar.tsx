import { useQueryClient } from '@tanstack/react-query';
import {
  Activity,
  Inbox,
  Check,
  ChevronRight,
  ChevronsUpDown,
  Cpu,
  FileText,
  Home,
  Lock,
  Plug,
  Plus,
  Search,
  SquareStack,
  Users,
} from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { Button as AriaButton, Header, MenuSection, Separator } from 'react-aria-components';
import { Link, useLocation } from 'wouter';
import { useList } from '../data/cache.ts';
import { useWaiting } from '../data/handoffs.ts';
import { keep, kept } from '../data/kept.ts';
import { signOut, useMe } from '../data/me.ts';
import { notesQuery } from '../data/notes.ts';
import { projectsQuery } from '../data/projects.ts';
import { sessionsQuery } from '../data/sessions.ts';
import type { Project, Team } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { byName } from '../i18n/time.ts';
import { NewProject } from '../pages/NewProject.tsx';
import { typeIcons, typeNames } from '../pages/session/looks.tsx';
import { sessionAddress } from '../parts/addresses.ts';
import { Count } from '../parts/Badge.tsx';
import { Button } from '../parts/Button.tsx';
import { Menu, MenuItem } from '../parts/Menu.tsx';
import { PersonTile } from '../parts/Person.tsx';
import { failed } from '../parts/toast.ts';
import { initials, Name } from '../parts/words.tsx';
import { asApiError } from '../data/api.ts';
import { chooseTheme, theme, type Theme } from './appearance.ts';
import { useLayers } from './layers.ts';
import { usePlace } from './place.ts';

export function Sidebar() {
  const say = useText();
  const open = useLayers();
  const { workspace, project } = usePlace();
  const home = workspace && `/w/${workspace.id}`;
  return (
    <>
      <Workspaces chosen={workspace} />
      <button type="button" className="searchbtn" onClick={() => open('palette')}>
        <Search aria-hidden />
        <span>{say('app.search.jump')}</span>
        <kbd>{say('app.search.key')}</kbd>
      </button>
      {home && (
        <ul>
          <Item to={home} icon={<Home aria-hidden />} text={say('app.home')} />
          {workspace.role !== 'viewer' && <ApprovalsItem workspace={workspace.id} />}
          {workspace.role === 'owner' && (
            <Item to={`${home}/activity`} icon={<Activity aria-hidden />} text={say('app.activity')} />
          )}
          <Item to={`${home}/assistants`} icon={<Plug aria-hidden />} text={say('app.assistants')} within />
          <Item to={`${home}/people`} icon={<Users aria-hidden />} text={say('app.people')} />
          {workspace.role === 'owner' && (
            <Item to={`${home}/runtime`} icon={<Cpu aria-hidden />} text={say('app.runtime')} />
          )}
        </ul>
      )}
      {workspace && <Projects workspace={workspace} here={project} />}
      <You />
    </>
  );
}

function Item({
  to,
  icon,
  text,
  within,
  sub,
  count,
}: {
  to: string;
  icon: ReactNode;
  text: ReactNode;
  within?: boolean;
  sub?: boolean;
  /** What waits there, shown and said. */
  count?: ReactNode;
}) {
  const [path] = useLocation();
  const current = path === to || (within && path.startsWith(`${to}/`));
  return (
    <li>
      <Link href={to} className={sub ? 'nav sub' : 'nav'} aria-current={current ? 'page' : undefined}>
        {icon}
        <span className="text">{text}</span>
        {count}
      </Link>
    </li>
  );
}

function ApprovalsItem({ workspace }: { workspace: string }) {
  const say = useText();
  const n = useWaiting(workspace);
  return (
    <Item
      to={`/w/${workspace}/approvals`}
      icon={<Inbox aria-hidden />}
      text={say('app.approvals')}
      count={n > 0 && <Count n={n} />}
    />
  );
}

function Workspaces({ chosen }: { chosen: Team | undefined }) {
  const say = useText();
  const me = useMe();
  if (!chosen) return <p className="ws">osFoundry</p>;
  const mark = (
    <>
      <span className="logo" aria-hidden>
        {initials(chosen.name).slice(0, 1)}
      </span>
      <span className="text">
        <Name>{chosen.name}</Name>
      </span>
    </>
  );
  if (me.workspaces.length === 1) return <p className="ws">{mark}</p>;
  return (
    <Menu
      label={say('app.workspaces')}
      button={
        <AriaButton className="ws">
          {mark}
          <span className="sr">, {say('app.workspaces.switch')}</span>
          <ChevronsUpDown aria-hidden />
        </AriaButton>
      }
    >
      {me.workspaces.toSorted(byName).map(team => (
        <MenuItem key={team.id} href={`/w/${team.id}`} textValue={team.name}>
          <Name>{team.name}</Name>
          {team.id === chosen.id && <Check aria-label={say('app.chosen')} />}
        </MenuItem>
      ))}
    </Menu>
  );
}

function Projects({ workspace, here }: { workspace: Team; here: string | undefined }) {
  const say = useText();
  const [adding, setAdding] = useState(false);
  const { items } = useList(projectsQuery(workspace.id));
  const shown = items?.filter(project => !project.archived).toSorted(byName);
  return (
    <div>
      <div className="sidehead">
        <h2>{say('app.projects')}</h2>
        {workspace.role !== 'viewer' && (
          <Button kind="quiet" icon aria-label={say('app.project.new')} onPress={() => setAdding(true)}>
            <Plus aria-hidden />
          </Button>
        )}
      </div>
      <ul>
        {shown?.map(project => (
          <Branch key={project.id} project={project} here={project.id === here} />
        ))}
      </ul>
      <NewProject workspace={workspace.id} isOpen={adding} onClose={() => setAdding(false)} />
    </div>
  );
}

/** A project and, unfolded, what is in it. Folds are remembered in this browser. */
function Branch({ project, here }: { project: Project; here: boolean }) {
  const say = useText();
  const [path] = useLocation();
  const [open, setOpen] = useState(() => kept(`fold.${project.id}`) === 'open' || here);
  const toggle = () => {
    keep(`fold.${project.id}`, open ? null : 'open');
    setOpen(!open);
  };
  const address = `/p/${project.id}`;
  return (
    <li>
      <div className="branch">
        <button
          type="button"
          className="twist"
          aria-expanded={open}
          aria-label={say('app.project.contents', { project: project.name })}
          onClick={toggle}
        >
          <ChevronRight aria-hidden />
        </button>
        <Link
          href={address}
          className="nav"
          aria-current={path === address || path.startsWith(`${address}/access`) ? 'page' : undefined}
        >
          {project.private ? <Lock aria-label={say('app.project.private')} /> : <SquareStack aria-hidden />}
          <span className="text">
            <Name>{project.name}</Name>
          </span>
        </Link>
      </div>
      {open && <Contents project={project.id} />}
    </li>
  );
}

const shownNotes = 20;
const shownSessions = 20;

function Contents({ project }: { project: string }) {
  const say = useText();
  const [path] = useLocation();
  const list = useList(notesQuery(project));
  const sessions = useList(sessionsQuery(project)).items ?? [];
  if (!list.items) return null;
  if (list.items.length + sessions.length === 0) return <p className="nav sub quiet">{say('app.project.nothing')}</p>;
  return (
    <ul>
      {list.items.slice(0, shownNotes).map(note => {
        const address = `/p/${project}/notes/${note.id}`;
        const current = path === address || path.startsWith(`${address}/`);
        return (
          <li key={note.id}>
            <Link href={address} className="nav sub" aria-current={current ? 'page' : undefined}>
              <FileText aria-hidden />
              <span className="text">
                <Name>{note.title}</Name>
              </span>
            </Link>
          </li>
        );
      })}
      {sessions.slice(0, shownSessions).map(session => {
        const address = sessionAddress(session.id);
        const current = path === address || path.startsWith(`${address}/`);
        const Icon = typeIcons[session.type];
        return (
          <li key={session.id}>
            <Link href={address} className="nav sub" aria-current={current ? 'page' : undefined}>
              <Icon aria-label={say(typeNames[session.type])} />
              <span className="text">
                <Name>{session.title}</Name>
              </span>
            </Link>
          </li>
        );
      })}
      {(list.items.length > shownNotes || sessions.length > shownSessions) && (
        <Item to={`/p/${project}`} sub icon={null} text={say('app.project.all')} />
      )}
    </ul>
  );
}

const themes = ['system', 'light', 'dark'] as const satisfies Theme[];

function You() {
  const say = useText();
  const me = useMe();
  const open = useLayers();
  const client = useQueryClient();
  const [chosen, setChosen] = useState(theme);
  const leave = async () => {
    try {
      await signOut();
      client.clear();
      location.assign('/sign-in?signed-out');
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <div className="you">
      <Menu
        label={say('app.you')}
        button={
          <AriaButton className="nav">
            <PersonTile name={me.name} />
            <span className="text">
              <Name>{me.name}</Name>
              <span className="sr">, {say('app.you.menu')}</span>
            </span>
          </AriaButton>
        }
      >
        <MenuItem href="/settings">{say('app.settings')}</MenuItem>
        <MenuItem onAction={() => open('keys')}>{say('app.keys')}</MenuItem>
        <Separator />
        <MenuSection
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[chosen]}
          onSelectionChange={keys => {
            const choice = [...keys][0] as Theme;
            chooseTheme(choice);
            setChosen(choice);
          }}
        >
          <Header>{say('app.theme')}</Header>
          {themes.map(choice => (
            <MenuItem key={choice} id={choice} textValue={say(`app.theme.${choice}`)}>
              {say(`app.theme.${choice}`)}
              {chosen === choice && <Check aria-hidden />}
            </MenuItem>
          ))}
        </MenuSection>
        <Separator />
        <MenuItem onAction={() => void leave()}>{say('app.sign_out')}</MenuItem>
      </Menu>
    </div>
  );
}
