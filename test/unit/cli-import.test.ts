import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { goodKey, startApiStandIn, type ApiStandIn } from '../support/api-stand-in.ts';
import { useCliFixture } from '../support/cli-fixture.ts';

const cli = useCliFixture();
let service: ApiStandIn;
beforeEach(async () => {
  service = await startApiStandIn();
  cli.api.on('POST /v3/documents/batch', ({ body }) => ({
    results: (body['documents'] as object[]).map(() => ({ id: 'x', status: 'queued' })),
  }));
  cli.api.on('POST /v4/memories', () => [201, {}]);
  cli.api.on('PATCH /v3/settings', () => ({}));
  for (const tag of ['ana', 'ben']) cli.api.on(`PATCH /v3/container-tags/${tag}`, () => ({}));
});
afterEach(() => service.close());

/** Bodies that the daemon got at a route. */
const given = (route: string) =>
  cli.api.requests.filter(({ method, path }) => `${method} ${path}` === route).map(({ body }) => body);
const run = (...args: string[]) =>
  cli.run(['import', ...args], {
    env: { MEMORYD_URL: cli.api.url, MEMORYD_API_KEY: goodKey, SUPERMEMORY_API_KEY: goodKey, MEM0_API_KEY: goodKey },
  });

describe('import supermemory', () => {
  const pages = (totalPages: number) => ({ currentPage: 1, limit: 100, totalItems: 3, totalPages });
  const document = (id: string, fields: object = {}) => ({
    ...{ id, customId: null, connectionId: null, title: null, url: null, filepath: null, metadata: {} },
    ...{ content: `text of ${id}`, createdAt: '2026-03-01T09:30:00.000Z', status: 'done' },
    ...fields,
  });

  function serveOlder(documentsOf: (page: number) => [number, object] | object) {
    service.on('GET /v3/container-tags/list', () => [{ containerTag: 'ana' }]);
    service.on('GET /v3/settings', () => ({ filterPrompt: null, chunkSize: -1, googleDriveClientSecret: '********' }));
    service.on('GET /v3/container-tags/ana', () => ({ containerTag: 'ana', name: null, profileBuckets: [] }));
    service.on('POST /v3/documents/list', ({ body }) => documentsOf(body['page'] as number));
    service.on('POST /v4/memories/list', () => ({ memoryEntries: [], pagination: pages(0) }));
  }

  test('says what stays behind and why, and sends no secret', async () => {
    const listed = [
      document('a', { title: 'A', url: 'https://a.example/', metadata: { n: 1 } }),
      document('b', { connectionId: 'c1' }),
      document('c', { content: '' }),
      document('d', { customId: 'own' }),
    ];
    serveOlder(() => ({ memories: listed, pagination: pages(1) }));
    const { exitCode, stderr } = await run('supermemory', '--url', service.url);
    expect(exitCode, stderr).toBe(0);
    expect(given('POST /v3/documents/batch')).toEqual([
      {
        containerTag: 'ana',
        documents: [
          {
            content: 'text of a',
            customId: 'supermemory:a',
            metadata: { title: 'A', url: 'https://a.example/', n: 1 },
            documentDate: '2026-03-01T09:30:00.000Z',
          },
          { content: 'text of d', customId: 'own', metadata: {}, documentDate: '2026-03-01T09:30:00.000Z' },
        ],
      },
    ]);
    expect(given('PATCH /v3/settings')).toEqual([{ chunkSize: -1 }]);
    expect(stderr).toContain('2 documents, 0 memories, 1 namespace carried over.');
    expect(stderr).toContain('Left behind: 1, each came from a connection');
    expect(stderr).toContain('Left behind: 1, each has no content yet');
    expect(service.requests.every(({ headers }) => headers.authorization === `Bearer ${goodKey}`)).toBe(true);
  });

  test('goes on where it stopped, and counts nothing twice', async () => {
    let isBroken = true;
    serveOlder((page) => {
      if (page === 2 && isBroken) return [500, { error: 'no' }];
      return {
        memories: [document(`p${page}`)],
        pagination: { currentPage: page, limit: 100, totalItems: 2, totalPages: 2 },
      };
    });
    const stopped = await run('supermemory', '--url', service.url);
    expect(stopped.exitCode).toBe(1);
    expect(stopped.stderr).toContain('the same command goes on from there');
    const state = join(cli.folder, 'memoryd-import.json');
    expect(readFileSync(state, 'utf8')).not.toContain(goodKey);
    const other = await run('supermemory', '--url', cli.api.url);
    expect(other.exitCode).not.toBe(0);
    isBroken = false;
    const { exitCode, stdout } = await run('supermemory', '--url', service.url, '--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ documents: 2, containers: 1 });
    expect(existsSync(state)).toBe(false);
    expect(given('POST /v3/documents/batch')).toHaveLength(2);
    expect(given('PATCH /v3/settings')).toHaveLength(1);
  });

  test('waits for a busy service, and tells of one that refuses its key', async () => {
    let requests = 0;
    serveOlder(() => ({ memories: [], pagination: pages(0) }));
    service.on('GET /v3/container-tags/list', () => (++requests < 3 ? [429, { error: 'slow down' }] : []));
    expect((await run('supermemory', '--url', service.url)).exitCode).toBe(0);
    service.on('GET /v3/container-tags/list', () => [401, { error: 'no' }]);
    const refused = await run('supermemory', '--url', service.url);
    expect(refused).toMatchObject({ exitCode: 4 });
    expect(refused.stderr).toMatch(/The service at .* refused the key of SUPERMEMORY_API_KEY/);
  });

  test('names the containers there are when it is asked for another one', async () => {
    serveOlder(() => ({ memories: [], pagination: pages(0) }));
    const { exitCode, stderr } = await run('supermemory', '--url', service.url, '--namespace', 'bob');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('There are: ana.');
  });

  test('speaks the newer dialect where the older one is gone', async () => {
    const system = { status: 'done', createdAt: '2026-03-01T09:30:00.000Z', updatedAt: '2026-03-01T09:30:00.000Z' };
    const one = { currentPage: 1, limit: 100, totalItems: 1, totalPages: 1 };
    service.on('GET /v3/container-tags/list', () => [404, { error: 'gone' }]);
    service.on('GET /ns', () => ({ namespaces: [{ namespace: 'ana' }], pagination: one }));
    service.on('GET /ns/ana', () => ({ namespace: 'ana', supportingContext: 'A nurse.', system }));
    const fields = { id: 'd1', title: 'T', type: 'text', summary: null, metadata: { a: 1 }, url: null, system };
    service.on('POST /ns/ana/list/documents', () => ({ documents: [fields], pagination: one }));
    service.on('GET /ns/ana/document/d1', () => ({ ...fields, content: 'Moved to Graz.' }));
    const memory = { id: 'm1', memory: 'Ana lives in Graz', metadata: {}, isStatic: true, isForgotten: false };
    service.on('POST /ns/ana/list/memories', () => ({ memories: [memory], pagination: one }));
    const { exitCode, stderr } = await run('supermemory', '--url', service.url);
    expect(exitCode, stderr).toBe(0);
    expect(service.seen()).toContain('POST /ns/ana/list/memories?page=1&limit=100&sort=createdAt&order=asc');
    expect(given('PATCH /v3/container-tags/ana')).toEqual([{ entityContext: 'A nurse.' }]);
    expect(given('POST /v3/documents/batch')).toEqual([
      {
        containerTag: 'ana',
        documents: [
          {
            content: 'Moved to Graz.',
            customId: 'supermemory:d1',
            metadata: { title: 'T', a: 1 },
            documentDate: system.createdAt,
          },
        ],
      },
    ]);
    expect(given('POST /v4/memories')).toEqual([
      { containerTag: 'ana', memories: [{ content: 'Ana lives in Graz', isStatic: true, metadata: {} }] },
    ]);
  });
});

describe('import mem0', () => {
  /** As the service lists them. */
  const memories = [
    { id: '1', memory: 'Likes tea', user_id: 'ana@example.com', metadata: { topic: 'food', deep: { a: 1 } } },
    { id: '2', memory: 'Likes jam', user_id: 'ana_example_com', categories: ['food'], created_at: '2026-01-02' },
    { id: '3', memory: '', user_id: 'ana@example.com' },
    { id: '4', memory: 'Old', user_id: 'ana@example.com', expiration_date: '2025-01-01' },
    { id: '5', memory: 'Answers shortly', user_id: null, agent_id: 'helper', run_id: 'r1' },
  ];
  const expected = [
    {
      containerTag: 'ana_example_com',
      memories: [{ content: 'Likes tea', metadata: { topic: 'food', deep: '{"a":1}' } }],
    },
    {
      containerTag: 'ana_example_com-2',
      memories: [
        {
          content: 'Likes jam',
          metadata: { categories: ['food'] },
          temporalContext: { documentDate: '2026-01-02T00:00:00.000Z' },
        },
      ],
    },
    { containerTag: 'helper', memories: [{ content: 'Answers shortly', metadata: { run: 'r1' } }] },
  ];

  test.each([
    ['a list', memories],
    ['results', { results: memories }],
    ['memories', { memories }],
  ])('reads an export that is %s', async (_of, content) => {
    writeFileSync(join(cli.folder, 'export.json'), JSON.stringify(content));
    const { exitCode, stderr } = await run('mem0', 'export.json');
    expect(exitCode, stderr).toBe(0);
    expect(given('POST /v4/memories')).toEqual(expected);
    expect(stderr).toContain('Left behind: 1, each has no text.');
    expect(stderr).toContain('Left behind: 1, each has expired.');
  });

  test('asks the hosted service for everybody’s, and a server of one’s own for those of the named users', async () => {
    await service.close();
    service = await startApiStandIn(`Token ${goodKey}`);
    service.on('POST /v2/memories/', () => memories);
    expect((await run('mem0', '--url', service.url)).exitCode).toBe(0);
    expect(service.seen()).toEqual(['POST /v2/memories/?page=1&page_size=100']);
    expect(given('POST /v4/memories')).toEqual(expected);
    cli.api.requests.length = 0;
    service.on('GET /memories', () => ({ results: memories.slice(4) }));
    expect((await run('mem0', '--url', service.url, '--user', 'helper')).exitCode).toBe(0);
    expect(given('POST /v4/memories')).toEqual(expected.slice(2));
  });

  test.each([
    ['missing.json', null, 'cannot be read'],
    ['text.json', 'no json', 'is not JSON'],
    ['other.json', '{"a":1}', 'holds no list of memories'],
  ])('says what is wrong with %s', async (name, content, problem) => {
    if (content !== null) writeFileSync(join(cli.folder, name), content);
    const { exitCode, stderr } = await run('mem0', name);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(problem);
  });
});
