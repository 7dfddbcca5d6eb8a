import type { Clock } from '../base/clock.ts';
import { CommandFailure, exitCodes, type ExitCode } from './exit.ts';

export interface Endpoint {
  /** Without a slash at the end. */
  url: string;
  key: string;
  /** Where the key comes from, for messages. */
  keySource: string;
  /** Advice for when nothing answers. */
  unreachable: string;
  signal: AbortSignal;
  timeoutMs: number;
  /** The certificate that the daemon must present, as PEM. Absent: any for its name that Node trusts. */
  certificate?: string | undefined;
  /** Another service than the daemon. */
  service?: OtherService;
}

interface OtherService {
  /** Begins a sentence, e.g. `The service`. */
  name: string;
  /** In place of a bearer token. */
  headers?: Record<string, string>;
  /** Advice for when the key is refused. */
  keyRemedy: string;
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: object;
  form?: FormData;
  /** Without those that are undefined. */
  query?: Record<string, string | undefined>;
}

/**
 * One request to the daemon; answers the parsed JSON, or null when there is none.
 * Throws `CommandFailure`: `noDaemon` when nothing answers, `refused` for a bad key, else `failure`
 * with the daemon's own words.
 */
export async function call<Answer>(
  endpoint: Endpoint,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const given = Object.entries(options.query ?? {}).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const query = given.length > 0 ? `?${new URLSearchParams(given).toString()}` : '';
  const response = await send(endpoint, `${endpoint.url}${path}${query}`, {
    method,
    headers: {
      ...(endpoint.service?.headers ?? { authorization: `Bearer ${endpoint.key}` }),
      accept: 'application/json',
      ...(options.body ? { 'content-type': 'application/json' } : {}),
    },
    body: options.body ? JSON.stringify(options.body) : (options.form ?? null),
  });
  const { status, text } = response;
  if (status < 200 || status > 299) throw refusal(endpoint, `${method} ${path}`, status, text);
  return (text === '' ? null : parse(endpoint, text)) as Answer;
}

/**
 * The body of an answer that goes on, or null when there is nothing to say (204). Throws as `call`
 * does; the time limit is that of the beginning.
 */
export async function openStream(
  endpoint: Endpoint,
  path: string,
  headers: Record<string, string>,
): Promise<ReadableStream<Uint8Array> | null> {
  const begun = new AbortController();
  const timer = setTimeout(() => begun.abort(), endpoint.timeoutMs);
  try {
    const response = await fetch(`${endpoint.url}${path}`, {
      ...(await pinned(endpoint)),
      headers: { authorization: `Bearer ${endpoint.key}`, ...headers },
      signal: AbortSignal.any([endpoint.signal, begun.signal]),
    });
    if (response.ok) return response.status === 204 ? null : response.body;
    throw refusal(endpoint, `GET ${path}`, response.status, await response.text());
  } catch (error) {
    throw error instanceof CommandFailure ? error : noAnswer(endpoint, error, begun.signal.aborted);
  } finally {
    clearTimeout(timer);
  }
}

const nameOf = ({ service }: Endpoint) => service?.name ?? 'The daemon';

async function send(endpoint: Endpoint, url: string, init: RequestInit): Promise<{ status: number; text: string }> {
  const timeout = AbortSignal.timeout(endpoint.timeoutMs);
  try {
    const response = await fetch(url, {
      ...init,
      ...(await pinned(endpoint)),
      signal: AbortSignal.any([endpoint.signal, timeout]),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw noAnswer(endpoint, error, timeout.aborted);
  }
}

/** The daemon of this machine is known by its certificate, whatever name that was made for. */
async function pinned({ certificate }: Endpoint): Promise<Pick<RequestInit, 'dispatcher'>> {
  if (certificate === undefined) return {};
  const { Agent } = await import('undici');
  const connect = { ca: certificate, checkServerIdentity: () => undefined };
  return { dispatcher: new Agent({ connect }) as unknown as NonNullable<RequestInit['dispatcher']> };
}

function noAnswer(endpoint: Endpoint, error: unknown, isLate: boolean): CommandFailure {
  if (endpoint.signal.aborted) return new CommandFailure(exitCodes.interrupted, 'Interrupted.', { cause: error });
  const why = isLate ? `within ${endpoint.timeoutMs / 1000} s` : `(${reason(error)})`;
  return new CommandFailure(exitCodes.noDaemon, `${nameOf(endpoint)} at ${endpoint.url} does not answer ${why}.`, {
    remedy: endpoint.unreachable,
    cause: error,
  });
}

/** `fetch` hides the reason in the cause. */
function reason(error: unknown): string {
  const { code, message } = ((error as { cause?: unknown }).cause ?? error) as { code?: unknown; message?: unknown };
  return String(code ?? message);
}

function parse(endpoint: Endpoint, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const expected = endpoint.service ? 'such a service' : 'memoryd';
    throw new CommandFailure(exitCodes.failure, `The service at ${endpoint.url} is not ${expected}.`, {
      remedy: endpoint.service ? endpoint.unreachable : 'Check the address (--url or MEMORYD_URL).',
      cause: error,
    });
  }
}

interface ErrorBody {
  error?: string | { message: string; path?: (string | number)[] }[];
  details?: string;
}

function refusal(endpoint: Endpoint, request: string, status: number, text: string): CommandFailure {
  const body = errorBody(text);
  if (status === 401) {
    return new CommandFailure(
      exitCodes.refused,
      `${nameOf(endpoint)} at ${endpoint.url} refused the key ${endpoint.keySource}.`,
      {
        remedy: endpoint.service?.keyRemedy ?? 'Give a valid key with --key or MEMORYD_API_KEY.',
      },
    );
  }
  const exitCode: ExitCode = status === 403 ? exitCodes.refused : exitCodes.failure;
  const words = describe(body) ?? `${nameOf(endpoint)} refused the request`;
  // What is the caller's doing is said well enough by the daemon.
  const message = status === 404 || status >= 500 || !body.error ? `${words} (${status} to ${request})` : words;
  return new CommandFailure(exitCode, message, { status, remedy: body.details || undefined });
}

function errorBody(text: string): ErrorBody {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}

/** Both error bodies of the API in one line. */
function describe({ error }: ErrorBody): string | undefined {
  if (!Array.isArray(error)) return error;
  return error.map(issueText).join('; ');
}

/** Many messages name their field already. */
function issueText({ path = [], message }: { message: string; path?: (string | number)[] }): string {
  const named = path.length === 0 || message.startsWith(`${path.join('.')} `);
  return named ? message : `${path.join('.')}: ${message}`;
}

/** Attempts at a busy or restarting service before a command gives up. */
const attempts = 5;
const firstPauseMs = 1_000;

/** Repeats a request that may be made twice and that a busy or restarting service did not take. */
export async function withPatience<Answer>(
  { clock, signal }: { clock: Clock; signal: AbortSignal },
  request: () => Promise<Answer>,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      if (attempt === attempts || !isPassing(error)) throw error;
      await clock.sleep(firstPauseMs * 2 ** (attempt - 1), signal);
    }
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof CommandFailure)) return false;
  return error.exitCode === exitCodes.noDaemon || error.status === 429 || error.status === 503;
}
