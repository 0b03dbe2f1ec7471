import { locale, say } from '../i18n/locale.ts';

/** What the owner API, or the way to it, refused. The message is for people. */
export class ApiError extends Error {
  override name = 'ApiError';
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly code: string;
  /** What is wrong with single fields, by name. */
  readonly fields: Readonly<Record<string, string>>;
  /** Everything else that the refusal says, such as current_version. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Milliseconds after which trying again makes sense. */
  readonly retryAfter: number;

  constructor(
    status: number,
    code: string,
    message: string,
    more: Partial<Pick<ApiError, 'fields' | 'details' | 'retryAfter'>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = more.fields ?? {};
    this.details = more.details ?? {};
    this.retryAfter = more.retryAfter ?? 0;
  }
  get offline() {
    return this.status === 0;
  }
  get notFound() {
    return this.status === 404;
  }
  get denied() {
    return this.status === 403;
  }
}

/** Makes an ApiError of anything that was thrown. */
export const asApiError = (thrown: unknown): ApiError =>
  thrown instanceof ApiError
    ? thrown
    : new ApiError(500, 'internal', say('app.error.internal'), { details: { cause: String(thrown) } });

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Options {
  body?: object;
  query?: Record<string, string | number | undefined>;
  signal?: AbortSignal;
  /** Of a POST: repeats with the same key have one effect. One is made if there is none. */
  idempotencyKey?: string;
}

const root = '/api/v1';
const tries = 3;

/** Is called when the server does not know who is asking any more. */
export const onSignedOut: { tell: () => void } = { tell: () => {} };

/**
 * Asks the owner API. A change whose answer was lost is sent again with the same
 * Idempotency-Key; everything else that fails is the caller's to repeat.
 */
export async function ask<T>(method: Method, path: string, options: Options = {}): Promise<T> {
  const key = method === 'POST' ? (options.idempotencyKey ?? newKey()) : undefined;
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce<T>(method, path, options, key);
    } catch (thrown) {
      const error = asApiError(thrown);
      const again = key !== undefined && (error.status === 503 || error.code === 'in_progress');
      if (!again || attempt === tries) throw thrown;
      await new Promise(resolve => setTimeout(resolve, Math.min(error.retryAfter || 500, 5_000)));
    }
  }
}

async function askOnce<T>(method: Method, path: string, { body, query, signal }: Options, key?: string): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(addressOf(path, query), {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      headers: {
        Accept: 'application/json',
        'Accept-Language': locale().tag,
        ...(body && { 'Content-Type': 'application/json' }),
        ...(key && { 'Idempotency-Key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (thrown) {
    if (signal?.aborted) throw thrown;
    throw new ApiError(0, 'offline', say('app.error.offline'));
  }
  if (answer.status === 204) return undefined as T;
  const value: unknown = await answer.json().catch(() => undefined);
  if (answer.ok && value !== undefined) return value as T;
  const refusal = refusalOf(answer, value);
  if (refusal.status === 401 && refusal.code !== 'invalid_arguments' && path !== '/sign-in') onSignedOut.tell();
  throw refusal;
}

/** An address of the API; parts of the path are encoded by the tag `at`. */
export function addressOf(path: string, query: Options['query'] = {}): string {
  const sent = Object.entries(query).filter(
    (pair): pair is [string, string | number] => pair[1] !== undefined && pair[1] !== '',
  );
  const search = new URLSearchParams(sent.map(([name, value]) => [name, String(value)])).toString();
  return root + path + (search && `?${search}`);
}

/** A path with its parts encoded: at`/notes/${id}`. */
export const at = (texts: TemplateStringsArray, ...parts: Array<string | number>): string =>
  String.raw({ raw: texts }, ...parts.map(part => encodeURIComponent(part)));

function refusalOf(answer: Response, value: unknown): ApiError {
  const seconds = Number(answer.headers.get('Retry-After'));
  const wait = Number.isFinite(seconds) ? seconds * 1000 : 0;
  const said = isObject(value) && isObject(value.error) ? value.error : undefined;
  if (typeof said?.code !== 'string' || typeof said.message !== 'string') {
    // Not the API's own words: a proxy, or an answer that broke off.
    return new ApiError(answer.status, 'internal', say('app.error.internal'), { retryAfter: wait });
  }
  const { code: _, message: __, fields, ...details } = said;
  const texts = isObject(fields)
    ? Object.entries(fields).filter((f): f is [string, string] => typeof f[1] === 'string')
    : [];
  return new ApiError(answer.status, said.code, said.message, {
    fields: Object.fromEntries(texts),
    details,
    retryAfter: wait,
  });
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Random enough for a key. crypto.randomUUID is missing on plain http. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');

export const get = <T>(path: string, query?: Options['query'], signal?: AbortSignal) =>
  ask<T>('GET', path, { ...(query && { query }), ...(signal && { signal }) });
export const post = <T>(path: string, body?: object) => ask<T>('POST', path, { ...(body && { body }) });
export const put = <T>(path: string, body: object) => ask<T>('PUT', path, { body });
export const patch = <T>(path: string, body: object) => ask<T>('PATCH', path, { body });
export const remove = <T = void>(path: string, query?: Options['query']) =>
  ask<T>('DELETE', path, { ...(query && { query }) });
