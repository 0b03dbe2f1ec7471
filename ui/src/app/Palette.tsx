import {
  Activity,
  FileText,
  Home,
  Inbox,
  Keyboard,
  Plug,
  Search,
  Settings,
  Users,
  type LucideIcon,
} from 'lucide-react';
import { useState } from 'react';
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
import { useList } from '../data/cache.ts';
import { keep, kept } from '../data/kept.ts';
import { foundNotesQuery } from '../data/notes.ts';
import { useText } from '../i18n/Text.tsx';
import { clean, Name } from '../parts/words.tsx';
import { useAsked } from './asked.ts';
import { useLayers } from './layers.ts';
import { usePlace } from './place.ts';
import { useThings } from './things.ts';

interface Option {
  key: string;
  icon: LucideIcon;
  text: string;
  where?: string;
  to?: string;
  act?: () => void;
}

interface Section {
  key: string;
  title: string;
  options: Option[];
}

const mostRecent = 5;
const recentKeys = () => (kept('recent') ?? '').split('\n').filter(Boolean);
const remember = (key: string) =>
  keep('recent', [key, ...recentKeys().filter(other => other !== key)].slice(0, mostRecent).join('\n'));

/** One box for going anywhere and doing the common things. */
export function Palette({ onClose }: { onClose: () => void }) {
  const say = useText();
  const { contains } = useFilter({ sensitivity: 'base' });
  const [asked, setAsked] = useState('');
  const { text, sections } = useSections(asked);
  const all = say('app.search.page', { text });
  const named = sections.map(section => ({
    ...section,
    options: section.options.filter(option => contains(option.text, text)),
  }));
  const inNotes = useInNotes(text === asked.trim() ? text : '');
  const options = inNotes.filter(({ key }) => !named.some(section => section.options.some(other => other.key === key)));
  const found = [...named, { key: 'notes', title: say('app.search.in_notes'), options }].filter(
    section => section.options.length > 0,
  );
  return (
    <ModalOverlay className="scrim top-align" isDismissable isOpen onOpenChange={open => !open && onClose()}>
      <Modal className="modal palette">
        <Dialog aria-label={say('app.search.jump')}>
          <Autocomplete inputValue={asked} onInputChange={setAsked}>
            <SearchField autoFocus aria-label={say('app.search.jump')} className="ask">
              <Search aria-hidden />
              <Input placeholder={say('app.search.jump')} />
            </SearchField>
            <Menu
              className="menu"
              aria-label={say('app.palette.results')}
              onAction={onClose}
              renderEmptyState={() => <p className="none">{say('app.search.none', { text: clean(text) })}</p>}
            >
              {found.map(section => (
                <MenuSection key={section.key}>
                  <Header>{section.title}</Header>
                  {section.options.map(option => (
                    <Shown key={option.key} section={section.key} option={option} />
                  ))}
                </MenuSection>
              ))}
              {text !== '' && found.length > 0 && (
                <MenuItem id="all" className="option" textValue={all} href={`/search?q=${encodeURIComponent(text)}`}>
                  <Search aria-hidden />
                  <span className="text">
                    <Name>{all}</Name>
                  </span>
                </MenuItem>
              )}
            </Menu>
          </Autocomplete>
          <p className="hint small muted">{say('app.palette.prefixes')}</p>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function Shown({ section, option: { key, icon: Icon, text, where, to, act } }: { section: string; option: Option }) {
  return (
    <MenuItem
      id={`${section} ${key}`}
      className="option"
      textValue={text}
      {...(to && { href: to })}
      onAction={() => {
        remember(key);
        act?.();
      }}
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
  );
}

/** What is looked through: all, or what the first character names. */
function useSections(asked: string): { text: string; sections: Section[] } {
  const say = useText();
  const { workspace } = usePlace();
  const things = useThings(workspace);
  const actions = useActions();
  const places = things.filter(thing => !thing.person);
  const sections = {
    go: { key: 'go', title: say('app.palette.go'), options: places },
    actions: { key: 'actions', title: say('app.palette.actions'), options: actions },
    people: { key: 'people', title: say('app.palette.people'), options: things.filter(thing => thing.person) },
  };
  const text = asked.slice(1).trim();
  switch (asked[0]) {
    case '>':
      return { text, sections: [sections.actions] };
    case '@':
      return { text, sections: [sections.people] };
    case '?':
      return { text, sections: [{ ...sections.actions, options: actions.filter(option => option.key === 'keys') }] };
  }
  const recent = recentKeys().flatMap(key => [...places, ...actions].find(option => option.key === key) ?? []);
  return {
    text: asked.trim(),
    sections: [
      ...(asked === '' ? [{ key: 'recent', title: say('app.palette.recent'), options: recent }] : []),
      sections.go,
      sections.actions,
      ...(asked === '' ? [] : [sections.people]),
    ],
  };
}

const mostInNotes = 5;

/** Notes with these words in their texts. */
function useInNotes(text: string): Option[] {
  const { workspace } = usePlace();
  const asked = useAsked(text);
  const id = workspace?.id ?? '';
  const list = useList({
    ...foundNotesQuery(id, asked, mostInNotes),
    enabled: id !== '' && asked !== '',
    staleTime: 0,
  });
  if (asked === '') return [];
  return (list.items ?? []).map(note => ({
    key: `n ${note.note_id}`,
    icon: FileText,
    text: note.title,
    where: note.snippet,
    to: `/p/${note.project_id}/notes/${note.note_id}${note.tab_id ? `/${note.tab_id}` : ''}`,
  }));
}

function useActions(): Option[] {
  const say = useText();
  const open = useLayers();
  const { workspace } = usePlace();
  const home = workspace && `/w/${workspace.id}`;
  const places: Option[] = home
    ? [
        { key: 'home', icon: Home, text: say('app.home'), to: home },
        ...(workspace.role === 'viewer'
          ? []
          : [{ key: 'approvals', icon: Inbox, text: say('app.approvals'), to: `${home}/approvals` }]),
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
    { key: 'search', icon: Search, text: say('app.search.title'), to: '/search' },
    { key: 'settings', icon: Settings, text: say('app.settings'), to: '/settings' },
    { key: 'keys', icon: Keyboard, text: say('app.keys'), act: () => setTimeout(() => open('keys')) },
  ];
}
