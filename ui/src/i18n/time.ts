import { useSyncExternalStore } from 'react';
import { locale } from './locale.ts';

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** "3 minutes ago", and after a week the date. */
export function ago(at: string, now = Date.now()): string {
  const age = Date.parse(at) - now;
  if (Math.abs(age) > 7 * 86_400_000) return day(at);
  const words = new Intl.RelativeTimeFormat(spoken(), { numeric: 'auto' });
  for (const [unit, length] of units) {
    if (Math.abs(age) >= length) return words.format(Math.trunc(age / length), unit);
  }
  return words.format(0, 'second');
}

/** A day, such as 2 Jan 2026. */
export const day = (at: string) => new Intl.DateTimeFormat(spoken(), { dateStyle: 'medium' }).format(new Date(at));

/** A moment in full, such as 2 Jan 2026, 14:02:11. */
export const moment = (at: string) =>
  new Intl.DateTimeFormat(spoken(), { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at));

/** The time of a day, such as 14:02. */
export const clock = (at: string) => new Intl.DateTimeFormat(spoken(), { timeStyle: 'short' }).format(new Date(at));

/** Names in a row, such as "Claude and Codex CLI". */
export const list = (names: string[]) => new Intl.ListFormat(spoken(), { type: 'conjunction' }).format(names);

/** Compares names as the language sorts them. */
export const byName = (a: { name: string }, b: { name: string }) =>
  new Intl.Collator(spoken(), { numeric: true }).compare(a.name, b.name);

const spoken = () => (locale().tag === 'en-XA' ? 'en' : locale().tag);

// One clock for all relative times of the page.
let minute = 0;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function listen(told: () => void) {
  listeners.add(told);
  timer ??= setInterval(() => {
    minute++;
    listeners.forEach(listener => listener());
  }, 30_000);
  return () => {
    listeners.delete(told);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Draws the component again each half minute, so that what it says of now stays true. */
export const useClock = () => useSyncExternalStore(listen, () => minute);
