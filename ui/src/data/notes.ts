import { queryOptions } from '@tanstack/react-query';
import { ApiError, asApiError, at, get, patch, post, put, remove } from './api.ts';
import { cache, dropFromLists, listOptions, patchLists, type Pages } from './cache.ts';
import { onKind } from './live.ts';
import { say } from '../i18n/locale.ts';
import type {
  Acl,
  AclEntryBody,
  FoundNote,
  Note,
  NoteChange,
  NoteFields,
  TabText,
  TabVersion,
  TabVersionText,
} from './types.ts';

/** Characters of one tab at most, as UTF-8 bytes. */
export const maxTabBytes = 1 << 20;

const listKey = (project: string) => ['project', project, 'notes'];

export const notesQuery = (project: string, archived = false) =>
  listOptions<NoteFields>([...listKey(project), archived], at`/projects/${project}/notes`, {
    archived: archived ? 'true' : undefined,
  });

export const noteQuery = (id: string) =>
  queryOptions({ queryKey: ['note', id], queryFn: ({ signal }) => get<Note>(at`/notes/${id}`, undefined, signal) });

const tabKey = (note: string, tab: string) => ['note-text', note, tab];

export const tabQuery = (note: string, tab: string) =>
  queryOptions({
    queryKey: tabKey(note, tab),
    queryFn: ({ signal }) => get<TabText>(at`/notes/${note}/tabs/${tab}`, undefined, signal),
  });

const versionsKey = (note: string, tab: string) => ['note-versions', note, tab];

export const versionsQuery = (note: string, tab: string) =>
  listOptions<TabVersion>(versionsKey(note, tab), at`/notes/${note}/tabs/${tab}/versions`, {}, 50);

/** A past version with its text; it never changes. */
export const versionQuery = (note: string, tab: string, version: number) =>
  queryOptions({
    queryKey: ['note-version', note, tab, version],
    queryFn: ({ signal }) => get<TabVersionText>(at`/notes/${note}/tabs/${tab}/versions/${version}`, undefined, signal),
    staleTime: Infinity,
  });

function keepNote(note: Note): Note {
  cache.setQueryData(noteQuery(note.id).queryKey, note);
  patchLists<NoteFields>(listKey(note.project_id), note);
  return note;
}

function keepTab(text: TabText): TabText {
  cache.setQueryData(tabQuery(text.note_id, text.id).queryKey, text);
  void cache.invalidateQueries({ queryKey: versionsKey(text.note_id, text.id) });
  return text;
}

export async function createNote(project: string, title: string, tab: string, markdown = ''): Promise<Note> {
  const made = await post<Note>(at`/projects/${project}/notes`, { title, tabs: [{ title: tab, markdown }] });
  keepNote(made);
  addToList(made);
  return made;
}

/** Lists are by ID and a new note has the last one, so that a long list is not read again for it. */
function addToList(note: Note): void {
  if (patchLists<NoteFields>([...listKey(note.project_id), false], note)) return;
  cache.setQueryData<Pages<NoteFields>>(notesQuery(note.project_id).queryKey, data => {
    const last = data?.pages.at(-1);
    if (!data || !last || last.next_cursor) return data; // it comes with the pages that were not read
    return { ...data, pages: [...data.pages.slice(0, -1), { ...last, items: [...last.items, note] }] };
  });
}

export async function changeNote(note: Note, change: NoteChange): Promise<Note> {
  const changed = await patch<Note>(at`/notes/${note.id}`, { ...change, expected_version: note.version }).catch(
    (thrown: unknown) => {
      if (asApiError(thrown).status === 409) void cache.invalidateQueries({ queryKey: noteQuery(note.id).queryKey });
      throw thrown;
    },
  );
  keepNote(changed);
  if (change.archived !== undefined || change.project_id !== undefined) {
    await cache.invalidateQueries({ queryKey: listKey(note.project_id) });
    await cache.invalidateQueries({ queryKey: listKey(changed.project_id) });
  }
  return changed;
}

