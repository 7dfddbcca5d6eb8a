import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  authExpired,
  badConfig,
  defineConnector,
  gone,
  probe,
  rateLimited,
  type Connector,
  type Resource,
} from '../../src/connector/contract.ts';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

/** Ten repositories, of which the first has two folders; listed four at a time, without their number. */
function createRepositories() {
  const source = {
    failure: null as Error | null,
    pages: 0,
    check: async (): Promise<unknown> => 'as mira',
  };
  const repository = (number: number): Resource => ({
    id: String(number),
    name: `example/repository-${number}`,
    kind: 'repository',
    hasChildren: number === 1,
    metadata: { id: number, full_name: `example/repository-${number}`, default_branch: 'main' },
  });
  const connector: Connector<any, any> = defineConnector<any>({
    spec: {
      name: 'repositories',
      version: '1.0.0',
      title: 'Repositories',
      kind: 'code',
      description: 'Repositories of an account.',
      config: { type: 'object', properties: {} },
      auth: [],
    },
    check: async () => [await probe('account', 'Read the account', source.check)],
    async resources(_context, parent, page) {
      source.pages += 1;
      if (source.failure) throw source.failure;
      if (parent === '1') return { resources: [{ id: '1/docs', name: 'docs' }], total: 1 };
      const first = Number(page ?? 1);
      const numbers = Array.from({ length: 4 }, (_, place) => first + place).filter((number) => number <= 10);
      return { resources: numbers.map(repository), ...(first + 4 <= 10 && { next: String(first + 4) }) };
    },
    partitions: async ({ selection }) => selection.map(({ id }) => ({ id: `repository ${id}`, resource: id })),
    list: async (_context, partition) => ({ refs: [{ id: `readme of ${partition.id}`, rev: '1' }], done: true }),
    fetch: async (_context, _partition, ref) => ({ text: ref.id }),
  });
  return { source, connector };
}

