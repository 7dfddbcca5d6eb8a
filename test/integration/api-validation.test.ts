import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

let test: TestApi;
beforeAll(async () => {
  test = await startTestApi({ connectors: { synthetic: createSyntheticSource().connector() } });
});
afterAll(() => test.close());

type Path = (string | number)[];
/** What is wrong, and where the issue must point; null is an ErrorResponse. */
type Case = [body: unknown, path: Path | null];

const badTags = ['', 'a b', 'a.b', 'ä', 'x'.repeat(101), 5, null];
const tagCases: Case[] = badTags.map((containerTag) => [{ containerTag }, ['containerTag']]);
const tagsCases: Case[] = [
  [{ containerTags: 'a' }, ['containerTags']],
  [{ containerTags: ['a', 'b c'] }, ['containerTags', 1]],
];

function nested(levels: number): unknown {
  return levels === 0 ? 1 : { a: nested(levels - 1) };
}

const metadataCases: Case[] = [
  [{ metadata: 'x' }, ['metadata']],
  [{ metadata: ['x'] }, ['metadata']],
  [{ metadata: { 'a b': 1 } }, ['metadata', 'a b']],
  [{ metadata: { sm_internal_x: 1 } }, ['metadata', 'sm_internal_x']],
  [{ metadata: { ['k'.repeat(65)]: 1 } }, ['metadata', 'k'.repeat(65)]],
  [{ metadata: { a: nested(9) } }, null],
  [{ metadata: { a: Array.from({ length: 1001 }, () => 1) } }, null],
  [{ metadata: { a: 'x'.repeat(33 * 1024) } }, null],
  [{ metadata: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, 1])) }, ['metadata']],
  [{ metadata: Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`k${index}`, 'x'.repeat(4000)])) }, null],
];

const ingestCases: Case[] = [
  ...tagCases,
  ...metadataCases,
  [{ containerTags: ['a', 'b'] }, null],
  [{ containerTags: 'a' }, ['containerTags']],
  [{ entityContext: 'x'.repeat(1501) }, ['entityContext']],
  [{ taskType: 'rag' }, ['taskType']],
  [{ dreaming: 'later' }, ['dreaming']],
  [{ filepath: '' }, ['filepath']],
  [{ filepath: 'x'.repeat(1025) }, ['filepath']],
  [{ filterByMetadata: { a: null } }, ['filterByMetadata', 'a']],
  [{ documentDate: 'yesterday' }, ['documentDate']],
  [{ documentDate: '2026-13-01' }, ['documentDate']],
  [{ documentDate: '2026-02-30' }, ['documentDate']],
  [{ documentDate: '2026-02-01T25:00' }, ['documentDate']],
  [{ documentDate: 1772438400000 }, ['documentDate']],
  [{ userId: 'me' }, null],
];

async function check(method: 'POST' | 'PATCH' | 'DELETE', url: string, base: object, [change, path]: Case) {
  const body = typeof change === 'object' && change !== null ? { ...base, ...change } : change;
  const response = await test.call(method, url, body);
  expect(response.status).toBe(400);
  if (path === null) expect(response.body).toEqual({ error: expect.any(String) });
  else {
    expect(response.body.success).toBe(false);
    expect(response.body.error.map((issue: { path: Path }) => issue.path)).toContainEqual(path);
    expect(response.body.error.every((issue: { message: string }) => issue.message.length > 10)).toBe(true);
  }
}

const shown = ([change, path]: Case) => [JSON.stringify(change)?.slice(0, 60), change, path] as const;

describe('POST /v3/documents refuses', () => {
  const cases: Case[] = [
    ...ingestCases,
    [{ content: undefined }, ['content']],
    [{ content: '' }, ['content']],
    [{ content: ' \n\t ' }, ['content']],
    [{ content: { a: 1 } }, ['content']],
    [{ content: null }, ['content']],
    [{ customId: '' }, ['customId']],
    [{ customId: '.' }, ['customId']],
    [{ customId: '..' }, ['customId']],
    [{ customId: 'a\nb' }, ['customId']],
    [{ customId: 'x'.repeat(256) }, ['customId']],
    [{ updateMode: 'merge' }, ['updateMode']],
  ];
  it.each(cases.map(shown))('%s', (_, change, path) =>
    check('POST', '/v3/documents', { content: 'x' }, [change, path]),
  );

  it('text over 1 MiB with 413', async () => {
    const { status, body } = await test.call('POST', '/v3/documents', { content: 'ä'.repeat(524_289) });
    expect({ status, body }).toEqual({ status: 413, body: { error: 'content is larger than 1048576 bytes' } });
    expect((await test.call('POST', '/v3/documents', { content: 'x'.repeat(1024 * 1024) })).status).toBe(200);
  });

  it.each(['[]', '"text"', '5'])('a body that is %s', async (payload) => {
    const { body } = await test.call('POST', '/v3/documents', payload);
    expect(body).toMatchObject({ error: expect.anything() });
  });

  it.each([
    '2026-03-01',
    '2026-03-01T09:30',
    '2026-03-01 09:30:00',
    '2026-03-01T09:30:00.123456Z',
    '2026-03-01T09:30:00+0200',
  ])('no documentDate like %s', async (documentDate) => {
    expect((await test.call('POST', '/v3/documents', { content: 'x', documentDate })).status).toBe(200);
  });
});

