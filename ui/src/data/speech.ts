// What agents say in rounds that run, piece by piece. It is kept beside the cache:
// a piece changes nothing else of a task, and who reads along draws it alone.
import { onText } from './live.ts';
import type { RoundText } from './stream.ts';

interface Speech {
  text: string;
  /** Code points of the text, in which the server counts. */
  length: number;
  /** When the last piece came. */
  at: number;
  /** Pieces that come after some that were missed. */
  later: RoundText[];
}

const speeches = new Map<string, Speech>();
const watchers = new Map<string, Set<() => void>>();
const most = 200; // rounds kept; the oldest are forgotten, the server has them

const nameOf = (task: string, number: number) => `${task} ${number}`;
const lengthOf = (text: string) => [...text].length;

function keep(name: string, speech: Speech): void {
  speeches.set(name, speech);
  if (speeches.size > most) speeches.delete(speeches.keys().next().value!);
  watchers.get(name)?.forEach(told => told());
}

/** The speech with a piece put where it belongs; pieces behind a gap wait. */
export function join(was: Speech, piece: RoundText): Speech {
  const at = Date.now();
  if (piece.offset === 0) return { text: piece.text, length: lengthOf(piece.text), at, later: [] };
  if (piece.offset > was.length) return { ...was, at, later: [...was.later, piece] };
  const before = piece.offset === was.length ? was.text : [...was.text].slice(0, piece.offset).join('');
  const text = before + piece.text;
  return { text, length: piece.offset + lengthOf(piece.text), at, later: was.later };
}

/** The speech with what the server read of the round, and what waited for that. */
export function seed(was: Speech, text: string): Speech {
  const length = lengthOf(text);
  if (length <= was.length) return was;
  return was.later.reduce(
    (speech, piece) => (piece.offset + lengthOf(piece.text) <= speech.length ? speech : join(speech, piece)),
    { text, length, at: was.at, later: [] } as Speech,
  );
}

const nothing: Speech = { text: '', length: 0, at: 0, later: [] };

onText(piece => {
  const name = nameOf(piece.task_id, piece.number);
  keep(name, join(speeches.get(name) ?? nothing, piece));
});

/** A round was taken, perhaps anew: what another attempt said does not count. */
export function startOver(task: string, number: number): void {
  const name = nameOf(task, number);
  if (speeches.has(name)) keep(name, { ...nothing, at: Date.now() });
}

/** Everything said so far, at least what the server read; and whether pieces are missing. */
export function speechOf(task: string, number: number, read: string): { text: string; at: number; gap: boolean } {
  const name = nameOf(task, number);
  const was = speeches.get(name) ?? nothing;
  const speech = seed(was, read);
  if (speech !== was && speeches.has(name)) speeches.set(name, speech);
  return { text: speech.text, at: speech.at, gap: speech.later.length > 0 };
}

/** Calls told for each new piece of the round, until the function that it returns is called. */
export function onSpeech(task: string, number: number, told: () => void): () => void {
  const name = nameOf(task, number);
  const set = watchers.get(name) ?? new Set();
  watchers.set(name, set.add(told));
  return () => {
    set.delete(told);
    if (set.size === 0) watchers.delete(name);
  };
}
