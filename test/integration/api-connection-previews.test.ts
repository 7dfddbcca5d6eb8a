import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineConnector, type Connector, type Ref } from '../../src/connector/contract.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

/** Two shelves, the first of which is told in two pages. */
function createShelves() {
  const source = { lists: 0, isDown: false, isEndless: false };
  const book = (path: string, size: number | undefined, updatedAt = '2026-01-01T00:00:00Z'): Ref => ({
    ...{ id: path, rev: '1', path, title: path, updatedAt, parent: path.split('/')[0]! },
    ...(size !== undefined && { size }),
  });
  const folder = (id: string): Ref => ({ id, rev: '1', kind: 'container' });
  const pages: Record<string, Ref[][]> = {
    first: [[folder('plays'), book('plays/hamlet.md', 100)], [book('plays/notes.txt', 20, '2020-01-01T00:00:00Z')]],
    second: [
      [folder('maps'), book('maps/world.png', 5_000_000), { ...book('maps/unknown', undefined), title: 'Of the sea' }],
    ],
  };
  const connector: Connector<any, any> = defineConnector<any>({
    spec: {
      name: 'shelves',
      version: '1.0.0',
      title: 'Shelves',
      kind: 'files',
      description: 'Books on shelves.',
      config: { type: 'object', properties: {} },
      auth: [],
      scope: 'tree',
    },
    check: async () => [],
    partitions: async () => [{ id: 'first' }, { id: 'second' }],
    resources: async () => ({ resources: [] }),
    async list(_context, { id }, cursor) {
      source.lists += 1;
      if (source.isDown) throw new Error('nobody answers');
      const page = Number(cursor ?? 0);
      if (source.isEndless) return { refs: [book(`plays/${page}`, 1)], next: page + 1, done: false };
      const isLast = page + 1 === pages[id]!.length;
      return { refs: pages[id]![page]!, done: isLast, ...(!isLast && { next: page + 1 }) };
    },
    fetch: async (_context, _partition, ref) => ({ text: ref.id }),
  });
  return { source, connector };
}

describe('a preview of a connection', () => {
  const { source, connector } = createShelves();
  let test: TestApi;
  let id: string;
  beforeAll(async () => {
    test = await startTestApi({ connectors: { shelves: connector } });
    const body = { metadata: {}, paused: true, filters: { include: ['plays/**'] } };
    ({ id } = (await test.call('POST', '/v3/connections/shelves', body)).body);
  });
  afterAll(() => test.close());
  const preview = async (body: object = {}) => (await test.call('POST', `/v3/connections/${id}/preview`, body)).body;

  it('waits for its first sync when it is made so, and is synced when it goes on', async () => {
    const { body } = await test.call('GET', `/v3/connections/${id}`);
    expect(body).toMatchObject({ status: 'paused', nextSyncAt: null });
    expect(body).not.toHaveProperty('lastSyncRun');
    const made = await test.call('POST', '/v3/connections/shelves', {
      containerTag: 'another',
      paused: true,
    });
    const other = `/v3/connections/${made.body.id}`;
    expect((await test.call('POST', `${other}/sync`, {})).status).toBe(409);
    expect((await test.call('POST', `${other}/resume`)).body).toMatchObject({
      status: 'active',
      nextSyncAt: test.clock.now().toISOString(),
    });
  });

  it('is counted by what filters take, in items and bytes, and stores nothing', async () => {
    expect(await preview()).toEqual({
      listed: { items: 4, bytes: 5_000_120 },
      chosen: { items: 2, bytes: 120 },
      examples: { chosen: ['plays/hamlet.md', 'plays/notes.txt'], leftOut: ['maps/world.png', 'Of the sea'] },
      complete: true,
    });
    const { lists } = source;
    const chosen = async (filters: object) => (await preview({ filters })).chosen;
    expect(await chosen({})).toEqual({ items: 4, bytes: 5_000_120 });
    expect(await chosen({ maxBytes: 1_000 })).toEqual({ items: 3, bytes: 120 });
    expect(await chosen({ exclude: ['*.txt', 'maps/'] })).toEqual({ items: 1, bytes: 100 });
    expect(await chosen({ updatedSince: '2025-01-01' })).toEqual({ items: 3, bytes: 5_000_100 });
    expect(source.lists, 'the source is not asked for each filter').toBe(lists);
    expect((await test.call('GET', `/v3/connections/${id}`)).body.filters).toEqual({ include: ['plays/**'] });
    test.clock.advance(5 * 60_000);
    await preview();
    expect(source.lists).toBeGreaterThan(lists);
  });

  it('says when there is more than is counted, and when the source does not answer', async () => {
    test.clock.advance(5 * 60_000);
    source.isEndless = true;
    const answer = await preview({ filters: {} });
    expect(answer).toMatchObject({ complete: false, listed: { items: 50_000 } });
    source.isEndless = false;
    test.clock.advance(5 * 60_000);
    source.isDown = true;
    expect((await test.call('POST', `/v3/connections/${id}/preview`, {})).status).toBe(503);
    source.isDown = false;
  });

  it('says what is wrong with filters, and is for who manages connections', async () => {
    const path = `/v3/connections/${id}/preview`;
    expect((await test.call('POST', path, { filters: { include: ['['] } })).status).toBe(400);
    const key = await test.newKey({ containerTags: ['sm_project_default'] });
    expect((await test.call('POST', path, {}, key)).status).toBe(403);
    expect((await test.call('POST', '/v3/connections/nobody/preview', {})).status).toBe(404);
  });

  it('tells when schedules come next', async () => {
    const ask = async (query: string) => test.call('GET', `/v3/schedule-times?${query}`);
    test.clock.advance(Date.parse('2027-03-01T10:20:00Z') - test.clock.now().getTime());
    expect((await ask('schedule=6h')).body.next).toEqual(
      ['1T16:20', '1T22:20', '2T04:20', '2T10:20', '2T16:20'].map((time) => `2027-03-0${time}:00.000Z`),
    );
    expect((await ask('schedule=0 8 * * mon-fri Europe/Berlin')).body.next[0]).toBe('2027-03-02T07:00:00.000Z');
    expect((await ask('schedule=1h&allowedHours=20:00-22:00')).body.next.slice(0, 3)).toEqual(
      ['1T20:00', '1T21:00', '2T20:00'].map((time) => `2027-03-0${time}:00.000Z`),
    );
    expect((await ask('')).body.next).toHaveLength(5);
    expect((await ask('schedule=manual')).body.next).toEqual([]);
    expect((await ask('schedule=often')).status).toBe(400);
    expect((await ask('allowedHours=never')).status).toBe(400);
  });
});
