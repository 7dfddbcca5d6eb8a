import { signal } from '@preact/signals';
import { errorText } from './error-text.ts';
import type { Operations } from './operations.ts';
import { texts } from './texts.ts';
import type { Answer, Operation } from './types.ts';

/** What the API refused, or that nobody answered (status 0). */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
  }
}

/** Goes with every request that changes something; the session hands it out. */
export const csrfToken = signal('');
/** Whether the last request reached the daemon. */
export const isReachable = signal(true);
/** Counts how often the daemon came back, so that what is shown is read again. */
export const returns = signal(0);
/** Called when the API no longer knows the session. */
export const onSignedOut: { call: () => void } = { call() {} };

interface CallOptions {
  signal?: AbortSignal | undefined;
  /** A refused session is an answer here, and no reason to sign out. */
  isSignIn?: boolean;
  /** A status that is no failure here, because its body is an answer, too. */
  accepts?: number;
}
/** What an operation takes, and how it is called. */
type Given<Name extends Operation> = Omit<Operations[Name], 'answer'> & CallOptions;
/** Of any operation, as it is sent. */
interface Sent extends CallOptions {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
}

/** The address of the page without its own part: the daemon may answer below a path of a proxy. */
export const baseAddress = new URL('.', location.href).href.replace(/\/$/, '');

/** One operation of the HTTP API; answers its body. Throws ApiError, or what the signal threw. */
export async function call<Name extends Operation>(
  name: Name,
  ...[given]: object extends Given<Name> ? [Given<Name>?] : [Given<Name>]
): Promise<Answer<Name>> {
  const sent: Sent = given ?? {};
  const token = csrfToken.value;
  const response = await send(name, sent);
  const text = await response.text();
  if (response.ok || response.status === sent.accepts)
    return (text === '' ? undefined : JSON.parse(text)) as Answer<Name>;
  if (response.status === 401 && !sent.isSignIn) throw signedOut(token);
  throw new ApiError(response.status, errorText(text) ?? texts.errors.status(response.status));
}

/** Of a request with that token. What is refused late says nothing of a session that has begun since. */
function signedOut(token: string): ApiError {
  if (token === csrfToken.value) onSignedOut.call();
  return new ApiError(401, texts.errors.signedOut);
}

/** Where an operation is, of what is given its parts of the path and its query. */
export function addressOf(name: Operation, { path = {}, query = {} }: Sent): string {
  const filled = name.replace(/^\w+ /, '').replace(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(path[part]!));
  const asked = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)])).toString();
  return `${baseAddress}${filled}${asked && `?${asked}`}`;
}

async function send(name: Operation, sent: Sent): Promise<Response> {
  const { body, signal: abort } = sent;
  const method = name.split(' ', 1)[0]!;
  const headers = new Headers({ accept: 'application/json' });
  if (method !== 'GET') headers.set('x-csrf-token', csrfToken.value);
  if (body !== undefined) headers.set('content-type', 'application/json');
  try {
    const init: RequestInit = { method, headers, ...(abort && { signal: abort }) };
    const response = await fetch(
      addressOf(name, sent),
      body === undefined ? init : { ...init, body: JSON.stringify(body) },
    );
    found();
    return response;
  } catch (error) {
    if (abort?.aborted) throw error;
    lost();
    throw new ApiError(0, texts.errors.unreachable);
  }
}

const askAgainMs = 2_000;

function found(): void {
  if (isReachable.value) return;
  isReachable.value = true;
  returns.value += 1;
}

/** Asks until the daemon is back, unless another request finds it. */
function lost(): void {
  if (!isReachable.value) return;
  isReachable.value = false;
  const ask = async () => {
    if (isReachable.value) return;
    try {
      await fetch(`${baseAddress}/health`);
      found();
    } catch {
      setTimeout(() => void ask(), askAgainMs);
    }
  };
  setTimeout(() => void ask(), askAgainMs);
}

/** How often a file is sent again; every time that the daemon was away is one. */
const mostRepetitions = 5;

/**
 * Sends a file with its progress between 0 and 1, which `fetch` cannot tell. Where the daemon goes away meanwhile, the
 * file is sent again when it is back, and taken once.
 */
export async function upload(form: FormData, onProgress: (share: number) => void): Promise<{ id: string }> {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join('-');
  for (let repetitions = 0; ; repetitions++) {
    try {
      return await sendForm(form, key, onProgress);
    } catch (error) {
      if (!(error instanceof ApiError) || repetitions >= mostRepetitions) throw error;
      // One that stops answers 503; the request before may be worked on still, as far as the daemon knows.
      const isHeld = error.status === 409 && repetitions > 0;
      const isAway = error.status === 0 || error.status === 503;
      if (!isAway && !isHeld) throw error;
      if (isAway) lost();
      await back();
    }
  }
}

function back(): Promise<void> {
  return new Promise((resolve) => {
    const look = () => (isReachable.value ? resolve() : void setTimeout(look, askAgainMs));
    setTimeout(look, askAgainMs);
  });
}

function sendForm(form: FormData, key: string, onProgress: (share: number) => void): Promise<{ id: string }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const token = csrfToken.value;
    request.open('POST', `${baseAddress}/v3/documents/file`);
    request.setRequestHeader('x-csrf-token', token);
    request.setRequestHeader('idempotency-key', key);
    request.upload.addEventListener('progress', (event) => onProgress(event.loaded / Math.max(event.total, 1)));
    request.addEventListener('error', () => reject(new ApiError(0, texts.errors.unreachable)));
    request.addEventListener('load', () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText) as { id: string });
      else if (request.status === 401) reject(signedOut(token));
      else reject(new ApiError(request.status, errorText(request.responseText) ?? texts.errors.status(request.status)));
    });
    request.send(form);
  });
}
