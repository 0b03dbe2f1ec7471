import { useQueries } from '@tanstack/react-query';
import {
  Activity,
  FileText,
  Home,
  Keyboard,
  Plug,
  Search,
  Settings,
  SquareStack,
  Users,
  type LucideIcon,
} from 'lucide-react';
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  SearchField,
  useFilter,
} from 'react-aria-components';
import { useList, type Page } from '../data/cache.ts';
import { connectionsQuery } from '../data/connections.ts';
import { at, get } from '../data/api.ts';
import { projectsQuery } from '../data/projects.ts';
import type { NoteFields } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { byName } from '../i18n/time.ts';
import { Name } from '../parts/words.tsx';
import { useLayers } from './layers.ts';
import { usePlace } from './place.ts';

interface Option {
  key: string;
  icon: LucideIcon;
  text: string;
  where?: string;
  to?: string;
  act?: () => void;
}

/** One box for going anywhere and doing the common things. */
export function Palette({ onClose }: { onClose: () => void }) {
  const say = useText();
  const { contains } = useFilter({ sensitivity: 'base' });
  const things = useThings();
  const actions = useActions();
  const sections = [
    { key: 'go', title: say('app.palette.go'), options: things },
    { key: 'actions', title: say('app.palette.actions'), options: actions },
  ];
  return (
    <ModalOverlay className="scrim top-align" isDismissable isOpen onOpenChange={open => !open && onClose()}>
      <Modal className="modal palette">
        <Dialog aria-label={say('app.search.jump')}>
          <Autocomplete filter={contains}>
            <SearchField autoFocus aria-label={say('app.search.jump')} className="ask">
              <Search aria-hidden />
              <Input placeholder={say('app.search.jump')} />
            </SearchField>
            <Menu
              className="menu"
              aria-label={say('app.palette.results')}
              onAction={onClose}
              renderEmptyState={() => <p className="none">{say('app.palette.none')}</p>}
            >
              {sections.map(section => (
                <MenuSection key={section.key}>
                  <Header>{section.title}</Header>
                  {section.options.map(({ key, icon: Icon, text, where, to, act }) => (
                    <MenuItem
                      key={key}
                      id={key}
                      className="option"
                      textValue={text}
                      {...(to && { href: to })}
                      {...(act && { onAction: act })}
                    >
                      <Icon aria-hidden />
                      <span className="text">
                        <Name>{text}</Name>
                      </span>
                      {where && (
                        <span className="where">
                          <Name>{where}</Name>
                        </span>
                      )}
                    </MenuItem>
                  ))}
                </MenuSection>
              ))}
            </Menu>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Projects, their notes and the assistants of the workspace. */
function useThings(): Option[] {
  const { workspace } = usePlace();
  const id = workspace?.id ?? '';
  const enabled = workspace !== undefined;
  const projects = useList({ ...projectsQuery(id), enabled }).items?.toSorted(byName) ?? [];
  const connections = useList({ ...connectionsQuery(id), enabled }).items ?? [];
  const notes = useQueries({
    queries: projects.slice(0, 30).map(project => ({
      queryKey: ['palette', 'notes', project.id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        get<Page<NoteFields>>(at`/projects/${project.id}/notes`, { limit: 200 }, signal),
      staleTime: 30_000,
    })),
  });
  return [
    ...projects.map(project => ({
      key: `p ${project.id}`,
      icon: SquareStack,
      text: project.name,
      to: `/p/${project.id}`,
    })),
    ...notes.flatMap((list, i) =>
      (list.data?.items ?? []).map(note => ({
        key: `n ${note.id}`,
        icon: FileText,
        text: note.title,
        where: projects[i]?.name ?? '',
        to: `/p/${note.project_id}/notes/${note.id}`,
      })),
    ),
    ...connections
      .filter(connection => connection.status !== 'revoked')
      .map(connection => ({
        key: `c ${connection.id}`,
        icon: Plug,
        text: connection.name,
        where: connection.redirect_host,
        to: `/w/${id}/assistants/${connection.id}`,
      })),
  ];
}

function useActions(): Option[] {
  const say = useText();
  const open = useLayers();
  const { workspace } = usePlace();
  const home = workspace && `/w/${workspace.id}`;
  const places: Option[] = home
    ? [
        { key: 'home', icon: Home, text: say('app.home'), to: home },
        { key: 'assistants', icon: Plug, text: say('app.assistants'), to: `${home}/assistants` },
        { key: 'connect', icon: Plug, text: say('app.connect'), to: `${home}/connect` },
        ...(workspace.role === 'owner'
          ? [{ key: 'activity', icon: Activity, text: say('app.activity'), to: `${home}/activity` }]
          : []),
        { key: 'people', icon: Users, text: say('app.people'), to: `${home}/people` },
      ]
    : [];
  return [
    ...places,
    { key: 'settings', icon: Settings, text: say('app.settings'), to: '/settings' },
    { key: 'keys', icon: Keyboard, text: say('app.keys'), act: () => setTimeout(() => open('keys')) },
  ];
}
