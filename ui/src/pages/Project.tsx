import { useQuery } from '@tanstack/react-query';
import { Archive, FileText, KeyRound, Laptop, Lock, Plus, Users } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { asApiError } from '../data/api.ts';
import { useList, useWholeList } from '../data/cache.ts';
import { projectConnectionsQuery } from '../data/connections.ts';
import { useTeam } from '../data/me.ts';
import { createNote, notesQuery } from '../data/notes.ts';
import { changeProject, projectQuery } from '../data/projects.ts';
import type { NoteFields, Project as ProjectType } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { Badge } from '../parts/Badge.tsx';
import { Button, LinkButton } from '../parts/Button.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { Select, TextField } from '../parts/Field.tsx';
import { MenuItem, MoreMenu } from '../parts/Menu.tsx';
import { More } from '../parts/More.tsx';
import { Page } from '../parts/Page.tsx';
import { Rows, type Place } from '../parts/Rows.tsx';
import { Empty, LoadedList, Nothing } from '../parts/State.tsx';
import { done, failed } from '../parts/toast.ts';
import { Ago, Name } from '../parts/words.tsx';
import { Sessions } from './session/Sessions.tsx';
import { Unread } from './Unread.tsx';

export function Project({ project: id }: { project: string }) {
  const project = useQuery(projectQuery(id));
  return project.data ? <Of project={project.data} /> : <Unread of={project} />;
}

function Of({ project }: { project: ProjectType }) {
  const say = useText();
  const team = useTeam(project.workspace_id);
  const owner = team?.role === 'owner';
  const mayEdit = team !== undefined && team.role !== 'viewer' && !project.archived;
  const [dialog, setDialog] = useState<'note' | 'rename'>();
  const connections = useList(projectConnectionsQuery(project.id)).items;
  const close = () => setDialog(undefined);
  const change = async (what: Parameters<typeof changeProject>[1], said: string) => {
    try {
      await changeProject(project, what);
      done(said);
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <Page
      title={project.name}
      crumbs={team ? [{ text: team.name, to: `/w/${team.id}` }] : []}
      meta={
        <>
          <span>
            {project.private ? (
              <Badge icon={Lock}>{say('app.project.private')}</Badge>
            ) : (
              <Badge icon={Users}>{say('app.project.open')}</Badge>
            )}
          </span>
          <span>
            <Text of="app.changed" when={<Ago at={project.updated_at} />} />
          </span>
        </>
      }
      top={<AccessButton project={project} count={connections?.length} />}
      actions={
        <>
          {owner && (
            <MoreMenu label={say('app.more_actions', { what: project.name })}>
              <MenuItem onAction={() => setDialog('rename')}>{say('app.rename')}</MenuItem>
              <MenuItem
                onAction={() =>
                  void change(
                    { private: !project.private },
                    say(project.private ? 'app.project.opened' : 'app.project.closed', { project: project.name }),
                  )
                }
              >
                {say(project.private ? 'app.project.make_open' : 'app.project.make_private')}
              </MenuItem>
              {!project.archived && (
                <MenuItem
                  onAction={() =>
                    void change({ archived: true }, say('app.project.archived.done', { project: project.name }))
                  }
                >
                  {say('app.project.archive')}
                </MenuItem>
              )}
            </MoreMenu>
          )}
          {mayEdit && (
            <Button kind="primary" onPress={() => setDialog('note')}>
              <Plus aria-hidden />
              {say('app.note.new')}
            </Button>
          )}
        </>
      }
    >
      {project.archived && (
        <div className="banner">
          <Archive aria-hidden />
          <p>{say('app.project.archived')}</p>
          {owner && (
            <Button
              onPress={() => void change({ archived: false }, say('app.project.restored', { project: project.name }))}
            >
              {say('app.restore')}
            </Button>
          )}
        </div>
      )}
      <Notes project={project} onNew={mayEdit ? () => setDialog('note') : undefined} />
      <Sessions project={project} mayEdit={mayEdit} />
      <NewNote project={project.id} isOpen={dialog === 'note'} onClose={close} />
      <FormDialog
        isOpen={dialog === 'rename'}
        onClose={close}
        title={say('app.project.rename')}
        submit={say('app.rename')}
        onSubmit={form => changeProject(project, { name: String(form.get('name')) })}
      >
        {faults => (
          <TextField
            label={say('app.name')}
            name="name"
            isRequired
            autoFocus
            defaultValue={project.name}
            fault={faults.name}
          />
        )}
      </FormDialog>
    </Page>
  );
}

/** The key icon: who and what can work in the project. */
export function AccessButton({ project, count }: { project: ProjectType; count: number | undefined }) {
  const say = useText();
  return (
    <LinkButton
      to={`/p/${project.id}/access`}
      aria-label={count === undefined ? say('app.access') : say('app.access.label', { n: count })}
    >
      <KeyRound aria-hidden />
      <span>{say('app.access')}</span> {count ? <Badge>{count}</Badge> : null}
    </LinkButton>
  );
}

function NewNote({ project, isOpen, onClose }: { project: string; isOpen: boolean; onClose: () => void }) {
  const say = useText();
  const [, navigate] = useLocation();
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={say('app.note.new')}
      submit={say('app.note.create')}
      onSubmit={async form => {
        const made = await createNote(project, String(form.get('title')), say('app.note.first_tab'));
        navigate(`/p/${project}/notes/${made.id}`);
      }}
    >
      {faults => (
        <TextField label={say('app.title')} name="title" isRequired autoFocus autoComplete="off" fault={faults.title} />
      )}
    </FormDialog>
  );
}

