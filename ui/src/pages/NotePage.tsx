import { useQuery } from '@tanstack/react-query';
import { Archive, Laptop, Lock, Plus } from 'lucide-react';
import { Suspense, useEffect, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { asApiError } from '../data/api.ts';
import { useMe, useTeam } from '../data/me.ts';
import { addTab, changeNote, deleteNote, deleteTab, noteQuery, tabQuery } from '../data/notes.ts';
import { projectQuery } from '../data/projects.ts';
import type { Note, NoteTab, Project, Team } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { Badge } from '../parts/Badge.tsx';
import { Button } from '../parts/Button.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { TextField } from '../parts/Field.tsx';
import { MenuItem, MoreMenu } from '../parts/Menu.tsx';
import { Page } from '../parts/Page.tsx';
import { Author } from '../parts/Person.tsx';
import { Failure, Loaded, Loading } from '../parts/State.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { done, failed } from '../parts/toast.ts';
import { Ago, Name } from '../parts/words.tsx';
import { History } from './note/History.tsx';
import { MoveDialog } from './note/Move.tsx';
import { ShareDialog } from './note/Share.tsx';
import { TabBody } from './note/TabBody.tsx';
import { Unread } from './Unread.tsx';

interface Params {
  project: string;
  note: string;
  tab?: string;
}

export function NotePage({ note: id, tab }: Params) {
  const note = useQuery(noteQuery(id));
  const project = useQuery({ ...projectQuery(note.data?.project_id ?? ''), enabled: note.data !== undefined });
  const team = useTeam(note.data?.workspace_id);
  const error = note.error && asApiError(note.error);
  if (!note.data || error?.notFound || error?.denied) return <Unread of={note} />;
  return <Of note={note.data} project={project.data} team={team} tab={tab} />;
}

type Asked = 'rename' | 'share' | 'move' | 'tab' | 'rename-tab' | 'delete-tab' | 'delete';

function Of({
  note,
  project,
  team,
  tab: wanted,
}: {
  note: Note;
  project: Project | undefined;
  team: Team | undefined;
  tab: string | undefined;
}) {
  const say = useText();
  const [, navigate] = useLocation();
  const [search] = useSearchParams();
  const [asked, ask] = useState<Asked>();
  const history = search.has('history');
  const base = `/p/${note.project_id}/notes/${note.id}`;
  const tab = note.tabs.find(t => t.id === wanted) ?? note.tabs[0]!;
  const mayEdit = team !== undefined && team.role !== 'viewer' && !note.archived && !project?.archived;
  const me = useMe();
  const mayManage = mayEdit && (team.role === 'owner' || project?.owner.id === me.id);
  const close = () => ask(undefined);
  const act = async (change: Parameters<typeof changeNote>[1], said?: string) => {
    try {
      await changeNote(note, change);
      if (said) done(said);
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  useTabKeys(note.tabs, tab, id => navigate(`${base}/${id}`));
  return (
    <Page
      title={note.title}
      crumbs={[
        ...(team ? [{ text: team.name, to: `/w/${team.id}` }] : []),
        ...(project ? [{ text: project.name, to: `/p/${project.id}` }] : []),
      ]}
      meta={
        <>
          <span>
            <Text of="app.note.changed" who={<Author by={tab.updated_by} />} when={<Ago at={tab.updated_at} />} />
          </span>
          {note.restricted && <Badge icon={Lock}>{say('app.note.restricted')}</Badge>}
          {note.local_only && <Badge icon={Laptop}>{say('app.note.local_only')}</Badge>}
        </>
      }
      actions={
        <>
          {team && team.role !== 'viewer' && (
            <MoreMenu label={say('app.more_actions', { what: note.title })}>
              {mayEdit && (
                <>
                  <MenuItem onAction={() => ask('rename')}>{say('app.note.rename')}</MenuItem>
                  <MenuItem onAction={() => ask('rename-tab')}>{say('app.note.tab.rename')}</MenuItem>
                  <MenuItem
                    onAction={() => void act({ tabs: moved(note.tabs, tab, -1) })}
                    isDisabled={note.tabs[0] === tab}
                  >
                    {say('app.note.tab.left')}
                  </MenuItem>
                  <MenuItem
                    onAction={() => void act({ tabs: moved(note.tabs, tab, 1) })}
                    isDisabled={note.tabs.at(-1) === tab}
                  >
                    {say('app.note.tab.right')}
                  </MenuItem>
                  <MenuItem onAction={() => ask('move')}>{say('app.note.move.ask')}</MenuItem>
                  {mayManage && (
                    <>
                      <MenuItem onAction={() => ask('share')}>{say('app.note.share')}</MenuItem>
                      <MenuItem
                        onAction={() =>
                          void act(
                            { local_only: !note.local_only },
                            say(note.local_only ? 'app.note.local_only.opened' : 'app.note.local_only.kept', {
                              note: note.title,
                            }),
                          )
                        }
                      >
                        {say(note.local_only ? 'app.note.local_only.open' : 'app.note.local_only.keep')}
                      </MenuItem>
                    </>
                  )}
                  <MenuItem danger isDisabled={note.tabs.length === 1} onAction={() => ask('delete-tab')}>
                    {say('app.note.tab.delete.ask')}
                  </MenuItem>
                  <MenuItem
                    onAction={() => void act({ archived: true }, say('app.note.archived.done', { note: note.title }))}
                  >
                    {say('app.note.archive')}
                  </MenuItem>
                </>
              )}
              {note.archived && (
                <MenuItem danger onAction={() => ask('delete')}>
                  {say('app.note.delete.ask')}
                </MenuItem>
              )}
            </MoreMenu>
          )}
          <Button
            onPress={() => navigate(history ? `${base}/${tab.id}` : `${base}/${tab.id}?history`)}
            aria-pressed={history}
          >
            {say('app.history')}
          </Button>
        </>
      }
    >
      {note.archived && (
        <div className="banner">
          <Archive aria-hidden />
          <p>{say('app.note.archived')}</p>
          {team && team.role !== 'viewer' && (
            <Button onPress={() => void act({ archived: false }, say('app.note.restored', { note: note.title }))}>
              {say('app.restore')}
            </Button>
          )}
        </div>
      )}
      <div className="notetabs">
        <Tabs
          label={say('app.note.tabs')}
          chosen={tab.id}
          tabs={note.tabs.map(t => ({ id: t.id, text: <Name>{t.title}</Name>, to: `${base}/${t.id}` }))}
          end={
            mayEdit && (
              <Button kind="quiet" icon aria-label={say('app.note.tab.new')} onPress={() => ask('tab')}>
                <Plus aria-hidden />
              </Button>
            )
          }
        >
          <Open note={note} tab={tab} mayEdit={mayEdit} history={history} />
        </Tabs>
      </div>
      <FormDialog
        isOpen={asked === 'rename'}
        onClose={close}
        title={say('app.note.rename')}
        submit={say('app.rename')}
        onSubmit={form => changeNote(note, { title: String(form.get('title')) })}
      >
        {faults => (
          <TextField
            label={say('app.title')}
            name="title"
            defaultValue={note.title}
            autoFocus
            isRequired
            fault={faults.title}
          />
        )}
      </FormDialog>
      <MoveDialog note={note} isOpen={asked === 'move'} onClose={close} />
      <ShareDialog note={note} isOpen={asked === 'share'} onClose={close} />
      <FormDialog
        isOpen={asked === 'tab'}
        onClose={close}
        title={say('app.note.tab.new')}
        submit={say('app.note.tab.create')}
        onSubmit={async form => {
          const changed = await addTab(note, String(form.get('title')));
          if (changed.tab_id) navigate(`${base}/${changed.tab_id}`);
        }}
      >
        {faults => (
          <TextField
            label={say('app.title')}
            name="title"
            autoFocus
            isRequired
            autoComplete="off"
            fault={faults.title}
          />
        )}
      </FormDialog>
      <FormDialog
        isOpen={asked === 'rename-tab'}
        onClose={close}
        title={say('app.note.tab.rename')}
        submit={say('app.rename')}
        onSubmit={form =>
          changeNote(note, {
            tabs: note.tabs.map(t => (t.id === tab.id ? { id: t.id, title: String(form.get('title')) } : { id: t.id })),
          })
        }
      >
        {faults => (
          <TextField
            label={say('app.title')}
            name="title"
            defaultValue={tab.title}
            autoFocus
            isRequired
            fault={Object.values(faults)[0]}
          />
        )}
      </FormDialog>
      <FormDialog
        isOpen={asked === 'delete-tab'}
        onClose={close}
        danger
        title={say('app.delete.title', { what: tab.title })}
        submit={say('app.note.tab.delete')}
        onSubmit={async () => {
          await deleteTab(note, tab.id);
          done(say('app.deleted', { what: tab.title }));
          navigate(base, { replace: true });
        }}
      >
        <p>{say('app.note.tab.delete.text')}</p>
      </FormDialog>
      <FormDialog
        isOpen={asked === 'delete'}
        onClose={close}
        danger
        title={say('app.delete.title', { what: note.title })}
        submit={say('app.note.delete')}
        onSubmit={async () => {
          await deleteNote(note);
          done(say('app.deleted', { what: note.title }));
          navigate(`/p/${note.project_id}`, { replace: true });
        }}
      >
        <p>{say('app.note.delete.text')}</p>
      </FormDialog>
    </Page>
  );
}

/** The tabs with one of them moved by one place. */
function moved(tabs: NoteTab[], tab: NoteTab, by: 1 | -1): Array<{ id: string }> {
  const ids = tabs.map(t => t.id);
  const at = ids.indexOf(tab.id);
  ids.splice(at, 1);
  ids.splice(at + by, 0, tab.id);
  return ids.map(id => ({ id }));
}

/** Ctrl+Alt+← and → go from tab to tab, from inside the editor too. */
function useTabKeys(tabs: NoteTab[], tab: NoteTab, go: (id: string) => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
      const next = tabs[tabs.indexOf(tab) + by];
      if (!by || !next || !event.ctrlKey || !event.altKey) return;
      event.preventDefault();
      go(next.id);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}

interface OpenProps {
  note: Note;
  tab: NoteTab;
  mayEdit: boolean;
  history: boolean;
}

function Open({ note, tab, mayEdit, history }: OpenProps) {
  const text = useQuery(tabQuery(note.id, tab.id));
  const error = text.error && asApiError(text.error);
  if (error && text.data) return <Failure error={error} again={() => void text.refetch()} />;
  return (
    <Loaded of={text} rows={4}>
      {read =>
        history ? (
          <History key={tab.id} note={note.id} current={read} mayRestore={mayEdit} />
        ) : (
          <Suspense fallback={<Loading />}>
            <TabBody key={tab.id} read={read} mayEdit={mayEdit} />
          </Suspense>
        )
      }
    </Loaded>
  );
}