describe('resources', () => {
  const { source, connector } = createRepositories();
  let test: TestApi;
  let id: string;
  beforeAll(async () => {
    const plain = createSyntheticSource().connector();
    test = await startTestApi({ connectors: { repositories: connector, synthetic: plain } });
  });
  afterAll(() => test.close());
  beforeEach(async () => {
    source.failure = null;
    source.pages = 0;
    source.check = async () => 'as mira';
    id = (await test.call('POST', '/v3/connections/repositories', { containerTag: 'repositories' })).body.id;
  });

  const list = async (query = '') => (await test.call('GET', `/v3/connections/${id}/resources${query}`)).body;
  const configure = (body: unknown, query = '') => test.call('POST', `/v3/connections/${id}/configure${query}`, body);
  const texts = async () => {
    const { body } = await test.call('POST', '/v3/documents/list', { connectionId: id });
    return body.memories.map((one: { customId: string }) => one.customId).toSorted();
  };

  it('are listed in pages, with the names of the source', async () => {
    const { resources, total_count } = await list();
    expect([resources.length, total_count]).toEqual([10, 10]);
    expect(resources[0]).toEqual({
      id: 1,
      name: 'example/repository-1',
      kind: 'repository',
      hasChildren: true,
      selected: false,
      full_name: 'example/repository-1',
      default_branch: 'main',
    });
    source.pages = 0;
    const second = await list('?page=2&per_page=3');
    expect(second.resources.map((one: { id: number }) => one.id)).toEqual([4, 5, 6]);
    expect(second).not.toHaveProperty('total_count');
    expect(source.pages).toBe(2);
    expect((await list('?page=4&per_page=3')).resources.map((one: { id: number }) => one.id)).toEqual([10]);
    expect(await list('?page=5&per_page=3')).toEqual({ resources: [], total_count: 10 });
    expect((await list('?page=0&per_page=0')).resources).toHaveLength(10);
    expect(await list('?parent_id=1')).toMatchObject({ resources: [{ id: '1/docs', name: 'docs' }], total_count: 1 });
  });

  it.each(['page=-1', 'page=x', 'per_page=101'])('are refused for ?%s', async (query) => {
    expect((await test.call('GET', `/v3/connections/${id}/resources?${query}`)).status).toBe(400);
  });

  it.each([
    [authExpired('The token is gone.'), 400, 'Connection has no usable refresh token', 'The token is gone.'],
    [
      badConfig('No such team.', 'Name another.'),
      400,
      'The source refused to list its content',
      'No such team. Name another.',
    ],
    [gone('No such folder.'), 404, 'Resource not found', 'No such folder.'],
    [new Error('secret inside'), 503, 'The source did not answer', undefined],
  ])('that cannot be listed (%s) are explained', async (failure, status, error, details) => {
    source.failure = failure;
    const answer = await test.call('GET', `/v3/connections/${id}/resources`);
    expect(answer).toMatchObject({ status, body: { error } });
    expect(answer.body.details).toBe(details);
  });

  it('say when a limit of the source ends', async () => {
    source.failure = rateLimited('Too many requests.', new Date(test.clock.now().getTime() + 90_000));
    const { status, headers } = await test.call('GET', `/v3/connections/${id}/resources`);
    expect([status, headers['retry-after']]).toEqual([503, '90']);
  });

  it('are chosen, and what is no longer chosen stays or goes', async () => {
    await test.database.execute(sql`update connections set status = 'needs_configuration' where id = ${id}`);
    const chosen = { id: 7, full_name: 'example/repository-7', default_branch: 'main' };
    expect(await configure({ resources: [chosen, { id: '9', name: 'nine' }] })).toMatchObject({
      status: 200,
      body: { success: true, message: '2 resources configured, sync started' },
    });
    const { body } = await test.call('GET', `/v3/connections/${id}`);
    expect(body).toMatchObject({
      status: 'active',
      selection: [
        { id: '7', default_branch: 'main' },
        { id: '9', name: 'nine' },
      ],
    });
    const { resources } = await list();
    expect(resources.filter((one: { selected: boolean }) => one.selected).map((one: { id: number }) => one.id)).toEqual(
      [7, 9],
    );
    await runDueSync(test, connector, id);
    const [seven, nine] = await texts();
    expect([seven, nine]).toEqual(['repositories:readme of repository 7', 'repositories:readme of repository 9']);
    const { message } = (await configure({ resources: [{ id: 9 }] }, '?deleteRemoved=false')).body;
    expect(message).toBe('1 resource configured, sync started');
    await runDueSync(test, connector, id);
    expect(await texts()).toEqual([seven, nine]);
    await configure({ resources: [{ id: 7 }] });
    await runDueSync(test, connector, id);
    expect(await texts()).toEqual([seven]);
    await test.database.execute(sql`update connections set on_source_delete = 'keep' where id = ${id}`);
    await configure({ resources: [{ id: 9 }] });
    await runDueSync(test, connector, id);
    expect(await texts()).toEqual([seven, nine]);
    await configure({ resources: [{ id: 7 }] });
    await test.call('POST', `/v3/connections/${id}/pause`);
    expect((await configure({ resources: [{ id: 7 }] })).body.message).toBe('1 resource configured');
  });

  it.each([
    [{}, ['resources']],
    [{ resources: 'all' }, ['resources']],
    [{ resources: [{ name: 'nine' }] }, ['resources', 0, 'id']],
    [{ resources: [{ id: 1 }, { id: '' }] }, ['resources', 1, 'id']],
    [{ resources: [{ id: 1.5 }] }, ['resources', 0, 'id']],
    [{ resources: ['nine'] }, ['resources', 0]],
  ])('are not chosen by %j', async (body, path) => {
    const answer = await configure(body);
    expect([answer.status, answer.body.success, answer.body.error?.[0].path]).toEqual([400, false, path]);
  });

  it('are not there for a connector without choice', async () => {
    const { body } = await test.call('POST', '/v3/connections/synthetic', { containerTag: 'plain' });
    for (const [method, path, sent] of [
      ['GET', 'resources', undefined],
      ['POST', 'configure', { resources: [] }],
    ] as const) {
      const answer = await test.call(method, `/v3/connections/${body.id}/${path}`, sent);
      expect([answer.status, answer.headers['x-should-retry'], answer.body.error]).toEqual([
        501,
        'false',
        'Connections to synthetic have no resources to choose from',
      ]);
    }
  });

  it('show more than a container, so they need a full key', async () => {
    const scoped = await test.newKey({ containerTags: ['repositories'] });
    const readAll = await test.newKey({ permission: 'read' });
    expect((await test.call('GET', `/v3/connections/${id}/resources`, undefined, scoped)).status).toBe(403);
    expect((await test.call('GET', '/v3/connections/none/resources', undefined, scoped)).status).toBe(403);
    expect((await test.call('GET', `/v3/connections/${id}/resources`, undefined, readAll)).status).toBe(200);
    for (const key of [scoped, readAll]) {
      const answer = await test.call('POST', `/v3/connections/${id}/configure`, { resources: [] }, key);
      expect(answer.status).toBe(403);
    }
  });

  it('are told of when the connection is checked', async () => {
    const check = async () => (await test.call('POST', `/v3/connections/${id}/check`)).body;
    const title = { name: 'account', title: 'Read the account' };
    expect(await check()).toEqual({ ok: true, checks: [{ ...title, status: 'ok', detail: 'as mira' }] });
    source.check = async () => Promise.reject(badConfig('No such team.', 'Name another.'));
    const failed = { ...title, status: 'failed', detail: 'No such team.', remedy: 'Name another.' };
    expect(await check()).toEqual({ ok: false, checks: [failed] });
    source.check = async () => Promise.reject(new Error('away'));
    expect(await check()).toMatchObject({ ok: true, checks: [{ status: 'unknown' }] });
  });
});

it('a check that breaks down proves nothing', async () => {
  let isMade = false;
  const broken: Connector<any, any> = {
    ...createSyntheticSource().connector(),
    check: async () => (isMade ? Promise.reject(new Error('secret inside')) : []),
  };
  const test = await startTestApi({ connectors: { synthetic: broken } });
  const { id } = (await test.call('POST', '/v3/connections/synthetic')).body;
  isMade = true;
  const { status, body } = await test.call('POST', `/v3/connections/${id}/check`);
  expect([status, body]).toEqual([
    200,
    {
      ok: true,
      checks: [
        {
          name: 'check',
          title: 'The source answers',
          status: 'unknown',
          detail: 'The source did not answer as expected.',
        },
      ],
    },
  ]);
  await test.close();
});