type Sort = 'changed' | 'title' | 'made';

function Notes({ project, onNew }: { project: ProjectType; onNew: (() => void) | undefined }) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const archived = search.get('archived') === 'true';
  const sort = (search.get('sort') as Sort | null) ?? 'changed';
  const filter = search.get('q') ?? '';
  const list = useWholeList(notesQuery(project.id, archived));
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
    <section className="section" aria-labelledby="notes">
      <h2 id="notes">{say('app.notes')}</h2>
      <div className="filters">
        <TextField label={say('app.filter')} value={filter} onChange={value => set('q', value)} type="search" />
        <Select
          label={say('app.sort')}
          value={sort}
          onChange={value => set('sort', value === 'changed' ? '' : value)}
          options={[
            ['changed', say('app.sort.changed')],
            ['title', say('app.sort.title')],
            ['made', say('app.sort.made')],
          ]}
        />
        <Select
          label={say('app.show')}
          value={archived ? 'true' : ''}
          onChange={value => set('archived', value)}
          options={[
            ['', say('app.show.in_use')],
            ['true', say('app.show.archived')],
          ]}
        />
      </div>
      <LoadedList of={list} rows={5}>
        {items => {
          if (items.length === 0) {
            return (
              <div className="card">
                <Empty
                  icon={FileText}
                  title={say(archived ? 'app.notes.none_archived' : 'app.notes.none')}
                  action={!archived && onNew && <Button onPress={onNew}>{say('app.note.new')}</Button>}
                >
                  {!archived && say('app.notes.none.text')}
                </Empty>
              </div>
            );
          }
          const shown = sorted(items, sort).filter(note => fold(note.title).includes(fold(filter)));
          if (shown.length === 0) return <Nothing clear={() => set('q', '')} />;
          return (
            <>
              <Rows items={shown}>{(note, place) => <Row key={note.id} note={note} place={place} />}</Rows>
              <More of={list} />
            </>
          );
        }}
      </LoadedList>
    </section>
  );
}

/** Without accents, width and case, as people search. */
const fold = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLocaleLowerCase();

function sorted(notes: NoteFields[], sort: Sort): NoteFields[] {
  if (sort === 'made') return notes.toReversed();
  if (sort === 'title') return notes.toSorted((a, b) => a.title.localeCompare(b.title));
  return notes.toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0));
}

function Row({ note, place }: { note: NoteFields; place: Place }) {
  const say = useText();
  return (
    <li className="linked" {...place}>
      <FileText aria-hidden />
      <div className="what">
        <span className="title">
          <Link className="over" href={`/p/${note.project_id}/notes/${note.id}`}>
            <Name>{note.title}</Name>
          </Link>
          {note.restricted && <Badge icon={Lock}>{say('app.note.restricted')}</Badge>}
          {note.local_only && <Badge icon={Laptop}>{say('app.note.local_only')}</Badge>}
        </span>
      </div>
      <span className="acts small muted">
        <Ago at={note.updated_at} />
      </span>
    </li>
  );
}
