import type { HttpClient } from 'isomorphic-git';
import { ConnectorError, gone, transient, type HttpResponse } from 'memoryd/connector';
import { get, remember, type GithubContext } from './client.ts';

/** The largest pack that is read; six times as much is held in memory for a moment. */
export const maxPackBytes = 100 * 1024 * 1024;
const packTimeoutMs = 10 * 60_000;
const idleTimeoutMs = 60_000;

/** GitHub answers programs that do not call themselves git with pages for people. */
const userAgent = 'git/memoryd';

/** `null`: nothing was ever written; `'missing'`: GitHub answers 404. */
export type WikiHead = string | null | 'missing';

/** Where the wiki stands: the commit of `HEAD`, by one request. What is asked next of this wiki sees it so, too. */
export async function readWikiHead(ctx: GithubContext, url: string): Promise<WikiHead> {
  (await advertisements(ctx)).delete(url);
  const { getRemoteInfo2 } = await import('isomorphic-git');
  try {
    const http = createGitClient(ctx, url);
    // Its sibling `listServerRefs` goes on with the protocol 2 where there are no refs.
    const { refs = [] } = await getRemoteInfo2({ http, url, protocolVersion: 1 });
    const commit = refs.find(({ ref }) => ref === 'HEAD')?.oid ?? null;
    expectWhole((await advertisements(ctx)).get(url)!, refs.length > 0);
    return commit;
  } catch (error) {
    const known = ConnectorError.find(error);
    if (known?.kind === 'gone') return 'missing';
    throw known ?? unreadable(error);
  }
}

/** The first answer of each wiki in this run, so that a pack is asked for what was seen. */
const advertisements = (ctx: GithubContext) => remember<Uint8Array>(ctx, 'wiki-refs');

/** An answer that was cut off after a line looks like that of a wiki with fewer refs, or none. */
function expectWhole(bytes: Uint8Array, hasRefs: boolean): void {
  const text = Buffer.from(bytes).toString('latin1');
  const [, refs = ''] = text.split('# service=git-upload-pack\n0000');
  const isWhole = refs.endsWith('0000') && (hasRefs || refs === '0000' || refs.includes(' capabilities^{}\0'));
  if (!isWhole) throw transient('GitHub’s answer about the wiki was cut off.');
}

/** Names a failure without its message, because the library's messages quote the server. */
export function unreadable(error: unknown): ConnectorError {
  const { code, name } = error as { code?: unknown; name?: unknown };
  const word = [code, name].find((one) => typeof one === 'string' && /^\w{1,40}$/.test(one));
  return transient(`The wiki could not be read (${typeof word === 'string' ? word : 'unknown error'}).`);
}

/** Git over HTTPS through `ctx.http`, with the token in the form in which GitHub takes it from every kind of login. */
export function createGitClient(ctx: GithubContext, url: string): HttpClient {
  return {
    async request({ url: address, method = 'GET', headers = {}, body }) {
      const known = await advertisements(ctx);
      const kept = method === 'GET' ? known.get(url) : undefined;
      if (kept) return { ...toGit(address, method, 200, kept), headers: { 'content-type': advertisementType } };
      const parts: Uint8Array[] = [];
      for await (const part of body ?? []) parts.push(part);
      const sent = parts.length > 0 ? Buffer.concat(parts) : undefined;
      const answer = await send(ctx, { method, url: address, headers, body: sent });
      if (method === 'GET') known.set(url, answer.bytes);
      return { ...toGit(address, method, answer.status, answer.bytes), headers: answer.headers };
    },
  };
}

const advertisementType = 'application/x-git-upload-pack-advertisement';

const toGit = (url: string, method: string, statusCode: number, bytes: Uint8Array) => ({
  url,
  method,
  statusCode,
  statusMessage: '',
  body: (async function* body() {
    yield bytes;
  })(),
});

interface GitRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
}

/** Throws `gone` for a 404. A refused token is renewed once. */
async function send(ctx: GithubContext, request: GitRequest): Promise<HttpResponse> {
  const token = await ctx.token();
  let answer = await sendWith(ctx, request, token);
  if (answer.status === 401) {
    const renewed = await renewedToken(ctx, token);
    if (renewed !== undefined) answer = await sendWith(ctx, request, renewed);
  }
  if (answer.status === 401) throw await refused(ctx);
  if (answer.status === 404) throw gone('There is no wiki.');
  return answer;
}

async function renewedToken(ctx: GithubContext, token: string): Promise<string | undefined> {
  const another = await ctx.token(token).catch((error: unknown) => {
    if (ConnectorError.is(error) && error.kind === 'auth_expired') return undefined;
    throw error;
  });
  return another === token ? undefined : another;
}

/** A token that the API takes is not expired: it only does not open wikis. */
async function refused(ctx: GithubContext): Promise<ConnectorError> {
  await get(ctx, '/rate_limit', {});
  return noRight();
}

const noRight = (cause?: unknown) =>
  new ConnectorError('forbidden', 'GitHub does not let the token read the wiki.', {
    remedy: 'Give the token read access to Contents; a classic token needs the scope `repo`.',
    cause,
  });

async function sendWith(ctx: GithubContext, { method, url, headers, body }: GitRequest, token: string) {
  const authorization = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;
  try {
    return await ctx.http.request(method, url, {
      headers: { ...headers, 'user-agent': userAgent, authorization },
      ...(body === undefined ? {} : { body }),
      // Its own form of the authorization is in the headers.
      anonymous: true,
      // A pack changes nothing at GitHub.
      idempotent: true,
      accept: [200, 401, 404],
      maxBytes: maxPackBytes,
      timeoutMs: packTimeoutMs,
      idleTimeoutMs,
    });
  } catch (error) {
    throw ConnectorError.is(error) && error.kind === 'forbidden' && !error.remedy ? noRight(error) : error;
  }
}
