import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Connector } from '../../src/connector/contract.ts';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

type Source = ReturnType<typeof createSyntheticSource>;

/** A source of which items named `bad…` cannot be read and items named `big…` are too large. */
function troubledConnector(source: Source): Connector<any, any> {
  const connector = source.connector({ incremental: true });
  return {
    ...connector,
    async fetch(context, partition, ref) {
      if (ref.id.startsWith('big')) return { skip: 'too_large', detail: 'It has 9 GB.' };
      return connector.fetch(context, partition, ref);
    },
  };
}

describe('items', () => {
  let test: TestApi;
  let source: Source;
  let connector: Connector<any, any>;
  let connection: string;
  let counter = 0;
  beforeAll(async () => {
    test = await startTestApi({ connectors: { synthetic: createSyntheticSource().connector() } });
  });
  afterAll(() => test.close());
  beforeEach(async () => {
    source = createSyntheticSource({ pageSize: 50 });
    connector = troubledConnector(source);
    const { body } = await test.call('POST', '/v3/connections/synthetic', { containerTag: `items_${counter++}` });
    connection = body.id;
  });

  const url = (rest: string) => `/v3/connections/${connection}/${rest}`;
  const sync = () => runDueSync(test, connector, connection);
  const items = async (query = '') => (await test.call('GET', url(`items${query}`))).body.items;
  const ids = async (query = '') => (await items(query)).map((item: { id: string }) => item.id);

  /** Five items: two that are read, one that fails, one that failed for good, one that is too large. */
  async function mirrorFive(): Promise<void> {
    for (const id of ['a', 'bad', 'bad-for-good', 'big', 'z']) source.put(id, `text of ${id}`);
    source.intercept((request) => {
      if (request.startsWith('fetch bad')) throw source.fail('The server is tired.');
    });
    await sync();
    await test.database.execute(sql`
      update sync_items set next_try = null where connection_id = ${connection} and ext_id = 'bad-for-good'`);
    source.intercept(() => {});
  }

  it('are listed with the reason why they failed or were skipped', async () => {
    await mirrorFive();
    expect(await ids()).toEqual(['a', 'bad', 'bad-for-good', 'big', 'z']);
    expect(await items('?state=skipped')).toEqual([
      {
        id: 'big',
        customId: 'synthetic:big',
        partition: 'all',
        title: 'big',
        path: '/big',
        url: null,
        mimeType: null,
        size: 11,
        state: 'skipped',
        attempts: 0,
        nextRetryAt: null,
        errorClass: 'too_large',
        error: 'It has 9 GB.',
        documentId: null,
        updatedAt: test.clock.now().toISOString(),
      },
    ]);
    const [failed] = await items('?state=failed');
    expect(failed).toMatchObject({ id: 'bad', errorClass: 'transient', error: 'The server is tired.' });
    expect(new Date(failed.nextRetryAt).getTime()).toBeGreaterThan(test.clock.now().getTime());
    expect(await items('?state=dead')).toMatchObject([{ id: 'bad-for-good', state: 'dead', nextRetryAt: null }]);
    expect(await ids('?state=failed,dead&class=transient')).toEqual(['bad', 'bad-for-good']);
    expect(await ids('?state=failed&state=skipped&class=too_large')).toEqual(['big']);
    const [done] = await items('?state=done&limit=1');
    expect((await test.call('GET', `/v3/documents/${done.documentId}`)).body.customId).toBe('synthetic:a');
  });

  it('are found by a part of their title, path or id, in any case', async () => {
    await mirrorFive();
    expect(await ids('?q=BAD')).toEqual(['bad', 'bad-for-good']);
    expect(await ids('?q=bad&state=dead')).toEqual(['bad-for-good']);
    expect(await ids('?q=/big')).toEqual(['big']);
    for (const text of ['%', '_', 'none', '%5C']) expect(await ids(`?q=${encodeURIComponent(text)}`)).toEqual([]);
    expect((await test.call('GET', url('items?q='))).status).toBe(400);
  });

  it('have the title of their document where the source lists none, and are found by it', async () => {
    await mirrorFive();
    await test.database.execute(sql`update sync_items set ref = ref - 'title' where connection_id = ${connection}`);
    const [{ documentId }] = await items('?q=a&state=done');
    await test.database.execute(sql`update documents set title = 'Lunch with Ines' where id = ${documentId}`);
    expect(await items('?q=lunch')).toMatchObject([{ id: 'a', title: 'Lunch with Ines', documentId }]);
    expect(await items('?q=big')).toMatchObject([{ id: 'big', title: null }]);
  });

  it('that failed or were skipped are counted by reason, with what can be done', async () => {
    source.put('bad-too', 'x');
    source.put('torn', 'x');
    await mirrorFive();
    await test.database.execute(sql`
      update documents set status = 'failed', error_code = 'extract_failed', error_message = 'It is damaged.',
        next_attempt_at = null where custom_id = 'synthetic:torn' and connection_id = ${connection}`);
    const later = new Date(test.clock.now().getTime() + 1_000);
    await test.database.execute(sql`
      update sync_items set error = 'The server sleeps.', updated_at = ${later}
      where connection_id = ${connection} and ext_id = 'bad-too'`);
    const { status, body } = await test.call('GET', url('failures'));
    expect(status).toBe(200);
    const lastAt = test.clock.now().toISOString();
    expect(body.causes).toEqual([
      {
        ...{ state: 'failed', class: 'transient', count: 2, message: 'The server sleeps.', retriable: true },
        ...{ lastAt: later.toISOString(), nextRetryAt: expect.any(String) },
        remedy: 'Nothing needs to be done: it is tried again by itself.',
      },
      {
        ...{ state: 'dead', class: 'extract_failed', count: 1, message: 'It is damaged.', retriable: true },
        ...{ lastAt, nextRetryAt: null },
        remedy: 'Repair the file at the source.',
      },
      {
        ...{ state: 'dead', class: 'transient', count: 1, message: 'The server is tired.', retriable: true },
        ...{ lastAt, nextRetryAt: null },
        remedy: 'Try it again: it is not tried by itself any more.',
      },
      {
        ...{ state: 'skipped', class: 'too_large', count: 1, message: 'It has 9 GB.', retriable: true },
        ...{ lastAt, nextRetryAt: null },
        remedy: 'Split it, or raise the limit in the configuration.',
      },
    ]);
    expect((await test.call('GET', '/v3/connections/none/failures')).status).toBe(404);
  });

  it('come in pages that meet without gap or overlap, also while items come and go', async () => {
    for (let place = 10; place < 21; place++) source.put(`item-${place}`, 'x');
    await sync();
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await test.call('GET', url(`items?limit=4${cursor === '' ? '' : `&cursor=${cursor}`}`));
      expect(body.items.length).toBeLessThanOrEqual(4);
      seen.push(...body.items.map((item: { id: string }) => item.id));
      cursor = body.next;
      source.put('item-00', 'before the pages');
      await test.call('POST', url('sync'));
      await sync();
    }
    expect(seen).toEqual(Array.from({ length: 11 }, (_, place) => `item-${place + 10}`));
  });

  it.each([
    ['state=lost', 'state[0] must be one of pending, held, fetching, done, failed, dead, skipped, suppressed, gone'],
    ['limit=0', 'limit must be between 1 and 1000'],
    ['limit=1001', 'limit must be between 1 and 1000'],
  ])('are not listed for ?%s', async (query, message) => {
    const { status, body } = await test.call('GET', url(`items?${query}`));
    expect([status, body.error?.[0]?.message]).toEqual([400, message]);
  });

  it.each(['x', 'WyJhIl0', 'WzEsMl0', 'bnVsbA'])('are not listed from the cursor %s', async (cursor) => {
    expect(await test.call('GET', url(`items?cursor=${cursor}`))).toMatchObject({
      status: 400,
      body: { error: 'cursor is not one that a page before has given' },
    });
    expect((await test.call('GET', url(`pending-deletes?cursor=${cursor}`))).status).toBe(400);
  });

  it('that failed are tried again on request, all or by state and class', async () => {
    await mirrorFive();
    const retry = (body?: object) => test.call('POST', url('items/retry'), body);
    expect(await retry({ class: ['forbidden'] })).toMatchObject({ status: 200, body: { retried: 0 } });
    expect(await retry({ state: 'dead', class: 'transient' })).toMatchObject({ status: 200, body: { retried: 1 } });
    expect(await retry()).toMatchObject({ status: 200, body: { retried: 1 } });
    expect(await ids('?state=pending')).toEqual(['bad', 'bad-for-good']);
    source.requests.length = 0;
    await sync();
    expect(await ids('?state=done')).toEqual(['a', 'bad', 'bad-for-good', 'z']);
    // Nothing else was asked of the source.
    expect(source.requests.toSorted()).toEqual(['fetch bad', 'fetch bad-for-good']);
  });

  it('fail with their documents, and bring them to be processed again', async () => {
    source.put('damaged', 'x');
    source.put('fine', 'y');
    await sync();
    await test.database.execute(sql`
      update documents set status = 'failed', error_code = 'extract_failed', error_message = 'The file is damaged.',
        next_attempt_at = null, lease_token = null where custom_id = 'synthetic:damaged'`);
    expect(await ids('?state=done')).toEqual(['fine']);
    expect(await ids('?state=failed')).toEqual([]);
    expect((await test.call('GET', url('items?state=dead'))).body.items).toMatchObject([
      { id: 'damaged', state: 'dead', errorClass: 'extract_failed', error: 'The file is damaged.', nextRetryAt: null },
    ]);
    expect((await test.call('GET', url('progress'))).body.items).toMatchObject({ done: 1, failed: 1 });
    const retry = (body?: object) => test.call('POST', url('items/retry'), body);
    const status = async () =>
      (await test.database.query(sql`select status from documents where custom_id = 'synthetic:damaged'`))[0];
    expect((await retry({ class: ['transient'] })).body).toEqual({ retried: 0 });
    expect(await status()).toEqual({ status: 'failed' });
    expect((await retry()).body).toEqual({ retried: 1 });
    expect(await status()).toEqual({ status: 'queued' });
    expect(await ids('?state=pending')).toEqual(['damaged']);
    await sync();
    expect(await ids('?state=done')).toEqual(['damaged', 'fine']);
    expect(await status()).toEqual({ status: 'queued' });
  });

  it('whose document failed for good are read again at the source, where they may have been mended', async () => {
    source.put('damaged', 'x');
    source.put('waiting', 'y');
    await sync();
    const fail = (id: string, next: Date | null) =>
      test.database.execute(sql`
        update documents set status = 'failed', error_code = 'extract_failed', next_attempt_at = ${next}, lease_token = null
        where connection_id = ${connection} and custom_id = ${`synthetic:${id}`}`);
    await fail('damaged', null);
    await fail('waiting', new Date(test.clock.now().getTime() + 60_000));
    source.put('damaged', 'mended');
    expect((await test.call('POST', url('items/retry'))).body).toEqual({ retried: 2 });
    source.requests.length = 0;
    await sync();
    expect(source.requests).toEqual(['fetch damaged']);
    expect(await ids('?state=done')).toEqual(['damaged', 'waiting']);
    const [{ documentId }] = await items('?q=damaged');
    expect((await test.call('GET', `/v3/documents/${documentId}`)).body.raw).toBe('mended');
  });

  it('are tried again when a paused connection is resumed', async () => {
    await mirrorFive();
    await test.call('POST', url('pause'));
    expect((await test.call('POST', url('items/retry'))).body).toEqual({ retried: 2 });
    await sync();
    expect(await ids('?state=pending')).toEqual(['bad', 'bad-for-good']);
    await test.call('POST', url('resume'));
    await sync();
    expect(await ids('?state=pending,failed,dead')).toEqual([]);
  });

  it.each([
    [{ state: ['done'] }, 'state must be one or several of failed, dead, skipped'],
    [{ state: [] }, 'state must be one or several of failed, dead, skipped'],
    [{ class: 5 }, 'class must be an error class or several'],
  ])('are not tried again for %j', async (body, message) => {
    const answer = await test.call('POST', url('items/retry'), body);
    expect([answer.status, answer.body.error?.[0]?.message]).toEqual([400, message]);
  });

  it('are read again one by one, whatever their state, by id or customId', async () => {
    source.put('notes/plan 1.md', 'the plan');
    await sync();
    const [{ documentId }] = await items();
    await test.call('DELETE', `/v3/documents/${documentId}`);
    expect(await items()).toMatchObject([{ state: 'suppressed', documentId: null }]);
    for (const name of ['notes/plan 1.md', 'synthetic:notes/plan 1.md']) {
      const answer = await test.call('POST', url(`items/${encodeURIComponent(name)}/retry`));
      expect(answer).toMatchObject({ status: 200, body: { id: 'notes/plan 1.md', state: 'pending', attempts: 0 } });
    }
    await sync();
    expect(await items()).toMatchObject([{ state: 'done', documentId: expect.any(String) }]);
    expect(await test.call('POST', url('items/none/retry'))).toMatchObject({
      status: 404,
      body: { error: 'Item not found' },
    });
  });

  it('that a sync is at work on, or that the filters leave out, are left alone', async () => {
    source.put('a', 'x');
    source.put('b', 'x');
    await sync();
    await test.database.execute(sql`
      update sync_items set state = 'fetching' where connection_id = ${connection} and ext_id = 'a'`);
    const busy = await test.call('POST', url('items/a/retry'));
    expect(busy).toMatchObject({ status: 409, body: { error: 'The item is fetching; a sync is at work on it' } });
    expect(busy.headers['x-should-retry']).toBeUndefined();
    await test.call('PATCH', `/v3/connections/${connection}`, { filters: { exclude: ['b'] } });
    await sync();
    const filtered = await test.call('POST', url('items/b/retry'));
    expect([filtered.status, filtered.headers['x-should-retry'], filtered.body]).toEqual([
      409,
      'false',
      { error: 'The connection does not mirror the item', details: expect.stringContaining('exclude') },
    ]);
    expect((await test.call('POST', url('items/retry'), { state: 'skipped' })).body).toEqual({ retried: 0 });
  });

  it('that were deleted here come back with restoreDeleted, and only then', async () => {
    source.put('a', 'the text');
    await sync();
    const [{ documentId }] = await items();
    await test.call('DELETE', `/v3/documents/${documentId}`);
    await test.call('POST', url('sync'), { mode: 'full' });
    await sync();
    expect(await ids('?state=suppressed')).toEqual(['a']);
    expect(await test.call('POST', url('sync'), { restoreDeleted: true, dryRun: true })).toMatchObject({ status: 400 });
    expect((await test.call('POST', url('sync'), { mode: 'full', restoreDeleted: true })).status).toBe(202);
    await sync();
    expect(await ids('?state=done')).toEqual(['a']);
  });

  it('whose deletion is held are listed, and go or stay as it is decided', async () => {
    for (let place = 10; place < 40; place++) source.put(`item-${place}`, 'x');
    await sync();
    expect((await test.call('GET', url('pending-deletes'))).body).toEqual({
      count: 0,
      partitions: [],
      items: [],
      next: null,
    });
    for (let place = 10; place < 40; place++) source.remove(`item-${place}`);
    await test.call('POST', url('sync'), { mode: 'full' });
    source.expirePositions();
    await sync();
    const { body: held } = await test.call('GET', url('pending-deletes?limit=20'));
    expect(held).toMatchObject({
      count: 30,
      partitions: [{ id: 'all', title: 'Everything', count: 30, of: 30, confirmed: false }],
    });
    expect(held.items).toHaveLength(20);
    expect(held.items[0]).toMatchObject({ id: 'item-10', state: 'gone', documentId: expect.any(String) });
    const { body: rest } = await test.call('GET', url(`pending-deletes?limit=20&cursor=${held.next}`));
    expect([rest.items.length, rest.next]).toEqual([10, null]);
    expect((await test.call('POST', url('pending-deletes/confirm'))).body).toMatchObject({ heldDeletes: 0 });
    expect((await test.call('GET', url('pending-deletes'))).body).toMatchObject({
      count: 0,
      partitions: [{ count: 30, confirmed: true }],
    });
    await sync();
    expect(await ids()).toEqual([]);
    expect((await test.call('GET', url('pending-deletes'))).body.count).toBe(0);
  });

  it('are for keys of the container to see, and for those that write to try again', async () => {
    source.put('a', 'x');
    await sync();
    const { containerTag } = (await test.call('GET', `/v3/connections/${connection}`)).body;
    const reader = await test.newKey({ containerTags: [containerTag], permission: 'read' });
    const writer = await test.newKey({ containerTags: [containerTag] });
    const stranger = await test.newKey({ containerTags: ['elsewhere'] });
    for (const path of ['items', 'pending-deletes', 'runs']) {
      expect((await test.call('GET', url(path), undefined, reader)).status).toBe(200);
      const foreign = await test.call('GET', url(path), undefined, stranger);
      expect(foreign).toMatchObject({ status: 404, body: { error: 'Connection not found' } });
    }
    for (const path of ['items/retry', 'items/a/retry', 'cancel', 'check', 'pending-deletes/reject']) {
      expect([path, (await test.call('POST', url(path), undefined, reader)).body]).toEqual([
        path,
        { error: 'This key may only read' },
      ]);
      expect((await test.call('POST', url(path), undefined, stranger)).status).toBe(404);
      expect([200, 409]).toContain((await test.call('POST', url(path), undefined, writer)).status);
    }
    for (const path of ['pause', 'resume']) {
      for (const key of [writer, stranger]) {
        expect(await test.call('POST', url(path), undefined, key)).toMatchObject({ status: 403 });
      }
    }
  });
});