describe('POST /v3/documents/batch refuses', () => {
  const cases: Case[] = [
    ...ingestCases.filter(
      // Metadata that is too much belongs to a document, and is answered with it.
      ([change, path]) =>
        !('containerTags' in (change as object)) &&
        !('documentDate' in (change as object)) &&
        !('metadata' in (change as object) && path === null),
    ),
    [{ documentDate: 'yesterday' }, ['documentDate']],
    [{ documents: undefined }, ['documents']],
    [{ documents: 'x' }, ['documents']],
    [{ documents: [] }, ['documents']],
    [{ documents: Array.from({ length: 601 }, () => 'x') }, ['documents']],
    [{ content: 'x' }, ['content']],
  ];
  it.each(cases.map(shown))('%s', (_, change, path) =>
    check('POST', '/v3/documents/batch', { documents: ['x'] }, [change, path]),
  );
});

describe('POST /v3/documents/list refuses', () => {
  const cases: Case[] = [
    ...tagCases,
    ...tagsCases,
    [{ filters: 5 }, ['filters']],
    [{ filters: {} }, ['filters']],
    [{ filters: { AND: [{ key: 'a' }] } }, ['filters', 'AND', 0, 'value']],
    [{ page: 0 }, ['page']],
    [{ page: '0' }, ['page']],
    [{ page: 1.5 }, ['page']],
    [{ page: 'two' }, ['page']],
    [{ limit: 0 }, ['limit']],
    [{ limit: 1101 }, ['limit']],
    [{ limit: '1101' }, ['limit']],
    [{ sort: 'title' }, ['sort']],
    [{ order: 'up' }, ['order']],
    [{ status: 'ready' }, ['status']],
    [{ status: ['done', 'ready'] }, ['status']],
    [{ includeContent: 'yes' }, ['includeContent']],
    [{ sources: 'api' }, ['sources']],
    [{ spaces: ['a'] }, null],
  ];
  it.each(cases.map(shown))('%s', (_, change, path) => check('POST', '/v3/documents/list', {}, [change, path]));
});

describe('POST /v4/search refuses', () => {
  const cases: Case[] = [
    ...tagCases,
    ...tagsCases,
    [{ q: undefined }, ['q']],
    [{ q: '  ' }, ['q']],
    [{ q: 'x'.repeat(8193) }, ['q']],
    [{ searchMode: 'chunks' }, ['searchMode']],
    [{ threshold: -0.1 }, ['threshold']],
    [{ threshold: 1.1 }, ['threshold']],
    [{ threshold: '0.5' }, ['threshold']],
    [{ limit: 0 }, ['limit']],
    [{ limit: 101 }, ['limit']],
    [{ limit: 2.5 }, ['limit']],
    [{ filters: 'x' }, ['filters']],
    [{ docId: '' }, ['docId']],
    [{ docId: 'x'.repeat(256) }, ['docId']],
    [{ rerank: 'yes' }, ['rerank']],
    [{ rewriteQuery: 1 }, ['rewriteQuery']],
    [{ aggregate: 1 }, ['aggregate']],
    [{ include: [] }, ['include']],
    [{ include: { summaries: 1 } }, ['include', 'summaries']],
  ];
  it.each(cases.map(shown))('%s', (_, change, path) => check('POST', '/v4/search', { q: 'x' }, [change, path]));

  it('nothing that the published client may send', async () => {
    const { status, body } = await test.call('POST', '/v4/search', {
      q: 'x'.repeat(8192),
      containerTag: 'x'.repeat(100),
      containerTags: ['a'],
      searchMode: 'hybrid',
      threshold: 0,
      limit: 100,
      filters: '{"OR":[{"key":"a","value":"b","filterType":"metadata","numericOperator":">","negate":"false"}]}',
      filepath: '/a/',
      docId: 'd',
      rerank: true,
      rewriteQuery: true,
      aggregate: false,
      relatedMemories: true,
      include: { documents: true, summaries: true, relatedMemories: true, forgottenMemories: true, chunks: true },
      unknown: 1,
    });
    expect({ status, body }).toEqual({ status: 200, body: { results: [], total: 0, timing: expect.any(Number) } });
  });
});

