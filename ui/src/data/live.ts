import { useSyncExternalStore } from 'react';
import { onSignedOut } from './api.ts';
import { cache } from './cache.ts';
import { Stream, type RoundText, type ServerEvent, type State, type Told } from './stream.ts';
import workerAddress from './stream.worker.ts?sharedworker&url';

/** How the live connection is, for the shell. */
export interface Live {
  state: State;
  /** Since when it is lost, or 0. */
  lostAt: number;
  /** Another version of the server answers than the one that this page came from. */
  newVersion: boolean;
}

let live: Live = { state: 'connecting', lostAt: 0, newVersion: false };
let firstVersion = '';
const watchers = new Set<() => void>();

function set(change: Partial<Live>) {
  live = { ...live, ...change };
  watchers.forEach(told => told());
}

export const useLive = () =>
  useSyncExternalStore(
    told => {
      watchers.add(told);
      return () => watchers.delete(told);
    },
    () => live,
  );

type Handler = (event: ServerEvent) => void | Promise<void>;
const handlers = new Map<string, Handler[]>();
const listeners = new Set<(event: ServerEvent) => void>();

/** Says what to do when something happens to a thing of this kind; see notes.ts. */
export function onKind(kind: string, handler: Handler): void {
  handlers.set(kind, [...(handlers.get(kind) ?? []), handler]);
}

/** Hears every event, until the function that it returns is called. */
export function onEvent(told: (event: ServerEvent) => void): () => void {
  listeners.add(told);
  return () => listeners.delete(told);
}

const readers = new Set<(text: RoundText) => void>();

/** Hears what agents say while they speak, until the function that it returns is called. */
export function onText(told: (text: RoundText) => void): () => void {
  readers.add(told);
  return () => readers.delete(told);
}

// Pushes are dealt with ten times a second at most, and the same one once.
const rhythm = 100;
const waiting = new Map<string, ServerEvent>();
let said: RoundText[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

function hear(told: Told) {
  switch (told.what) {
    case 'event':
      waiting.set(nameOf(told.event), told.event);
      timer ??= setTimeout(flush, rhythm);
      break;
    case 'text':
      said.push(told.text);
      timer ??= setTimeout(flush, rhythm);
      break;
    case 'resync':
      void cache.invalidateQueries();
      break;
    case 'state': {
      if (told.state === 'open') firstVersion ||= told.version;
      if (told.state === 'signed-out') onSignedOut.tell();
      const lost = told.state === 'lost';
      set({
        state: told.state,
        lostAt: lost ? live.lostAt || Date.now() : 0,
        newVersion: live.newVersion || (told.state === 'open' && told.version !== firstVersion),
      });
      break;
    }
  }
}

/** Two handoffs of a session are two things that happened; a note that was written twice is one. */
const nameOf = ({ kind, id, type, data }: ServerEvent) => `${kind} ${id} ${type} ${data ? JSON.stringify(data) : ''}`;

function flush() {
  timer = undefined;
  const events = [...waiting.values()];
  const texts = said;
  waiting.clear();
  said = [];
  for (const text of texts) readers.forEach(reader => reader(text));
  for (const event of events) {
    for (const handler of handlers.get(event.kind) ?? []) void handler(event);
    listeners.forEach(listener => listener(event));
  }
}

let open: { close: () => void } | undefined;

/** Opens the stream, or the way to the one that the browser has. */
export function goLive(): void {
  open?.close();
  open = typeof SharedWorker === 'undefined' ? ownStream() : sharedStream();
}

declare const trustedTypes:
  | {
      createPolicy(
        name: string,
        rules: { createScriptURL(address: string): string },
      ): { createScriptURL(address: string): unknown };
    }
  | undefined;

// Trusted Types let a script's address through only by a policy; this one knows one.
const policy =
  typeof trustedTypes === 'undefined'
    ? undefined
    : trustedTypes.createPolicy('app', {
        createScriptURL(address) {
          if (address !== workerAddress) throw new TypeError('not a script of this app');
          return address;
        },
      });

function sharedStream() {
  const address = (policy?.createScriptURL(workerAddress) ?? workerAddress) as string;
  const { port } = new SharedWorker(address, { name: 'osfoundry', type: 'module' });
  port.addEventListener('message', ({ data }: MessageEvent<Told>) => hear(data));
  port.start();
  const listen = () => port.postMessage('listen');
  const leave = () => port.postMessage('leave');
  const back = (event: PageTransitionEvent) => {
    if (!event.persisted) return;
    listen();
    void cache.invalidateQueries(); // the page was put aside, and heard nothing
  };
  listen();
  addEventListener('pagehide', leave);
  addEventListener('pageshow', back);
  return {
    close() {
      leave();
      removeEventListener('pagehide', leave);
      removeEventListener('pageshow', back);
    },
  };
}

/** Where there is no SharedWorker: a stream of this tab, while it can be seen. */
function ownStream() {
  let stream: Stream | undefined;
  const follow = () => {
    if (document.hidden) {
      stream?.stop();
      stream = undefined;
    } else if (!stream || stream.ended) {
      if (stream === undefined && live.state === 'open') void cache.invalidateQueries();
      stream = new Stream(hear);
    }
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  return {
    close() {
      document.removeEventListener('visibilitychange', follow);
      stream?.stop();
    },
  };
}