export async function deleteNote(note: Note): Promise<void> {
  await remove(at`/notes/${note.id}`, { expected_version: note.version });
  dropFromLists(listKey(note.project_id), note.id);
}

/** The answer's tab_id is the new tab's. */
export async function addTab(note: Note, title: string): Promise<Note> {
  return keepNote(
    await post<Note>(at`/notes/${note.id}/tabs`, { title, markdown: '', expected_version: note.version }),
  );
}

export async function deleteTab(note: Note, tab: string): Promise<Note> {
  return keepNote(await remove<Note>(at`/notes/${note.id}/tabs/${tab}`, { expected_version: note.version }));
}

/** Writes over the version that the text was made from; refused if there is another by now. */
export async function writeTab(note: string, tab: string, markdown: string, expected: number): Promise<TabText> {
  return keepTab(await patch<TabText>(at`/notes/${note}/tabs/${tab}`, { markdown, expected_version: expected }));
}

export async function restoreVersion(note: string, tab: string, version: number, current: number): Promise<TabText> {
  return keepTab(
    await post<TabText>(at`/notes/${note}/tabs/${tab}/versions/${version}/restore`, { expected_version: current }),
  );
}

/** The notes of the workspace with these words, as far as the person can open them. */
export const foundNotesQuery = (workspace: string, words: string, size = 20) =>
  listOptions<FoundNote>(['found-notes', workspace, words], at`/workspaces/${workspace}/search`, { q: words }, size);

export const readAcl = (note: string) => get<Acl>(at`/notes/${note}/acl`);

const spelled = (users: AclEntryBody[]) =>
  users
    .map(({ id, right }) => `${id} ${right}`)
    .toSorted()
    .join();

/**
 * Shares the note with these people alone, or with its project if there are none
 * given. Lists have no version, so it is compared with the one that was shown.
 */
export async function shareNote(note: Note, shown: Acl, users: AclEntryBody[] | undefined): Promise<void> {
  const now = await readAcl(note.id);
  if (spelled(now.users) !== spelled(shown.users)) {
    throw new ApiError(409, 'conflict', say('app.note.share.meanwhile'));
  }
  if (users) await put<Acl>(at`/notes/${note.id}/acl`, { users });
  else await remove(at`/notes/${note.id}/acl`);
  await cache.invalidateQueries({ queryKey: noteQuery(note.id).queryKey });
}

onKind('note', async event => {
  void cache.invalidateQueries({ queryKey: ['note-text', event.id] });
  void cache.invalidateQueries({ queryKey: ['note-versions', event.id] });
  if (event.project_id && ['note.moved', 'note.archived', 'note.restored'].includes(event.type)) {
    void cache.invalidateQueries({ queryKey: listKey(event.project_id) });
  }
  if (event.project_id && ['note.left', 'note.deleted'].includes(event.type))
    dropFromLists(listKey(event.project_id), event.id);
  const isNew = event.type === 'note.created';
  if (!isNew && !isShown(event.id)) return;
  try {
    const note = await get<Note>(at`/notes/${event.id}`);
    if (isNew) addToList(note);
    else keepNote(note);
  } catch (thrown) {
    const error = asApiError(thrown);
    if (!error.notFound && !error.denied) return;
    if (event.project_id) dropFromLists(listKey(event.project_id), event.id);
    void cache.invalidateQueries({ queryKey: ['note', event.id] });
  }
});

/** Whether the note, or a list with it, was fetched. */
function isShown(id: string): boolean {
  if (cache.getQueryState(['note', id])) return true;
  return cache
    .getQueriesData<Pages<NoteFields>>({ queryKey: ['project'], predicate: query => query.queryKey[2] === 'notes' })
    .some(([, data]) => data?.pages.some(page => page.items.some(row => row.id === id)));
}
