// The one event stream of a browser (HTML, "Server-sent events"). It is read with
// fetch and not EventSource, which hides the status of a refusal and forgets the
// last event when it gives up. This file runs in the SharedWorker, or in the page
// where there is none; it must not touch the document.

/** An event of the API: what happened to which thing. It holds no text of it. */
export interface ServerEvent {
  type: string;
  kind: string;
  id: string;
  workspace_id: string;
  project_id?: string;
  version?: number;
  user_id?: string;
  connection_id?: string;
  data?: Record<string, unknown>;
  at: string;
}

/** A piece of what an agent says in a round that runs. */
export interface RoundText {
  task_id: string;
  session_id: string;
  number: number;
  /** Unicode code points of the round before this piece; at 0 the round begins anew. */
  offset: number;
  text: string;
}

/** What a stream tells its listeners. */
export type Told =
  | { what: 'event'; event: ServerEvent }
  | { what: 'text'; text: RoundText }
  /** Everything that was fetched may be old: events were missed. */
  | { what: 'resync' }
  | { what: 'state'; state: State; version: string };

export type State = 'connecting' | 'open' | 'lost' | 'signed-out';

const silence = 40_000; // the server says something each 15 s
const longestWait = 15_000;

/** Reads the stream until stop is called, again and again. */
export class Stream {
  #tell: (told: Told) => void;
  #lastID = '';
  #version = '';
  #stopped = new AbortController();
  #state: State = 'connecting';

  constructor(tell: (told: Told) => void) {
    this.#tell = tell;
    void this.#run();
  }

  /** What a listener that comes later has to know. */
  get now(): Told {
    return { what: 'state', state: this.#state, version: this.#version };
  }

  get ended() {
    return this.#stopped.signal.aborted || this.#state === 'signed-out';
  }

  stop() {
    this.#stopped.abort();
  }

  async #run() {
    for (let failures = 0; !this.#stopped.signal.aborted; failures++) {
      const opened = await this.#read().catch(() => false);
      if (this.ended) return;
      if (opened) failures = 0;
      this.#is('lost');
      const wait = Math.min(longestWait, 500 * 2 ** failures);
      await new Promise(resolve => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
    }
  }

  #is(state: State) {
    if (this.#state === state) return;
    this.#state = state;
    this.#tell(this.now);
  }

  /** Reads one answer to its end; reports whether it was one. */
  async #read(): Promise<boolean> {
    const broken = new AbortController();
    const stop = () => broken.abort();
    this.#stopped.signal.addEventListener('abort', stop, { once: true });
    let watchdog = setTimeout(stop, silence);
    try {
      const answer = await fetch('/api/v1/events', {
        signal: broken.signal,
        cache: 'no-store',
        credentials: 'same-origin',
        headers: { Accept: 'text/event-stream', ...(this.#lastID && { 'Last-Event-ID': this.#lastID }) },
      });
      if (answer.status === 401) this.#is('signed-out');
      if (!answer.ok || !answer.body) return false;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ''; ;) {
        const { done, value } = await reader.read();
        if (done) return true;
        clearTimeout(watchdog);
        watchdog = setTimeout(stop, silence);
        const messages = (rest + value).split('\n\n');
        rest = messages.pop()!;
        for (const message of messages) this.#hear(message);
      }
    } finally {
      clearTimeout(watchdog);
      this.#stopped.signal.removeEventListener('abort', stop);
    }
  }

  #hear(message: string) {
    const fields = new Map(
      message.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    );
    const data = fields.get('data');
    if (data === undefined) return; // a heartbeat
    const id = fields.get('id');
    if (id) this.#lastID = id;
    const value = JSON.parse(data) as unknown;
    switch (fields.get('event')) {
      case 'ready':
        this.#version = (value as { version: string }).version;
        this.#state = 'open';
        this.#tell(this.now);
        break;
      case 'resync':
        this.#tell({ what: 'resync' });
        break;
      case 'event':
        this.#tell({ what: 'event', event: value as ServerEvent });
        break;
      case 'round.text':
        this.#tell({ what: 'text', text: value as RoundText });
        break;
    }
  }
}
