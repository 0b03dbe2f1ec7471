import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { asApiError } from '../../data/api.ts';
import { cache } from '../../data/cache.ts';
import { keep, kept } from '../../data/kept.ts';
import { tabQuery, versionQuery, writeTab } from '../../data/notes.ts';
import type { TabText } from '../../data/types.ts';
import { merge } from './merge.ts';

/** How the text stands to what the server has. */
export type Saving = 'saved' | 'waiting' | 'saving' | 'failed' | 'conflict';

/** A version of the text that the server had. */
interface Base {
  version: number;
  text: string;
}

const pause = 800; // after the last key

export interface Draft {
  text: string;
  saving: Saving;
  /** Why it was not saved, in words. */
  problem: string;
  /** What the server has, if that is not what this text was made from. */
  theirs: TabText | undefined;
  base: string;
  edit: (text: string) => void;
  saveNow: () => void;
  keepMine: () => void;
  takeTheirs: () => void;
  mergeBoth: () => number;
}

/**
 * The text of a tab as somebody writes it. It is saved after a pause, on the
 * version it was made from. A push never writes into it: who has changed nothing
 * gets the new text, who has is told. Until the server said saved it is kept in
 * this browser too.
 */
export function useDraft(read: TabText, replace: (text: string) => void): Draft {
  const { note_id: note, id: tab } = read;
  const place = `draft.${tab}`;
  const [base, setBase] = useState<Base>({ version: read.version, text: read.markdown });
  const [text, setText] = useState(read.markdown);
  const [saving, setSaving] = useState<Saving>('saved');
  const [problem, setProblem] = useState('');
  const now = useRef({ base, text, saving });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const server = useQuery(tabQuery(note, tab)).data ?? read;

  const set = useCallback((change: Partial<typeof now.current>) => {
    now.current = { ...now.current, ...change };
    if (change.base) setBase(change.base);
    if (change.text !== undefined) setText(change.text);
    if (change.saving) setSaving(change.saving);
  }, []);

  const save = useCallback(async () => {
    clearTimeout(timer.current);
    const { base: from, text: sent, saving: state } = now.current;
    if (state === 'saving' || state === 'conflict') return;
    if (sent === from.text) {
      keep(place, null);
      set({ saving: 'saved' });
      return;
    }
    set({ saving: 'saving' });
    try {
      const written = await writeTab(note, tab, sent, from.version);
      set({ base: { version: written.version, text: sent }, saving: 'waiting' });
      if (now.current.text === sent) {
        keep(place, null);
        set({ saving: 'saved' });
      } else timer.current = setTimeout(() => void save(), pause);
    } catch (thrown) {
      const error = asApiError(thrown);
      setProblem(error.message);
      set({ saving: error.code === 'version_conflict' ? 'conflict' : 'failed' });
      if (error.code === 'version_conflict') void cache.invalidateQueries({ queryKey: tabQuery(note, tab).queryKey });
    }
  }, [note, tab, place, set]);

  const edit = useCallback(
    (next: string) => {
      set({ text: next });
      keep(place, JSON.stringify({ version: now.current.base.version, text: next }));
      if (now.current.saving === 'conflict' || now.current.saving === 'saving') return;
      set({ saving: 'waiting' });
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void save(), pause);
    },
    [place, save, set],
  );

  // A text that was not saved last time goes on where it was left.
  useEffect(() => {
    const left = readDraft(place);
    if (!left || left.text === read.markdown) return;
    set({ text: left.text });
    replace(left.text);
    if (left.version === read.version) {
      edit(left.text);
      return;
    }
    set({ base: { version: left.version, text: '' }, saving: 'conflict' });
    void cache
      .fetchQuery(versionQuery(note, tab, left.version))
      .then(version => set({ base: { version: left.version, text: version.markdown ?? '' } }))
      .catch(() => {}); // that version is gone: both texts then differ from nothing
    // oxlint-disable-next-line react/exhaustive-deps -- once, when the tab is opened
  }, []);

  // What others wrote: taken over where nothing was written here, else a conflict.
  useEffect(() => {
    const { base: from, text: mine, saving: state } = now.current;
    if (server.version <= from.version || state === 'saving') return;
    if (mine === from.text && state !== 'conflict') {
      set({ base: { version: server.version, text: server.markdown }, text: server.markdown, saving: 'saved' });
      replace(server.markdown);
    } else if (mine === server.markdown) {
      set({ base: { version: server.version, text: mine }, saving: 'saved' });
      keep(place, null);
    } else {
      clearTimeout(timer.current);
      set({ saving: 'conflict' });
    }
  }, [server, saving, place, replace, set]);

  // Leaving the page, or the tab of the browser, saves what waits.
  useEffect(() => {
    const leave = () => void (now.current.saving === 'waiting' && save());
    const hide = () => document.hidden && leave();
    document.addEventListener('visibilitychange', hide);
    return () => {
      document.removeEventListener('visibilitychange', hide);
      leave();
      clearTimeout(timer.current);
    };
  }, [save]);

  const settle = (next: string) => {
    set({ base: { version: server.version, text: server.markdown }, text: next, saving: 'waiting' });
    replace(next);
    void save();
  };
  return {
    text,
    saving,
    problem,
    theirs: saving === 'conflict' && server.version > base.version ? server : undefined,
    base: base.text,
    edit,
    saveNow: () => void save(),
    keepMine: () => settle(now.current.text),
    takeTheirs: () => settle(server.markdown),
    mergeBoth: () => {
      const merged = merge(base.text, now.current.text, server.markdown);
      settle(merged.text);
      return merged.overlaps;
    },
  };
}

function readDraft(place: string): Base | undefined {
  try {
    const value = JSON.parse(kept(place) ?? 'null') as Partial<Base> | null;
    if (typeof value?.version === 'number' && typeof value.text === 'string') return value as Base;
  } catch {
    // Not a draft of ours.
  }
  return undefined;
}
