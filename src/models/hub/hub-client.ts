import { Agent, fetch, type Response } from 'undici';
import { MemorydError } from '../../base/errors.ts';

/** A hub's description of a file, read before the file is fetched. */
export interface StatedFile {
  /** Null when the hub does not say. */
  bytes: number | null;
  /** SHA-256, or the SHA-1 that git names the content by; hexadecimal digits. Null when the hub says neither. */
  hash: { kind: 'sha256' | 'git'; digits: string } | null;
  /** The commit that the revision stands for at present. */
  commit: string | null;
}

/** Files of a hub with the paths of the Hugging Face hub (https://huggingface.co/docs/hub). */
export interface HubClient {
  /** Null when there is no such file. Throws `hub_failed`. */
  describe(file: RemoteFile, signal: AbortSignal): Promise<StatedFile | null>;
  /**
   * The bytes of a file from `offset` on; `from` is 0 when the hub starts at the beginning all the same.
   * Throws `hub_failed`, also while it is read.
   */
  read(
    file: RemoteFile,
    offset: number,
    signal: AbortSignal,
  ): Promise<{ from: number; content: AsyncIterable<Buffer> }>;
  close(): Promise<void>;
}

export interface RemoteFile {
  /** `owner/name`. */
  repository: string;
  revision: string;
  path: string;
}

const connectTimeoutMs = 10_000;
/** Without a byte for so long, the hub counts as gone. */
const silenceMs = 60_000;
const maxRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);
const absent = new Set([404, 410]);

/** @param hub its address, with or without a path */
export function createHubClient(hub: string): HubClient {
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
  });

  /** Follows redirects until one of the answers is `enough`. Null: there is no such file. */
  async function ask(file: RemoteFile, init: { method: string; offset: number; signal: AbortSignal }) {
    const headers = { 'accept-encoding': 'identity', ...(init.offset > 0 && { range: `bytes=${init.offset}-` }) };
    let url = addressOf(hub, file);
    for (let hops = 0; hops <= maxRedirects; hops++) {
      const response = await send(url, { method: init.method, headers, signal: init.signal });
      const stated = statedBy(response);
      const location = redirects.has(response.status) ? response.headers.get('location') : null;
      if (location === null || (init.method === 'HEAD' && stated.hash !== null)) return { response, stated };
      await response.body?.cancel();
      url = new URL(location, url);
    }
    throw failed(`${new URL(hub).host} redirects more than ${maxRedirects} times.`);
  }

  async function send(url: URL, init: { method: string; headers: Record<string, string>; signal: AbortSignal }) {
    try {
      return await fetch(url, { ...init, dispatcher: agent, redirect: 'manual' });
    } catch (cause) {
      init.signal.throwIfAborted();
      throw failed(`${url.host} does not answer: ${reasonOf(cause)}.`, cause);
    }
  }

  return {
    async describe(file, signal) {
      const { response, stated } = await ask(file, { method: 'HEAD', offset: 0, signal });
      await response.body?.cancel();
      if (absent.has(response.status)) return null;
      if (response.ok || stated.hash !== null) return stated;
      throw refusal(response, file);
    },
    async read(file, offset, signal) {
      const { response } = await ask(file, { method: 'GET', offset, signal });
      // 416: nothing is left after the offset, so what is there is too much.
      if (response.status === 416 && offset > 0)
        return { from: 0, content: (await this.read(file, 0, signal)).content };
      if (!response.ok || response.body === null) {
        await response.body?.cancel();
        throw refusal(response, file);
      }
      return { from: response.status === 206 ? offset : 0, content: bytesOf(response, file, signal) };
    },
    close: () => agent.destroy(),
  };
}

function addressOf(hub: string, { repository, revision, path }: RemoteFile): URL {
  const parts = [repository, 'resolve', revision, path].flatMap((part) => part.split('/')).map(encodeURIComponent);
  return new URL(`${hub.replace(/\/+$/, '')}/${parts.join('/')}`);
}

/** Large files are kept apart: the hub states their hash and size and redirects to where they lie. */
function statedBy({ headers }: Response): StatedFile {
  const tag = (headers.get('x-linked-etag') ?? headers.get('etag') ?? '').replace(/^W\//, '').replaceAll('"', '');
  const size = headers.get('x-linked-size') ?? headers.get('content-length');
  const kind = /^[0-9a-f]{64}$/i.test(tag) ? 'sha256' : /^[0-9a-f]{40}$/i.test(tag) ? 'git' : null;
  return {
    bytes: size !== null && /^\d+$/.test(size) ? Number(size) : null,
    hash: kind && { kind, digits: tag.toLowerCase() },
    commit: headers.get('x-repo-commit'),
  };
}

async function* bytesOf(response: Response, { path }: RemoteFile, signal: AbortSignal): AsyncIterable<Buffer> {
  try {
    for await (const part of response.body!) yield Buffer.from(part as Uint8Array);
  } catch (cause) {
    signal.throwIfAborted();
    throw failed(`${path} did not arrive as a whole: ${reasonOf(cause)}.`, cause);
  }
}

function refusal({ status, url }: Response, { repository, revision, path }: RemoteFile): MemorydError {
  const what = `${path} of ${repository} (${revision})`;
  if (absent.has(status)) return failed(`${new URL(url).host} has no ${what}.`);
  const why = status === 401 || status === 403 ? 'there is no such model, or only for those who sign in' : 'it failed';
  return failed(`${new URL(url).host} answers ${status} for ${what}: ${why}.`);
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : 'unknown failure';
}

function failed(message: string, cause?: unknown): MemorydError {
  return new MemorydError('hub_failed', message, cause === undefined ? {} : { cause });
}
