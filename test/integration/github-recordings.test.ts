import { createRequire } from 'node:module';
import { afterEach, describe, expect, it } from 'vitest';
import { openArchive } from '../../connectors/github/archive.ts';
import { hashOf } from '../../connectors/github/blob-hash.ts';
import type { GithubContext } from '../../connectors/github/client.ts';
import github from '../../connectors/github/index.ts';
import { listIssues } from '../../connectors/github/issues.ts';
import { listReleases } from '../../connectors/github/releases.ts';
import { findByName } from '../../connectors/github/repositories.ts';
import { faultOf } from '../../fixtures/servers/github/description.ts';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { createContext } from '../../src/source/context.ts';
import type { JsonObject, Ref } from '../../src/connector/contract.ts';
import { createOutbound } from '../../src/source/http/outbound.ts';
import {
  serveSource,
  type Answer,
  type SourceRequest,
  type SourceServer,
} from '../../src/connector-kit/serve-source.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';
import { authorizedBy } from '../support/token-authorization.ts';

/** One exchange with api.github.com, as `@octokit/fixtures` recorded it. */
interface Recorded {
  scope: string;
  method: string;
  path: string;
  status: number;
  headers: Record<string, string>;
  /** JSON, or bytes in hexadecimal. */
  response: any;
  responseIsBinary: boolean;
}

const token = '0000000000000000000000000000000000000001';
const owner = 'octokit-fixture-org';
const repositoryId = 1000;

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

/** Has been added to the description after the recordings. */
const addedLater = { has_discussions: false };

const require = createRequire(import.meta.url);
const scenarios = require
  .resolve('@octokit/fixtures/package.json')
  .replace(/package\.json$/, 'scenarios/api.github.com/');
const recordingOf = (scenario: string): Recorded[] => require(`${scenarios}${scenario}/normalized-fixture.json`);

/**
 * Two servers, one for each host of the recording, and the connector's own code in front of them. GitHub has every
 * repository under its number as well.
 */
async function replay(scenario: string) {
  const clock = createTestClock();
  const recorded = recordingOf(scenario);
  const hosts = ['https://api.github.com', 'https://codeload.github.com'];
  const urls: string[] = [];
  const here = (text: string) => hosts.reduce((all, host, index) => all.replaceAll(host, urls[index] ?? host), text);
  const serve = (host: string) => (request: SourceRequest) => {
    const named = request.path.replace(`/repositories/${repositoryId}`, `/repos/${owner}/${scenario}`);
    const ofHost = recorded.filter((one) => one.scope === `${host}:443`);
    const found =
      ofHost.find((one) => isOf(one, request)) ?? ofHost.find((one) => isOf(one, { ...request, path: named }));
    return found ? answerOf(found, here) : { status: 404, json: { message: 'Not Found' } };
  };
  const servers: SourceServer[] = [];
  for (const host of hosts) {
    const server = await serveSource({ clock, answer: serve(host) });
    servers.push(server);
    urls.push(server.url);
  }
  const opened = await openTestDatabase('pglite');
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const { database } = opened;
  const outbound = createOutbound({ database, clock, log: silentLogger, guard, metrics: createMetrics() });
  const { context, dispose } = createContext({
    connector: github,
    config: { baseUrl: urls[0]! },
    authorization: authorizedBy(token),
    outbound,
    connectionId: null,
    selection: [],
    clock,
    log: silentLogger,
    signal: new AbortController().signal,
  });
  close = async () => {
    await dispose();
    await outbound.close();
    await opened.close();
    for (const server of servers) await server.close();
  };
  const seen = (index: number) => servers[index]!.traffic.recent();
  return { ctx: context as GithubContext, apiUrl: urls[0]!, atApi: () => seen(0), atArchives: () => seen(1) };
}

/**
 * Pages are told by their size and number only: all that was recorded has one time, so that order and `since` change
 * nothing.
 */
function isOf({ path, method }: Recorded, request: SourceRequest): boolean {
  const { pathname, searchParams } = new URL(path, 'https://api.github.com');
  const page = (query: Record<string, string>) => [query['per_page'], query['page'] ?? '1'].join();
  const isPage = !searchParams.has('per_page') || page(Object.fromEntries(searchParams)) === page(request.query);
  return pathname === request.path && method === request.method.toLowerCase() && isPage;
}

function answerOf({ status, headers, response, responseIsBinary }: Recorded, here: (text: string) => string): Answer {
  const kept = ['content-type', 'etag', 'last-modified', 'link', 'location'];
  const shown = Object.entries(headers).flatMap(([name, value]) => (kept.includes(name) ? [[name, here(value)]] : []));
  const isBytes = responseIsBinary || headers['content-type'] === 'application/x-gzip';
  const body = isBytes ? Buffer.from(response, 'hex') : typeof response === 'string' ? response : undefined;
  return {
    status,
    headers: Object.fromEntries(shown),
    ...(body === undefined ? { json: JSON.parse(here(JSON.stringify(response))) } : { body }),
  };
}

