import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { createSyncItems } from '../../src/connections/item-service.ts';
import { createPush } from '../../src/inbound/push/create-push.ts';
import type { Push, PushAnswer, PushRequest, PushUpsert } from '../../src/inbound/push/push-service.ts';
import { defaultRunSettings } from '../../src/sync/run.ts';
import { createSyncRuns } from '../../src/connections/run-service.ts';
import { newId } from '../../src/base/ids.ts';
import { insertConnection } from '../../src/store/connections.ts';
import type { Database } from '../../src/store/database.ts';
import { sql } from '../../src/store/sql.ts';
import { listRuns } from '../../src/store/sync-runs.ts';
import { suppressItemsOfDocuments } from '../../src/store/sync-items.ts';
import { removeDocuments } from '../../src/engine/remove.ts';
import { createTestClock } from '../support/clock.ts';
import { crashingAt } from '../support/crashing-at.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

describe('pushing', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open(
    fields: { filters?: object; documentLimit?: number; onSourceDelete?: 'keep'; config?: object } = {},
  ) {
    opened = await openTestDatabase();
    const { database } = opened;
    const clock = createTestClock();
    const woken: number[] = [];
    const options = {
      clock,
      log: createLogger('silent'),
      settings: { ...defaultRunSettings, brakeItems: 3 },
      wake: async (count: number) => void woken.push(count),
    };
    const id = newId(clock.now());
    await database.transaction((tx) =>
      insertConnection(tx, {
        id,
        provider: 'push',
        containerTag: 'pushed',
        status: 'active',
        config: { name: 'default', ...fields.config },
        metadata: { team: 'support' },
        filters: fields.filters ?? {},
        documentLimit: fields.documentLimit ?? null,
        onSourceDelete: fields.onSourceDelete ?? 'delete',
        schedule: 'manual',
        syncEveryMs: null,
        now: clock.now(),
      }),
    );
    const push = createPush({ ...options, database });
    return {
      id,
      clock,
      woken,
      service: push,
      send: (request: Partial<PushRequest>, used = push) => used.push(id, complete(request)),
      withDatabase: (other: typeof database) => createPush({ ...options, database: other }),
      /** Text by id of what memory shows. */
      async texts(): Promise<Record<string, string>> {
        const rows = await database.query<{ id: string; raw: string }>(sql`
          select i.ext_id as id, c.raw from sync_items i join documents d on d.id = i.document_id
          join document_contents c on c.document_id = d.id
          where i.connection_id = ${id} and d.deleted_at is null order by i.ext_id`);
        return Object.fromEntries(rows.map((row) => [row.id, row.raw]));
      },
      documents: () =>
        database.query<Record<string, any>>(sql`
          select custom_id, title, url, filepath, metadata, source, connection_id, document_date, revision, status, xmin::text
          from documents where container_tag = 'pushed' and deleted_at is null order by custom_id`),
      runs: () => listRuns(database, id, { limit: 20 }),
    };
  }

  it('makes documents of new items and tells what became of each', async () => {
    const { id, send, texts, documents, woken, runs } = await open();
    const answer = await send({
      upserts: [
        upsert('a', 'first', {
          title: 'A',
          url: 'https://example.com/a',
          path: '/x/a.md',
          updatedAt: '2026-02-01T00:00:00.000Z',
        }),
        upsert('b', 'second', { metadata: { labels: ['new'] } }),
        { refused: { id: null, error: 'id is required' } },
      ],
    });
    expect(answer).toMatchObject({ replayed: false, snapshot: null });
    expect(answer.counts).toEqual({ created: 2, updated: 0, unchanged: 0, skipped: 0, deleted: 0, failed: 1 });
    expect(answer.upserts).toEqual([
      { id: 'a', status: 'created', documentId: expect.any(String), error: null },
      { id: 'b', status: 'created', documentId: expect.any(String), error: null },
      { id: null, status: 'failed', documentId: null, error: 'id is required' },
    ]);
    expect(await texts()).toEqual({ a: 'first', b: 'second' });
    expect(woken).toEqual([2]);
    expect((await documents())[0]).toMatchObject({
      custom_id: 'push:a',
      title: 'A',
      url: 'https://example.com/a',
      filepath: '/x/a.md',
      source: 'push',
      connection_id: id,
      metadata: { team: 'support' },
      document_date: new Date('2026-02-01T00:00:00.000Z'),
    });
    const [run] = await runs();
    expect(run).toMatchObject({ status: 'completed', triggerType: 'event', itemsAdded: 2, itemsFailed: 1 });
    expect(run!.failures).toEqual([{ customId: '', documentId: null, title: null, error: 'id is required' }]);
  });

  it('writes nothing for what is unchanged, by rev and by content', async () => {
    const { send, documents, woken } = await open();
    const first = [upsert('a', 'same', { rev: '1' }), upsert('b', 'same b')];
    await send({ upserts: first });
    const before = await documents();
    const again = await send({
      upserts: [upsert('a', 'another text under the same rev', { rev: '1' }), upsert('b', 'same b')],
    });
    expect(again.upserts.map(({ status }) => status)).toEqual(['unchanged', 'unchanged']);
    expect(await documents()).toEqual(before);
    // A new rev of the same content is not processed again.
    const newRev = await send({ upserts: [upsert('a', 'same', { rev: '2' })] });
    expect(newRev.upserts[0]).toMatchObject({ status: 'unchanged', documentId: expect.any(String) });
    expect((await documents()).map(({ revision }) => revision)).toEqual([1, 1]);
    expect(woken).toEqual([2]);
  });

  it('updates what changed, also when only a field did', async () => {
    const { send, texts, documents } = await open();
    await send({ upserts: [upsert('a', 'old'), upsert('b', 'kept', { title: 'Old title' })] });
    const answer = await send({ upserts: [upsert('a', 'new'), upsert('b', 'kept', { title: 'New title' })] });
    expect(answer.upserts.map(({ status }) => status)).toEqual(['updated', 'updated']);
    expect(await texts()).toEqual({ a: 'new', b: 'kept' });
    expect((await documents()).map(({ title, revision }) => [title, revision])).toEqual([
      [null, 2],
      ['New title', 1],
    ]);
  });

  it('takes the last of several entries with one id', async () => {
    const { send, texts } = await open();
    const answer = await send({ upserts: [upsert('a', 'one'), upsert('b', 'other'), upsert('a', 'two')] });
    expect(answer.upserts.map(({ status }) => status)).toEqual(['superseded', 'created', 'created']);
    expect(await texts()).toEqual({ a: 'two', b: 'other' });
  });

  it('deletes, and undoes a deletion without processing the document again', async () => {
    const { send, texts, documents, woken } = await open();
    await send({ upserts: [upsert('a', 'text a'), upsert('b', 'text b')] });
    const [before] = await documents();
    const answer = await send({
      upserts: [upsert('b', 'text b')],
      deletes: [{ id: 'a' }, { id: 'never there' }, { id: 'b' }, { refused: { id: null, error: 'no id' } }],
    });
    expect(answer.deletes.map(({ status }) => status)).toEqual(['deleted', 'absent', 'failed', 'failed']);
    expect(await texts()).toEqual({ b: 'text b' });
    expect((await send({ upserts: [upsert('a', 'text a')] })).upserts[0]).toMatchObject({ status: 'created' });
    expect(await texts()).toEqual({ a: 'text a', b: 'text b' });
    expect((await documents())[0]).toMatchObject({ revision: before!.revision });
    expect(woken[0]).toBe(2);
  });

  it('keeps documents without their connection when the connection says so', async () => {
    const { send, documents } = await open({ onSourceDelete: 'keep' });
    await send({ upserts: [upsert('a', 'text a')] });
    await send({ deletes: [{ id: 'a' }] });
    expect(await documents()).toMatchObject([{ custom_id: 'push:a', connection_id: null }]);
  });

  it('keeps the ids of connections with different names apart', async () => {
    const { send, documents } = await open({ config: { name: 'crm' } });
    await send({ upserts: [upsert('1', 'text')] });
    expect((await documents()).map((one) => one.custom_id)).toEqual(['push:crm:1']);
  });

  it('leaves out what the filters leave out, and takes it in when they change', async () => {
    const { id, send, texts } = await open({ filters: { exclude: ['*.log'] } });
    const items = [upsert('a', 'text', { path: '/a.md' }), upsert('b', 'noise', { path: '/b.log' })];
    const answer = await send({ upserts: items });
    expect(answer.upserts[1]).toMatchObject({ status: 'skipped', error: expect.stringContaining('exclude') });
    expect(await texts()).toEqual({ a: 'text' });
    await opened.database.execute(sql`update connections set filters = '{}' where id = ${id}`);
    expect((await send({ upserts: items })).upserts.map(({ status }) => status)).toEqual(['unchanged', 'created']);
    await opened.database.execute(sql`update connections set filters = '{"exclude": ["*.md"]}' where id = ${id}`);
    await send({ upserts: [upsert('a', 'text, edited', { path: '/a.md' })] });
    expect(await texts()).toEqual({ b: 'noise' });
  });

  it('takes no more than the document limit', async () => {
    const { send, texts } = await open({ documentLimit: 2 });
    const answer = await send({ upserts: [upsert('a', '1'), upsert('b', '2'), upsert('c', '3')] });
    expect(answer.upserts.map(({ status }) => status)).toEqual(['created', 'created', 'failed']);
    await send({ upserts: [upsert('a', '1, edited')], deletes: [{ id: 'b' }] });
    expect((await send({ upserts: [upsert('c', '3')] })).counts.created).toBe(1);
    expect(await texts()).toEqual({ a: '1, edited', c: '3' });
  });

  it('keeps deleted what the user deleted, until it changes', async () => {
    const { send, texts } = await open();
    const { upserts } = await send({ upserts: [upsert('a', 'text')] });
    await opened.database.transaction(async (tx) => {
      await suppressItemsOfDocuments(tx, [upserts[0]!.documentId!], new Date());
      await removeDocuments(tx, [upserts[0]!.documentId!], new Date());
    });
    expect((await send({ upserts: [upsert('a', 'text')] })).upserts[0]!.status).toBe('suppressed');
    expect((await send({ upserts: [upsert('a', 'edited')] })).upserts[0]!.status).toBe('created');
    expect(await texts()).toEqual({ a: 'edited' });
  });

  describe('a delivery', () => {
    it('that comes again gets the first answer and changes nothing, also when it is older by now', async () => {
      const { send, texts } = await open();
      const first = { deliveryId: 'd1', upserts: [upsert('a', 'old'), { refused: { id: 'x', error: 'bad' } }] };
      const answer = await send(first);
      await send({ deliveryId: 'd2', upserts: [upsert('a', 'new')] });
      const repeated = await send(first);
      expect(repeated).toEqual({ ...answer, replayed: true, upserts: [answer.upserts[1]] });
      expect(await texts()).toEqual({ a: 'new' });
    });

    it('is refused when its id was used for something else', async () => {
      const { send, texts } = await open();
      await send({ deliveryId: 'd1', upserts: [upsert('a', 'old')] });
      await expect(send({ deliveryId: 'd1', upserts: [upsert('a', 'new')] })).rejects.toMatchObject({
        code: 'conflict',
      });
      expect(await texts()).toEqual({ a: 'old' });
    });

    it('is taken once when it comes many times at once', async () => {
      const { send, runs } = await open();
      const request = { deliveryId: 'd1', upserts: [upsert('a', 'text')] };
      const answers = await Promise.all(Array.from({ length: 5 }, () => send(request)));
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(await runs()).toMatchObject([{ itemsAdded: 1, itemsSeen: 1 }]);
    });

    it('of many at once ends with each item in one document', async () => {
      const { send, documents } = await open();
      await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          send({ upserts: [upsert('same', `text ${index}`), upsert(`own ${index}`, 'x')] }),
        ),
      );
      expect(await documents()).toHaveLength(7);
    });

    it('that crashes at any statement leaves nothing behind, and succeeds when it comes again', async () => {
      const { send, withDatabase, texts } = await open();
      await send({ upserts: [upsert('old', 'old'), upsert('gone', 'gone')] });
      const request = {
        deliveryId: 'd1',
        upserts: [upsert('old', 'edited'), upsert('new', 'new')],
        deletes: [{ id: 'gone' }],
      };
      let crashes = 0;
      for (let crashAt = 1; ; crashAt++) {
        const crashing = crashingAt(opened.database, crashAt);
        const crashed = await send(request, withDatabase(crashing)).then(
          () => false,
          () => true,
        );
        crashes += Number(crashed);
        if (!crashed) break;
        expect(await texts()).toEqual({ old: 'old', gone: 'gone' });
      }
      expect(crashes).toBeGreaterThan(10);
      expect(await texts()).toEqual({ old: 'edited', new: 'new' });
    });
  });

  describe('a snapshot', () => {
    const items = (...ids: string[]) => ids.map((id) => upsert(id, `text of ${id}`));

    it('in one request removes what it does not show', async () => {
      const { send, texts, runs } = await open();
      await send({ upserts: items('a', 'b', 'c', 'd') });
      const answer = await send({ upserts: items('a', 'b', 'd', 'e'), completeSnapshot: true });
      expect(answer.snapshot).toEqual({
        id: expect.any(String),
        state: 'completed',
        nextPage: 2,
        removed: 1,
        held: null,
        incomplete: null,
      });
      expect(answer.counts).toMatchObject({ created: 1, unchanged: 3, deleted: 1 });
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'd', 'e']);
      expect((await runs())[0]).toMatchObject({ mode: 'full', status: 'completed', itemsDeleted: 1, itemsSeen: 4 });
    });

    it('in pages removes only when the last one came, and never what was pushed meanwhile', async () => {
      const { send, texts, service, id } = await open();
      await send({ upserts: items('a', 'b', 'c', 'd', 'e') });
      await send({ snapshot: { id: 's', page: 1 }, upserts: items('a', 'b') });
      await send({ snapshot: { id: 's', page: 2 }, upserts: items('c') });
      await send({ upserts: items('beside') });
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'beside', 'c', 'd', 'e']);
      expect((await service.state(id)).snapshot).toMatchObject({ id: 's', state: 'open', nextPage: 3 });
      const last = await send({ snapshot: { id: 's', page: 3 }, upserts: items('d'), completeSnapshot: true });
      expect(last.snapshot).toMatchObject({ state: 'completed', removed: 1 });
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'beside', 'c', 'd']);
    });

    it('whose connection is lost in the middle never removes anything, also when another one follows', async () => {
      const { send, texts, runs } = await open();
      await send({ upserts: items('a', 'b', 'c', 'd') });
      await send({ snapshot: { id: 'lost', page: 1 }, upserts: items('a') });
      await send({ snapshot: { id: 'next', page: 1 }, upserts: items('a', 'b', 'c') });
      expect(Object.keys(await texts())).toHaveLength(4);
      await expect(send({ snapshot: { id: 'lost', page: 2 }, completeSnapshot: true })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('replaced'),
      });
      expect((await runs()).find(({ status }) => status === 'failed')?.error).toBe('Another snapshot was begun.');
      await send({ snapshot: { id: 'next', page: 2 }, completeSnapshot: true });
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'c']);
    });

    it('refuses a page that skips one, and takes the last one again', async () => {
      const { send, texts } = await open();
      await expect(send({ snapshot: { id: 's', page: 2 }, upserts: items('a') })).rejects.toMatchObject({
        code: 'conflict',
      });
      await send({ snapshot: { id: 's', page: 1 }, upserts: items('a') });
      await expect(
        send({ snapshot: { id: 's', page: 3 }, upserts: items('c'), completeSnapshot: true }),
      ).rejects.toThrow('Page 2 of the snapshot is expected, page 3 came');
      await send({ snapshot: { id: 's', page: 1 }, upserts: items('a') });
      const last = { snapshot: { id: 's', page: 2 }, upserts: items('b'), completeSnapshot: true };
      expect((await send(last)).snapshot).toMatchObject({ state: 'completed', nextPage: 3 });
      expect((await send(last)).snapshot).toMatchObject({ state: 'completed' });
      await expect(send({ snapshot: { id: 's', page: 3 }, upserts: items('c') })).rejects.toThrow('is complete');
      expect(Object.keys(await texts())).toEqual(['a', 'b']);
    });

    it('does not remove items whose entries were refused, and nothing when one had no id', async () => {
      const { send, texts } = await open();
      await send({ upserts: items('a', 'b', 'c', 'd', 'e') });
      const refused = { refused: { id: 'b', error: 'text is too large' } };
      await send({ upserts: [...items('a', 'c', 'd'), refused], completeSnapshot: true });
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'c', 'd']);
      const nameless = await send({
        upserts: [...items('a', 'c'), { refused: { id: null, error: 'id is required' } }],
        completeSnapshot: true,
      });
      expect(nameless.snapshot).toMatchObject({
        removed: 0,
        incomplete: expect.stringContaining('without a usable id'),
      });
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'c', 'd']);
    });

    it('that cannot show some parts keeps what lies in them, and removes the rest; the connection says which and why', async () => {
      const { id, clock, send, texts, runs } = await open();
      const at = (...paths: string[]) => paths.map((path) => upsert(path, `text of ${path}`, { path }));
      await send({ upserts: at('a/1', 'a/2', 'ab', 'b/1', 'c') });
      const unread = [{ path: 'a', reason: 'the server is away' }];
      await send({ snapshot: { id: 's', page: 1 }, upserts: at('b/1'), unread });
      await send({ snapshot: { id: 's', page: 2 }, upserts: at('c'), completeSnapshot: true });
      expect(Object.keys(await texts())).toEqual(['a/1', 'a/2', 'b/1', 'c']);
      const { problems } = await createSyncRuns({ database: opened.database, clock, wake: async () => {} }).progress(
        id,
      );
      expect(problems.map(({ reason }) => reason)).toEqual([expect.stringContaining('a (the server is away)')]);
      expect((await runs())[0]!.warnings).toMatchObject([
        { message: expect.stringContaining('a (the server is away)') },
      ]);
      await send({ upserts: at('a/1', 'b/1', 'c'), completeSnapshot: true });
      expect(Object.keys(await texts())).toEqual(['a/1', 'b/1', 'c']);
    });

    it('that would remove too much is held, until it is confirmed or shown again later', async () => {
      const { id, send, texts, service, clock } = await open();
      const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
      await send({ upserts: items(...all) });
      const held = await send({ upserts: items('a', 'b'), completeSnapshot: true });
      expect(held.snapshot).toMatchObject({ state: 'completed', removed: 0, held: { count: 6, of: 8 } });
      expect(Object.keys(await texts())).toEqual(all);
      clock.advance(11 * 60_000);
      expect((await send({ upserts: items('a', 'b'), completeSnapshot: true })).snapshot).toMatchObject({
        removed: 6,
        held: null,
      });
      expect(Object.keys(await texts())).toEqual(['a', 'b']);

      await send({ upserts: items(...all) });
      await send({ upserts: items('a', 'b'), completeSnapshot: true });
      await service.settleHeld(id);
      expect(Object.keys(await texts())).toEqual(all);
      await opened.database.execute(sql`
        update partitions set held_sweep = held_sweep || '{"confirmed": true}' where connection_id = ${id}`);
      await send({ upserts: items('h') });
      await service.settleHeld(id);
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'h']);
    });

    describe.each([
      { what: 'others', later: 0, until: 15 },
      { what: 'more', later: 20, until: 30 },
    ])('that misses $what', ({ later, until }) => {
      const all = Array.from({ length: 30 }, (_, index) => `item-${String(index).padStart(2, '0')}`);
      const shown = all.slice(later, until);
      const missed = all.filter((name) => !shown.includes(name));

      /** The removal of the first fifteen items is held; `snapshot` is the one that misses others. */
      async function openHeld() {
        const world = await open();
        await world.send({ upserts: items(...all) });
        await world.send({ upserts: items(...all.slice(15)), completeSnapshot: true });
        const requestSync = async () => Promise.reject(new Error('nothing is to be listed'));
        const made = (push: Pick<Push, 'settleHeld'>) =>
          createSyncItems({ database: opened.database, clock: world.clock, requestSync, push });
        const held = async () => {
          const { items: pending } = await made(world.service).pendingDeletes(world.id, { limit: 50 });
          return pending.entries.map((item) => item.id);
        };
        const snapshot = async () => {
          world.clock.advance(1_000);
          await world.send({ upserts: items(...shown), completeSnapshot: true });
        };
        expect(await held()).toEqual(all.slice(0, 15));
        return { ...world, made, held, snapshot, names: async () => Object.keys(await world.texts()) };
      }

      it('before a confirmation is carried out holds everything again', async () => {
        const { id, service, made, held, snapshot, names } = await openHeld();
        const settleHeld = () => snapshot().then(() => service.settleHeld(id));
        await made({ settleHeld }).resolveHeldSweep(id, 'confirm');
        expect(await names()).toEqual(all);
        expect(await held()).toEqual(missed);
        await made(service).resolveHeldSweep(id, 'confirm');
        expect(await names()).toEqual(shown);
      });

      it('while a confirmation is carried out has its own held, and what was confirmed goes', async () => {
        const { id, withDatabase, made, held, snapshot, names } = await openHeld();
        let isFirst = true;
        const racing: Database = {
          ...opened.database,
          async transaction(work) {
            if (isFirst) {
              isFirst = false;
              await snapshot();
            }
            return opened.database.transaction(work);
          },
        };
        await made(withDatabase(racing)).resolveHeldSweep(id, 'confirm');
        const confirmed = missed.filter((name) => all.indexOf(name) < 15);
        const others = missed.filter((name) => !confirmed.includes(name));
        expect(await names()).toEqual(all.filter((name) => !confirmed.includes(name)));
        expect(await held()).toEqual(others);
      });
    });

    it('that crashes at any statement is completed by repeating its last page', async () => {
      const { send, withDatabase, texts } = await open();
      await send({ upserts: items('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h') });
      await send({ snapshot: { id: 's', page: 1 }, upserts: items('a', 'b', 'c') });
      const last = {
        deliveryId: 'last',
        snapshot: { id: 's', page: 2 },
        upserts: items('d', 'e', 'f'),
        completeSnapshot: true,
      };
      let answer: PushAnswer | null = null;
      let crashAt = 0;
      while (answer === null) {
        crashAt += 1;
        const crashing = crashingAt(opened.database, crashAt);
        answer = await send(last, withDatabase(crashing)).catch(() => null);
      }
      expect(crashAt).toBeGreaterThan(15);
      expect(answer.snapshot).toMatchObject({ state: 'completed' });
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    });

    it('of several at once: exactly one is the snapshot, and nothing is lost', async () => {
      const { send, texts } = await open();
      await send({ upserts: items('a', 'b', 'c', 'd') });
      const results = await Promise.allSettled(
        ['x', 'y', 'z'].map((id) =>
          send({ snapshot: { id, page: 1 }, upserts: items('a', 'b', 'c', 'd'), completeSnapshot: true }),
        ),
      );
      expect(results.some(({ status }) => status === 'fulfilled')).toBe(true);
      expect(Object.keys(await texts())).toEqual(['a', 'b', 'c', 'd']);
    });
  });

  it('is shown as one run for a minute of pushes', async () => {
    const { send, runs, clock } = await open();
    for (let index = 0; index < 5; index++) {
      await send({ upserts: [upsert(`item ${index}`, 'text')] });
      clock.advance(30_000);
    }
    expect(await runs()).toMatchObject([{ itemsAdded: 5, status: 'completed' }]);
    clock.advance(60_000);
    await send({ upserts: [upsert('later', 'text')] });
    expect(await runs()).toHaveLength(2);
  });

  it('is refused for connections that are paused, of another provider, or not there', async () => {
    const { id, send, service } = await open();
    await opened.database.execute(sql`update connections set status = 'paused' where id = ${id}`);
    await expect(send({ upserts: [upsert('a', 'x')] })).rejects.toMatchObject({ code: 'conflict' });
    await opened.database.execute(sql`update connections set status = 'active', provider = 'folder' where id = ${id}`);
    await expect(send({})).rejects.toMatchObject({ code: 'unsupported_operation' });
    await expect(service.push('nowhere', complete({}))).rejects.toMatchObject({ code: 'not_found' });
  });
});

function upsert(id: string, text: string, fields: Partial<PushUpsert> = {}): { upsert: PushUpsert } {
  return { upsert: { id, content: { kind: 'text', text }, ...fields } };
}

function complete(request: Partial<PushRequest>): PushRequest {
  return { upserts: [], deletes: [], completeSnapshot: false, ...request };
}
