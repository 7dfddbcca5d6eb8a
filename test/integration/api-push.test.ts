import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pushConnector from '../../connectors/push/index.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

describe('POST /v3/connections/{id}/push', () => {
  let test: TestApi;
  let id: string;
  beforeAll(async () => {
    test = await startTestApi({
      connectors: { push: pushConnector, synthetic: createSyntheticSource().connector() },
      config: {
        limits: { maxTextBytes: 1_000, maxBodyBytes: 10_000, maxBatchBodyBytes: 400_000, maxFileBytes: 10_000 },
      },
    });
    id = (await test.call('POST', '/v3/connections/push', { containerTag: 'mine', metadata: { team: 'a' } })).body.id;
  });
  afterAll(() => test.close());

  const push = (body: unknown, key?: string) => test.call('POST', `/v3/connections/${id}/push`, body, key);

  it('takes parts that cannot be shown with a snapshot, and with nothing else', async () => {
    const unread = [{ path: 'archive', reason: 'away' }];
    expect((await push({ unread })).status).toBe(400);
    expect((await push({ unread: [{ path: '', reason: 'away' }], completeSnapshot: true })).status).toBe(400);
    const other = await test.call('POST', '/v3/connections/push', {
      containerTag: 'parts',
      metadata: { name: 'parts' },
    });
    const send = (body: unknown) => test.call('POST', `/v3/connections/${other.body.id}/push`, body);
    await send({
      upserts: [
        { id: 'a', text: 'A', path: 'archive/a' },
        { id: 'b', text: 'B', path: 'b' },
        { id: 'c', text: 'C', path: 'c' },
      ],
    });
    const { status, body } = await send({
      upserts: [{ id: 'c', text: 'C', path: 'c' }],
      unread,
      completeSnapshot: true,
    });
    expect([status, body.snapshot.removed, body.snapshot.incomplete]).toEqual([200, 1, null]);
    expect(JSON.stringify((await test.call('GET', `/v3/connections/${other.body.id}`)).body)).toContain(
      'archive (away)',
    );
  });

  it('takes items into a connection that waits for nothing else', async () => {
    const before = (await test.call('GET', `/v3/connections/${id}`)).body;
    expect(before).toMatchObject({ provider: 'push', status: 'active', schedule: null, nextSyncAt: null });
    expect(before).not.toHaveProperty('lastSyncRun');
    const { status, body } = await push({
      upserts: [
        {
          id: 'a',
          markdown: '# A\n\nText.',
          title: 'A',
          url: 'https://example.com/a',
          metadata: { n: 1 },
          updatedAt: '2026-02-01T10:00:00',
        },
      ],
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      deliveryId: null,
      replayed: false,
      counts: { created: 1, updated: 0, unchanged: 0, skipped: 0, deleted: 0, failed: 0 },
      upserts: [{ id: 'a', status: 'created', documentId: expect.any(String), error: null }],
      deletes: [],
      snapshot: null,
    });
    await test.process();
    const document = (await test.call('GET', `/v3/documents/${body.upserts[0].documentId}`)).body;
    expect(document).toMatchObject({
      customId: 'push:a',
      connectionId: id,
      source: 'push',
      status: 'done',
      title: 'A',
      url: 'https://example.com/a',
      metadata: { team: 'a', n: 1 },
      documentDate: '2026-02-01T10:00:00.000Z',
    });
    expect((await test.call('GET', `/v3/connections/${id}`)).body).toMatchObject({
      documentCount: 1,
      lastSyncRun: { status: 'completed' },
    });
  });

  it('reports each entry that cannot be used, and takes the others', async () => {
    const entries: [unknown, RegExp][] = [
      [{ text: 'x' }, /id/],
      [{ id: '', text: 'x' }, /id/],
      [{ id: 7, text: 'x' }, /id/],
      [{ id: 'i'.repeat(10_000), text: 'x' }, /1 to 1000 bytes/],
      [{ id: 'a\u0000b', text: 'x' }, /id/],
      [{ id: 'a\ud800b', text: 'x' }, /id/],
      [{ id: 'none' }, /exactly one of text, markdown, html/],
      [{ id: 'two', text: 'x', html: '<p>x</p>' }, /exactly one of/],
      [{ id: 'empty', text: ' \n' }, /text/],
      [{ id: 'large', text: 'x'.repeat(1_001) }, /text is larger than 1000 bytes/],
      [{ id: 'date', text: 'x', updatedAt: 'yesterday' }, /updatedAt/],
      [{ id: 'day', text: 'x', updatedAt: '2026-13-45' }, /updatedAt must be a date that exists/],
      [{ id: 'meta', text: 'x', metadata: { nested: {} } }, /metadata/],
      [{ id: 'typo', text: 'x', titel: 'x' }, /titel/],
      ['just a text', /object/],
      [null, /object/],
    ];
    const { status, body } = await push({
      upserts: [...entries.map(([entry]) => entry), { id: 'good', text: 'fine' }],
      deletes: ['a', 7, '', 'x'.repeat(2_000)],
    });
    expect(status).toBe(200);
    for (const [index, [entry, reason]] of entries.entries()) {
      expect(body.upserts[index], JSON.stringify(entry)?.slice(0, 60)).toMatchObject({
        status: 'failed',
        error: expect.stringMatching(reason),
      });
    }
    expect(body.upserts.at(-1)).toMatchObject({ id: 'good', status: 'created' });
    expect(body.deletes.map((one: { status: string }) => one.status)).toEqual([
      'deleted',
      'failed',
      'failed',
      'failed',
    ]);
  });

  it('answers 413 for too many entries and too large a body, and 400 for another shape', async () => {
    expect((await push({ upserts: Array.from({ length: 1_001 }, () => ({})) })).status).toBe(413);
    expect((await push({ deletes: Array.from({ length: 10_001 }, () => 'x') })).status).toBe(413);
    expect((await push({ upserts: [{ id: 'x', text: 'x'.repeat(400_001) }] })).status).toBe(413);
    for (const body of [
      { upserts: {} },
      { upserts: [], more: true },
      { deliveryId: '' },
      { deliveryId: 'x'.repeat(256) },
      { snapshot: { id: 's' } },
      { snapshot: { id: 's', page: 0 } },
      { snapshot: 's' },
      { completeSnapshot: 'yes' },
      [],
    ]) {
      expect((await push(body)).status, JSON.stringify(body).slice(0, 60)).toBe(400);
    }
  });

  it('needs a key that may write there', async () => {
    const reader = await test.newKey({ permission: 'read', containerTags: ['mine'] });
    const stranger = await test.newKey({ containerTags: ['other'] });
    const writer = await test.newKey({ containerTags: ['mine'] });
    expect((await push({}, reader)).status).toBe(403);
    expect((await push({}, stranger)).status).toBe(404);
    expect((await push({}, writer)).status).toBe(200);
    expect((await test.call('GET', `/v3/connections/${id}/push`, undefined, stranger)).status).toBe(404);
    const other = (await test.call('POST', '/v3/connections/synthetic')).body.id;
    const { status, headers } = await test.call('POST', `/v3/connections/${other}/push`, {});
    expect([status, headers['x-should-retry']]).toEqual([501, 'false']);
    expect((await test.call('POST', `/v3/connections/${'1'.repeat(22)}/push`, {})).status).toBe(404);
  });

  it('repeats the answer of a delivery, and refuses its id for something else', async () => {
    const request = { deliveryId: 'd1', upserts: [{ id: 'once', text: 'x' }] };
    await push(request);
    expect((await push(request)).body).toMatchObject({ replayed: true, counts: { created: 1 }, upserts: [] });
    const other = await push({ ...request, upserts: [] });
    expect([other.status, other.headers['x-should-retry']]).toEqual([409, 'false']);
  });

  it('holds a snapshot that would remove too much, until it is confirmed', async () => {
    const many = Array.from({ length: 40 }, (_, index) => ({ id: `many ${index}`, text: `text ${index}` }));
    await push({ upserts: many });
    await push({ snapshot: { id: 's', page: 1 }, upserts: many.slice(0, 5) });
    expect((await test.call('GET', `/v3/connections/${id}/push`)).body.snapshot).toMatchObject({
      id: 's',
      state: 'open',
      nextPage: 2,
      startedAt: test.clock.now().toISOString(),
    });
    const skipped = await push({ snapshot: { id: 's', page: 3 }, completeSnapshot: true });
    expect([skipped.status, skipped.body.error]).toEqual([409, 'Page 2 of the snapshot is expected, page 3 came']);
    const { body } = await push({ snapshot: { id: 's', page: 2 }, completeSnapshot: true });
    const held = { count: expect.any(Number), of: expect.any(Number) };
    expect(body.snapshot).toMatchObject({ state: 'completed', removed: 0, held });
    const count = async () => (await test.call('GET', `/v3/connections/${id}`)).body.documentCount;
    expect(await count()).toBe(body.snapshot.held.of);
    expect((await test.call('POST', `/v3/connections/${id}/pending-deletes/confirm`)).status).toBe(200);
    expect(await count()).toBe(5);
    expect((await test.call('GET', `/v3/connections/${id}/progress`)).body.heldDeletes).toBe(0);
  });

  it('that never came leaves nothing to confirm', async () => {
    const made = await test.call('POST', '/v3/connections/push', { containerTag: 'unused' });
    const answer = await test.call('POST', `/v3/connections/${made.body.id}/pending-deletes/confirm`);
    expect(answer.status).toBe(200);
  });

  it('goes to connections of different names only', async () => {
    const twin = await test.call('POST', '/v3/connections/push', { containerTag: 'mine' });
    expect(twin.status).toBe(409);
    const named = await test.call('POST', '/v3/connections/push', { containerTag: 'mine', metadata: { name: 'crm' } });
    expect(named.status).toBe(200);
    await push({ upserts: [{ id: 'same', text: 'mine' }] });
    await test.call('POST', `/v3/connections/${named.body.id}/push`, { upserts: [{ id: 'same', text: 'of the crm' }] });
    const texts = await Promise.all(
      ['push:same', 'push:crm:same'].map(
        async (one) => (await test.call('GET', `/v3/documents/${encodeURIComponent(one)}`)).body.raw,
      ),
    );
    expect(texts).toEqual(['mine', 'of the crm']);
  });
});