describe('recorded answers of GitHub', () => {
  it('fits the description of its API', () => {
    const all = ['get-repository', 'rename-repository', 'paginate-issues'].flatMap(recordingOf);
    const read = all.filter(({ method }) => method === 'get');
    const faults = read.map(({ path, status, response }) => {
      const { pathname, searchParams } = new URL(path, 'https://api.github.com');
      const json = Array.isArray(response) ? response : { ...addedLater, ...response };
      return faultOf({ method: 'GET', path: pathname, query: Object.fromEntries(searchParams), status, json });
    });
    expect([faults.length, faults.filter(Boolean)]).toEqual([8, []]);
  });

  it('is found wrong when it is changed', () => {
    const [{ path, response }] = recordingOf('get-repository') as [Recorded];
    const fault = (change: object, query = {}) =>
      faultOf({ method: 'GET', path, query, status: 200, json: { ...addedLater, ...response, ...change } });
    expect(fault({})).toBeNull();
    expect(fault({ default_branch: undefined })).toContain('default_branch');
    expect(fault({ html_url: 'no address' })).toContain('/html_url');
    expect(fault({ archived: 'yes' })).toContain('/archived');
    expect(fault({}, { branch: 'main' })).toContain('branch');
  });

  it('is a repository, whose number is taken', async () => {
    const { ctx } = await replay('get-repository');
    expect(await findByName(ctx, `${owner}/hello-world`)).toMatchObject({ id: repositoryId, default_branch: 'master' });
  });

  it('is a redirect after a rename, which is followed to the same host with the token', async () => {
    const { ctx, atApi } = await replay('rename-repository');
    const found = await findByName(ctx, `${owner}/rename-repository`);
    expect(found.full_name).toBe(`${owner}/rename-repository-newname`);
    expect(atApi().map(({ path, headers }) => [path, headers['authorization']])).toEqual([
      [`/repos/${owner}/rename-repository`, `Bearer ${token}`],
      [`/repositories/${repositoryId}`, `Bearer ${token}`],
    ]);
  });

  it('is a redirect to an archive on another host, which does not get the token', async () => {
    const { ctx, atApi, atArchives } = await replay('get-archive');
    const archive = await openArchive(ctx, { id: `${repositoryId}:files`, title: 'Files' }, 'main');
    expect(Buffer.from((await archive!.read('README.md'))!).toString()).toContain('get-archive');
    expect(atApi().map(({ headers }) => headers['authorization'])).toEqual([`Bearer ${token}`]);
    expect(atArchives().map(({ headers }) => headers['authorization'])).toEqual([undefined]);
  });

  it('are issues on five pages, all of one second: each is listed once, and the last page is the one without a next', async () => {
    const { ctx, atApi } = await replay('paginate-issues');
    const partition = { id: `${repositoryId}:issues`, title: 'Issues' };
    const refs: Ref[] = [];
    let from: JsonObject | undefined;
    for (let isDone = false; !isDone;) {
      const page = await listIssues(ctx, partition, from, 3);
      refs.push(...page.refs);
      from = page.next;
      isDone = page.done === true;
    }
    const numbers = refs.map(({ id }) => Number(id.split(':').at(-1)));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 13 }, (_, index) => index + 1));
    const shown = recordingOf('paginate-issues').map(({ response, headers }) => [
      response.length < 3,
      !headers['link']!.includes('rel="next"'),
    ]);
    expect(shown).toEqual([1, 2, 3, 4, 5].map((page) => [page === 5, page === 5]));
    expect(atApi().at(-1)!.query['page']).toBe('5');
  });

  it('is a release, which becomes a document', async () => {
    const { ctx } = await replay('release-assets');
    const [{ response: release }] = recordingOf('release-assets') as [Recorded];
    const listing = { ...ctx, http: { ...ctx.http, get: async () => ({ status: 200, headers: {}, json: [release] }) } };
    const { refs } = await listReleases(listing as never, { id: `${repositoryId}:releases`, title: 'Releases' });
    expect(refs).toMatchObject([
      {
        id: `${repositoryId}:release:1000`,
        document: { metadata: { tag: 'v1.0.0', repository: `${owner}/release-assets` } },
      },
    ]);
  });

  it('is a file, whose hash is computed as GitHub does', () => {
    const [{ response: folder }, { response: text }] = recordingOf('get-content') as [Recorded, Recorded];
    expect(hashOf(Buffer.from(text))).toBe(folder[0].sha);
  });

  it('is a refusal with 422, which says so and is not tried again', async () => {
    const { ctx, apiUrl, atApi } = await replay('errors');
    const sent = ctx.http.post(`${apiUrl}/repos/${owner}/errors/labels`, { json: { name: 'x', color: 'foo' } });
    await expect(sent).rejects.toThrow(/answered 422/);
    expect(atApi()).toHaveLength(1);
  });
});