describe('paths refuse', () => {
  it.each<[string, Path]>([
    [`/v3/documents/${'x'.repeat(256)}`, ['id']],
    ['/v3/documents/a%00b', ['id']],
    [`/ns/${'x'.repeat(101)}/document/a`, ['namespace']],
    ['/ns/a.b/document/a', ['namespace']],
    ['/ns/a%20b/document/a', ['namespace']],
    [`/ns/a/document/${'x'.repeat(256)}`, ['id']],
    ['/ns/a/document/b?include=chunk', ['include', 0]],
    ['/ns/a/document/b?include=chunks,Memories', ['include', 1]],
    ['/ns/a/document/b?include=chunks&include=x', ['include', 1]],
    ['/v3/documents/processing?containerTags=a,b%20c', ['containerTags', 1]],
    ['/v3/connections/a/sync-runs?limit=0', ['limit']],
    ['/v3/connections/a/sync-runs?limit=201', ['limit']],
    ['/v3/connections/a/sync-runs?limit=many', ['limit']],
  ])('GET %s', async (url, path) => {
    const { status, body } = await test.call('GET', url);
    expect({ status, path: body.error[0].path }).toEqual({ status: 400, path });
  });

  it('DELETE /v3/connections/{id}?deleteDocuments=no', async () => {
    const { status, body } = await test.call('DELETE', '/v3/connections/a?deleteDocuments=no');
    expect({ status, path: body.error[0].path }).toEqual({ status: 400, path: ['deleteDocuments'] });
  });
});

describe('the routes of connections refuse', () => {
  const create: Case[] = [
    ...tagCases,
    [{ containerTags: ['a', 'b'] }, null],
    [{ containerTags: [] }, null],
    [{ documentLimit: 0 }, ['documentLimit']],
    [{ documentLimit: 10_001 }, ['documentLimit']],
    [{ metadata: 'x' }, ['metadata']],
    [{ redirectUrl: 'javascript:alert(1)' }, ['redirectUrl']],
    [{ redirectUrl: '/back' }, ['redirectUrl']],
    [{ schedule: 5 }, ['schedule']],
    [{ onSourceDelete: 'archive' }, ['onSourceDelete']],
    [{ userId: 'me' }, null],
  ];
  it.each(create.map(shown))('create: %s', (_, change, path) =>
    check('POST', '/v3/connections/synthetic', {}, [change, path]),
  );

  it.each(['unknown', 'Folder', 'a_b', '1abc', 'x'.repeat(40)])('create: the provider %s', async (provider) => {
    const { status, body } = await test.call('POST', `/v3/connections/${provider}`, {});
    expect({ status, path: body.error[0].path }).toEqual({ status: 400, path: ['provider'] });
  });

  it.each<['POST' | 'PATCH' | 'DELETE', string, unknown, Path]>([
    ['POST', '/v3/connections/list', { provider: 1 }, ['provider']],
    ['POST', '/v3/connections/list', { containerTags: ['a b'] }, ['containerTags', 0]],
    ['POST', '/v3/connections/synthetic/connection', {}, ['containerTags']],
    ['POST', '/v3/connections/synthetic/import', { containerTags: 'a' }, ['containerTags']],
    ['POST', '/v3/connections/Bad_Name/import', {}, ['provider']],
    ['POST', '/v3/connections/abc/sync', { mode: 'fast' }, ['mode']],
    ['POST', '/v3/connections/abc/sync', { restoreDeleted: 'no' }, ['restoreDeleted']],
    ['PATCH', '/v3/connections/abc', { paused: 'yes' }, ['paused']],
    ['DELETE', '/v3/connections/synthetic', {}, ['containerTags']],
  ])('%s %s with %j', async (method, url, body, path) => {
    const response = await test.call(method, url, body);
    expect(response.status).toBe(400);
    expect(response.body.error[0].path).toEqual(path);
  });
});

describe('the routes of keys refuse', () => {
  it.each<[string, object, Path]>([
    ['/v3/auth/scoped-key', { containerTag: 'a b' }, ['containerTag']],
    ['/v3/auth/scoped-key', { containerTags: [] }, ['containerTags']],
    ['/v3/auth/scoped-key', { containerTag: 'a', permission: 'admin' }, ['permission']],
    ['/v3/auth/scoped-key', { containerTag: 'a', expiresInDays: 0 }, ['expiresInDays']],
    ['/v3/auth/scoped-key', { containerTag: 'a', expiresInDays: 366 }, ['expiresInDays']],
    ['/v3/auth/scoped-key', { containerTag: 'a', rateLimitMax: 10_001 }, ['rateLimitMax']],
    ['/v3/auth/scoped-key', { containerTag: 'a', rateLimitTimeWindow: 0 }, ['rateLimitTimeWindow']],
    ['/v3/auth/scoped-key', { containerTag: 'a', name: '' }, ['name']],
    ['/v3/auth/agent-key', {}, ['name']],
    ['/v3/auth/agent-key', { name: 'a', containerTags: ['a b'] }, ['containerTags', 0]],
  ])('%s with %j', async (url, body, path) => {
    const response = await test.call('POST', url, body);
    expect(response).toMatchObject({ status: 400, body: { success: false } });
    expect(response.body.error[0].path).toEqual(path);
    expect(response.body).not.toHaveProperty('data');
  });
});
