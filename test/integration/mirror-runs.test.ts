import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/base/ids.ts';
import {
  authExpired,
  forbidden,
  gone,
  rateLimited,
  sourceMissing,
  transient,
  type Partition,
  type Ref,
} from '../../src/connector/contract.ts';
import { createSyncItems } from '../../src/connections/item-service.ts';
import type { RunSettings } from '../../src/sync/run.ts';
import { priorities, type Priority, type WorkSlots } from '../../src/sync/work-slots.ts';
import type { RunnerOptions } from '../../src/sync/runner.ts';
import { findConnection, setConnectionStatus } from '../../src/store/connections.ts';
import { setHeldSweep } from '../../src/store/partitions.ts';
import { sql } from '../../src/store/sql.ts';
import { claimItems } from '../../src/store/leases.ts';
import { cancelRun, startRun, waitingRun } from '../../src/store/sync-runs.ts';
import { createTestClock } from '../support/clock.ts';
import { createCrashingDatabase } from '../support/crashing-database.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { pageOf, scriptedConnector, type Script } from '../support/scripted-connector.ts';

describe.each(engines)('runs on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open(script: Script, more: { settings?: Partial<RunSettings>; runner?: Partial<RunnerOptions> } = {}) {
    opened = await openTestDatabase(engine);
    const clock = createTestClock();
    const connector = scriptedConnector(script);
    const mirror = await createMirror({ database: opened.database, clock, connector, ...more });
    const connection = async () => (await findConnection(opened.database, mirror.id))!;
    return { connector, mirror, clock, connection };
  }

  const two = () => [
    { id: 'p', title: 'First' },
    { id: 'q', title: 'Second' },
  ];

  describe('partitions', () => {
    it('are synced side by side, and no more of them than allowed', async () => {
      let now = 0;
      let most = 0;
      let bothCame = () => {};
      const both = new Promise<void>((resolve) => (bothCame = resolve));
      const ids = ['a', 'b', 'c', 'd', 'e'];
      const { mirror } = await open(
        {
          partitions: () => ids.map((id) => ({ id })),
          async list(partition) {
            most = Math.max(most, ++now);
            if (now === 2) bothCame();
            await both;
            now -= 1;
            return pageOf(`item of ${partition.id}`);
          },
        },
        { settings: { partitionConcurrency: 2 } },
      );
      expect(await mirror.sync()).toMatchObject({
        status: 'completed',
        itemsAdded: 5,
        itemsTotal: 5,
        itemsProcessed: 5,
      });
      expect(most).toBe(2);
    });

    it.each([
      ['paused', forbidden('no access')],
      ['paused', gone('not there')],
      ['paused', sourceMissing('no such drive')],
      ['parked', transient('down')],
    ])('%s with a reason, the others go on: %o', async (state, error) => {
      const { mirror, clock, connection } = await open({
        partitions: two,
        list(partition) {
          if (partition.id === 'p') throw error;
          return pageOf('a', 'b');
        },
      });
      const run = await mirror.sync();
      expect(run).toMatchObject({ status: 'completed', itemsAdded: 2 });
      expect(run.warnings).toMatchObject([{ partitionId: 'p', code: `partition_${state}` }]);
      expect(run.warnings[0]!.message).toContain(error.message);
      const [first, second] = await mirror.partitions();
      expect(first).toMatchObject({
        state,
        state_reason: error.message,
        parked_until: new Date(clock.now().getTime() + 30_000),
      });
      expect(second).toMatchObject({ state: 'delta', parked_until: null });
      expect((await connection()).statusReason).toBe(`First: ${error.message}`);
    });

    it('that cannot be reached wait with a reason, and nothing counts as vanished meanwhile', async () => {
      const lost = { id: 'second', title: 'Second', unread: 'there is no such repository' };
      let shown: Partition[] = two();
      const { mirror, clock, connector } = await open({
        partitions: () => shown,
        list: (partition) => pageOf(`in ${partition.id}`),
      });
      await mirror.sync();
      shown = [two()[0]!, lost];
      for (let day = 0; day < 9; day++) {
        clock.advance(86_400_000);
        const run = await mirror.sync({ mode: 'full' });
        expect(run).toMatchObject({ status: 'completed', itemsDeleted: 0, warnings: [{ partitionId: 'second' }] });
        expect(run.warnings[0]!.message).toContain(lost.unread);
      }
      expect([...(await mirror.texts()).keys()]).toEqual(['in p', 'in q']);
      expect(connector.calls).not.toContain('list second');
      const trial = await mirror.sync({ mode: 'full', dryRun: true });
      expect(trial.report).toMatchObject({ deleted: { count: 0 }, incomplete: `Second: ${lost.unread}` });
      shown = two();
      expect(await mirror.sync()).toMatchObject({ status: 'completed', warnings: [] });
      expect((await mirror.partitions()).map(({ id, state }) => [id, state])).toEqual([
        ['p', 'delta'],
        ['q', 'delta'],
      ]);
    });

    it('that wait are left alone until their time, and then looked at alone', async () => {
      let broken = true;
      const { mirror, clock, connector } = await open({
        partitions: two,
        list(partition) {
          if (partition.id === 'p' && broken) throw transient('down');
          return pageOf(partition.id);
        },
      });
      await mirror.sync({ trigger: 'cron' });
      connector.calls.length = 0;
      await mirror.sync({ trigger: 'cron' });
      expect(connector.calls).toEqual(['list q']);
      clock.advance(31_000);
      broken = false;
      connector.calls.length = 0;
      // Nothing was asked for, and the schedule has not come round: only what was put off is done.
      await mirror.sync({ trigger: 'cron', hints: {} });
      expect(connector.calls).toEqual(['list p', 'fetch p']);
      expect((await mirror.partitions()).map((row) => [row.state, row.problem, row.failures])).toEqual([
        ['delta', null, 0],
        ['delta', null, 0],
      ]);
    });

    it('that the source limits wait exactly until it allows requests again, even for a person', async () => {
      const { mirror, clock, connector, connection } = await open({
        partitions: two,
        list(partition) {
          if (partition.id === 'p') throw rateLimited('slow down', new Date(clock.now().getTime() + 90_000));
          return pageOf('a');
        },
      });
      const retryAt = new Date(clock.now().getTime() + 90_000);
      const run = await mirror.sync();
      expect(run.status).toBe('completed');
      expect((await mirror.partitions())[0]).toMatchObject({ problem: 'rate_limited', parked_until: retryAt });
      const next = (await connection()).nextSyncAt!.getTime();
      expect(next).toBeLessThanOrEqual(retryAt.getTime());
      clock.advance(89_000);
      connector.calls.length = 0;
      await mirror.sync({ trigger: 'manual' });
      expect(connector.calls).toEqual(['list q']);
      clock.advance(1_000);
      await mirror.sync({ trigger: 'manual' });
      expect(connector.calls.filter((call) => call === 'list p')).toHaveLength(1);
    });

    it('a run whose every partition waits has failed with the first reason', async () => {
      const { mirror, clock, connection } = await open({
        list: () => {
          throw rateLimited('slow down', new Date(clock.now().getTime() + 600_000));
        },
      });
      expect(await mirror.sync()).toMatchObject({ status: 'failed', errorCode: 'rate_limited', error: 'slow down' });
      const { status, nextSyncAt } = await connection();
      expect(status).toBe('active');
      expect(nextSyncAt!.getTime()).toBeGreaterThanOrEqual(clock.now().getTime() + 600_000);
    });

    it('a lost authorization ends everything at once, one that fails in one place only that', async () => {
      const lost = new Set<string>();
      const { mirror, connection, connector } = await open(
        {
          partitions: two,
          list(partition) {
            if (lost.has(partition.id)) throw authExpired('the grant is gone');
            return pageOf(partition.id);
          },
        },
        { settings: { partitionConcurrency: 1 } },
      );
      lost.add('q');
      expect(await mirror.sync()).toMatchObject({ status: 'completed', warnings: [{ partitionId: 'q' }] });
      expect((await connection()).status).toBe('active');
      lost.add('p');
      connector.calls.length = 0;
      expect(await mirror.sync()).toMatchObject({ status: 'failed', errorCode: 'auth_expired' });
      expect(connector.calls).toEqual(['list p']);
      expect(await connection()).toMatchObject({ status: 'needs_reauth', statusReason: 'the grant is gone' });
    });
  });

  describe('fetching', () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => `item-${String(index).padStart(3, '0')}`);

    it('begins a first sync with the newest items that are known', async () => {
      const fetched: string[] = [];
      const slots: Priority[] = [];
      const recording: WorkSlots = {
        use(place, work) {
          slots.push(place.priority);
          return work();
        },
      };
      const { mirror } = await open(
        {
          list: () => ({
            refs: many(30).map((id, index) => ({
              id,
              rev: '1',
              updatedAt: new Date(index * 86_400_000).toISOString(),
            })),
            done: true,
          }),
          fetch(_, ref: Ref) {
            fetched.push(ref.id);
            return { text: ref.id };
          },
        },
        { settings: { firstSlice: 10, claimSize: 5, fetchConcurrency: 1 }, runner: { slots: recording } },
      );
      await mirror.sync({ trigger: 'cron' });
      expect(new Set(fetched.slice(0, 10))).toEqual(new Set(many(30).slice(20)));
      expect(fetched).toHaveLength(30);
      expect(new Set(slots)).toEqual(new Set(['first', 'bulk']));
      slots.length = 0;
      await mirror.sync({ trigger: 'manual' });
      expect(new Set(slots)).toEqual(new Set(['manual']));
      expect(priorities).toContain(slots[0]);
    });

    it('many at once keeps partial answers, fetches the rest singly, and looks twice at what is gone', async () => {
      const { mirror, connector } = await open(
        {
          list: () => pageOf(...many(6)),
          async *fetchMany(_, refs) {
            const [a, b, c, d] = refs as [Ref, Ref, Ref, Ref];
            yield [a.id, { text: 'from many' }];
            yield ['never asked for', { text: 'x' }];
            yield 'nonsense';
            yield [b.id, { gone: true }];
            yield [c.id, { gone: true }];
            yield [d.id, { text: 5 }];
            throw new Error('connection reset');
          },
          fetch(_, ref: Ref) {
            return ref.id === many(6)[1] ? { gone: true } : { text: 'singly' };
          },
        },
        { settings: { claimSize: 6 } },
      );
      const run = await mirror.sync();
      expect(await mirror.texts()).toEqual(
        new Map([
          ['item-000', 'from many'],
          ['item-002', 'singly'],
          ['item-004', 'singly'],
          ['item-005', 'singly'],
        ]),
      );
      expect(run).toMatchObject({ status: 'completed', itemsAdded: 4, itemsFailed: 1 });
      expect(run.failures).toMatchObject([
        { customId: 'scripted:item-003', error: expect.stringContaining('fetch answered') },
      ]);
      expect(connector.calls.filter((call) => call === 'fetch all')).toHaveLength(4);
    });

    it('many at once believes no "not there" that it cannot ask about again', async () => {
      let limited = false;
      const { mirror, clock } = await open({
        list: () => ({ refs: many(6).map((id) => ({ id, rev: limited ? 'r2' : 'r1' })), done: true }),
        async *fetchMany(_, refs) {
          for (const [index, { id }] of refs.entries()) {
            if (limited && index === 2) throw rateLimited('slow down', new Date(clock.now().getTime() + 60_000));
            yield [id, limited ? { gone: true } : { text: id }];
          }
        },
      });
      await mirror.sync();
      limited = true;
      expect(await mirror.sync()).toMatchObject({ status: 'failed', itemsDeleted: 0 });
      expect((await mirror.items()).filter(({ state }) => state === 'gone')).toEqual([]);
      expect((await mirror.texts()).size).toBe(6);
    });

    it('many at once keeps what came before a rate limit', async () => {
      let limited = true;
      const { mirror, clock, connector } = await open(
        {
          list: () => pageOf(...many(6)),
          async *fetchMany(_, refs) {
            for (const [index, ref] of refs.entries()) {
              if (limited && index === 3) throw rateLimited('slow down', new Date(clock.now().getTime() + 60_000));
              yield [ref.id, { text: ref.id }];
            }
          },
        },
        { settings: { claimSize: 6 } },
      );
      expect(await mirror.sync()).toMatchObject({
        status: 'failed',
        errorCode: 'rate_limited',
        itemsAdded: 3,
        itemsFailed: 0,
      });
      expect((await mirror.texts()).size).toBe(3);
      expect((await mirror.items()).filter((item) => item.state === 'pending').map((item) => item.attempts)).toEqual([
        0, 0, 0,
      ]);
      limited = false;
      clock.advance(60_000);
      expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsAdded: 3 });
      expect(connector.calls.filter((call) => call === 'fetch all')).toEqual([]);
    });

    it('stops when too much fails, without giving up anything', async () => {
      let broken = true;
      const { mirror, clock, connector } = await open(
        {
          partitions: two,
          list: (partition) => pageOf(...many(40).map((id) => `${partition.id}-${id}`)),
          fetch(partition, ref: Ref) {
            if (partition.id === 'p' && broken) throw transient('the file server is down');
            return { text: ref.id };
          },
        },
        { settings: { claimSize: 4, fetchConcurrency: 1 } },
      );
      const run = await mirror.sync();
      expect(run).toMatchObject({ status: 'completed', itemsAdded: 40 });
      expect(run.warnings).toMatchObject([{ partitionId: 'p', code: 'partition_parked' }]);
      expect(run.warnings[0]!.message).toContain(
        'items in a row could not be fetched. The last error: the file server is down',
      );
      expect(connector.calls.filter((call) => call === 'fetch p').length).toBeLessThanOrEqual(12);
      expect((await mirror.partitions())[0]).toMatchObject({ state: 'parked', problem: 'breaker' });
      expect(await mirror.items()).toHaveLength(80);
      broken = false;
      clock.advance(3_600_000);
      await mirror.sync();
      expect((await mirror.texts()).size).toBe(80);
      expect((await mirror.partitions())[0]).toMatchObject({ state: 'delta', problem: null });
    });

    it('takes items that never failed first, so that bad ones cannot keep them waiting', async () => {
      const { mirror, clock } = await open({
        list: () => pageOf(...many(12)),
        fetch: () => {
          throw transient('bad');
        },
      });
      await mirror.sync();
      await opened.database.execute(sql`
        update sync_items set state = 'pending', next_try = ${new Date(clock.now().getTime() + 60_000)} where ext_id >= 'item-009'`);
      clock.advance(3_600_000);
      const claim = (limit: number) => ({
        limit,
        leaseToken: 'T',
        now: clock.now(),
        leaseUntil: clock.now(),
        newest: false,
      });
      const key = { connectionId: mirror.id, partitionId: 'all' };
      const claimed = await claimItems(opened.database, key, claim(5));
      expect(claimed.map((item) => item.extId).filter((id) => id >= 'item-009')).toHaveLength(3);
      expect(claimed).toHaveLength(5);
    });

    it('reads the parts of a document: pages, files and mails, and names those that it cannot read', async () => {
      const { mirror } = await open({
        list: () => pageOf('thread', 'pictures'),
        fetch(_, ref: Ref) {
          const picture = {
            file: { bytes: Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]), name: 'a.png' },
          };
          if (ref.id === 'pictures') return { parts: [picture] };
          return {
            parts: [
              { title: 'First', html: '<p>Hello <b>there</b></p>' },
              { text: 'plain' },
              { file: { bytes: Buffer.from('{"a": 1}'), mimeType: 'application/json', name: 'data.json' } },
              picture,
              { title: 'Nested', parts: [{ markdown: '*inner*' }] },
            ],
          };
        },
      });
      const run = await mirror.sync();
      expect(run).toMatchObject({ itemsAdded: 1, itemsSkipped: 1 });
      const text = (await mirror.texts()).get('thread')!;
      expect(text).toContain('## First\n\nHello **there**');
      expect(text).toContain('plain');
      expect(text).toContain('## data.json');
      expect(text).toContain('## a.png\n\n*This is');
      expect(text).toContain('## Nested\n\n*inner*');
      const skipped = (await mirror.items()).find((item) => item.ext_id === 'pictures')!;
      expect(skipped).toMatchObject({ state: 'skipped', error_class: 'unsupported_type' });
    });
  });

  describe('content that comes with a listing', () => {
    const bodies = new Map(['a', 'b', 'c', 'd'].map((id) => [id, `inline ${id}`]));
    const listing: Script = {
      list: (_, from: number | undefined) => {
        const ids = [...bodies.keys()].slice((from ?? 0) * 2, (from ?? 0) * 2 + 2);
        const refs = ids.map((id) => ({ id, rev: '1', document: { title: id, text: bodies.get(id)! } }));
        return { refs, ...(from === 1 ? { done: true } : { next: 1 }) };
      },
      fetch: () => ({ text: 'fetched' }),
    };
    const kept = async () =>
      (await opened.database.query<{ ext_id: string }>(sql`select ext_id from sync_item_documents`)).map(
        (row) => row.ext_id,
      );

    it('is used instead of a fetch, and kept no longer than needed', async () => {
      const { mirror, connector } = await open(listing);
      expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsAdded: 4 });
      expect(await mirror.texts()).toEqual(bodies);
      expect(connector.calls.filter((call) => call.startsWith('fetch'))).toEqual([]);
      expect(await kept()).toEqual([]);
      await mirror.sync({ mode: 'full' });
      expect(await kept()).toEqual([]);
    });

    it('survives a crash at any moment between the page and the document', async () => {
      const { mirror, clock, connector } = await open(listing, { settings: { claimSize: 1 } });
      for (let statements = 1; (await mirror.texts()).size < 4; statements += 3) {
        const process = createCrashingDatabase(opened.database);
        let seen = 0;
        const counted = {
          ...process,
          query: (statement: Parameters<typeof process.query>[0]) => {
            if (++seen > statements) process.crash();
            return process.query(statement);
          },
        } as typeof process;
        await mirror.sync({}, undefined, counted).catch(() => {});
        clock.advance(61_000);
        expect(statements).toBeLessThan(200);
      }
      expect(await mirror.texts()).toEqual(bodies);
      expect(connector.calls.filter((call) => call.startsWith('fetch'))).toEqual([]);
      await mirror.sync();
      expect(await kept()).toEqual([]);
    });

    it('that is too large is fetched', async () => {
      const { mirror } = await open({
        list: () => ({ refs: [{ id: 'a', rev: '1', document: { text: 'x'.repeat(2 ** 21) } }], done: true }),
        fetch: () => ({ text: 'fetched' }),
      });
      await mirror.sync();
      expect((await mirror.texts()).get('a')).toBe('fetched');
    });
  });

  describe('ends before its time', () => {
    /** A source whose second item takes until the run is told to end. */
    const slow = () => {
      let reached = () => {};
      const atFetch = new Promise<void>((resolve) => (reached = resolve));
      let patient = false;
      const script: Script = {
        list: (_, from: number | undefined) => ({
          ...pageOf(`page-${from ?? 0}`),
          done: from === 3,
          next: (from ?? 0) + 1,
        }),
        async fetch(_, ref: Ref, { signal }) {
          if (ref.id === 'page-1' && !patient) {
            patient = true;
            reached();
            await once(signal, 'abort');
          }
          return { text: ref.id };
        },
      };
      return { script, atFetch };
    };

    /** Moves the time on until the run has seen what happened. */
    async function finish<T>(running: Promise<T>, clock: { advance(ms: number): void }): Promise<T> {
      let over = false;
      const done = running.finally(() => (over = true));
      const look = () => {
        clock.advance(500);
        return over;
      };
      await expect.poll(look, { timeout: 30_000 }).toBe(true);
      return done;
    }

    it('when it is cancelled: it ends as failed, keeps its progress, and the next sync goes on', async () => {
      const { script, atFetch } = slow();
      const { mirror, clock, connection } = await open(script, { settings: { claimSize: 1 } });
      const running = mirror.sync();
      await atFetch;
      const waiting = (await waitingRun(opened.database, mirror.id))!;
      const cancelled = await cancelRun(opened.database, waiting.id, clock.now());
      expect(cancelled).toMatchObject({
        status: 'failed',
        error: 'cancelled',
        errorCode: null,
        cancelledAt: clock.now(),
      });
      expect(await cancelRun(opened.database, waiting.id, clock.now())).toBeNull();
      const run = await finish(running, clock);
      expect(run).toMatchObject({ id: waiting.id, status: 'failed', error: 'cancelled' });
      const { nextSyncAt, runningSync, status, failures } = await connection();
      expect({ runningSync, status, failures }).toEqual({ runningSync: null, status: 'active', failures: 0 });
      expect(nextSyncAt!.getTime()).toBeGreaterThanOrEqual(cancelled!.cancelledAt!.getTime() + 60_000);
      expect(await mirror.sync()).toMatchObject({ status: 'completed' });
      expect((await mirror.texts()).size).toBe(4);
    });

    it('when it is cancelled before a worker took it: nothing is run', async () => {
      const { mirror, clock, connector, connection } = await open({ list: () => pageOf('a') });
      await mirror.request({ mode: 'full' });
      const id = newId(clock.now());
      const run = { id, connectionId: mirror.id, mode: 'full', triggerType: 'manual', now: clock.now() };
      await startRun(opened.database, run);
      await cancelRun(opened.database, id, clock.now());
      clock.advance(1_000);
      await mirror.run();
      expect(connector.calls).toEqual([]);
      const { requestedSync, runningSync, nextSyncAt } = await connection();
      expect({ requestedSync, runningSync }).toEqual({ requestedSync: null, runningSync: null });
      expect(nextSyncAt!.getTime()).toBeGreaterThan(clock.now().getTime());
      expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsAdded: 1 });
    });

    it('when the connection is paused: what it was to do is done after the resume', async () => {
      const { script, atFetch } = slow();
      const { mirror, clock, connection } = await open(script, { settings: { claimSize: 1 } });
      const running = mirror.sync({ mode: 'full' });
      await atFetch;
      await setConnectionStatus(opened.database, mirror.id, { status: 'paused', reason: null, now: clock.now() });
      expect(await finish(running, clock)).toMatchObject({ status: 'failed', errorCode: null });
      expect(await connection()).toMatchObject({ runningSync: { mode: 'full' }, status: 'paused' });
      await setConnectionStatus(opened.database, mirror.id, { status: 'active', reason: null, now: clock.now() });
      expect(await mirror.sync({ hints: {} })).toMatchObject({ status: 'completed', mode: 'full' });
      expect((await mirror.texts()).size).toBe(4);
    });

    it('when its worker dies: the next one does what it was to do', async () => {
      let process: ReturnType<typeof createCrashingDatabase> | undefined;
      const { mirror, clock, connector } = await open({
        list() {
          process?.crash();
          return pageOf('a');
        },
      });
      process = createCrashingDatabase(opened.database);
      await expect(mirror.sync({ mode: 'full' }, undefined, process)).rejects.toThrow('killed');
      process = undefined;
      connector.calls.length = 0;
      clock.advance(61_000);
      expect(await mirror.run()).toMatchObject({ status: 'completed', mode: 'full', triggerType: 'manual' });
      expect(connector.calls).toEqual(['list all', 'fetch all']);
    });
  });

  it('a dry run says what would change, and writes neither ledger nor documents', async () => {
    let refs: Ref[] = ['a', 'b', 'c'].map((id) => ({ id, rev: '1' }));
    const odd: { incomplete?: string } = {};
    const { mirror, connector } = await open({
      list: () => ({ refs, done: true, ...odd }),
    });
    expect(await mirror.sync({ dryRun: true })).toMatchObject({
      status: 'completed',
      dryRun: true,
      report: { added: { count: 3, ids: ['a', 'b', 'c'] }, updated: { count: 0 }, deleted: { count: 0 } },
    });
    expect(await mirror.items()).toEqual([]);
    await mirror.sync();
    const [rows, items, partitions] = [await mirror.rows(), await mirror.items(), await mirror.partitions()];
    refs = [
      { id: 'a', rev: '1' },
      { id: 'b', rev: '2' },
      { id: 'new', rev: '1' },
    ];
    connector.calls.length = 0;
    expect((await mirror.sync({ dryRun: true })).report).toEqual({
      added: { count: 1, ids: ['new'] },
      updated: { count: 1, ids: ['b'] },
      deleted: { count: 1, ids: ['c'] },
      incomplete: null,
    });
    expect(connector.calls).toEqual(['list all']);
    expect([await mirror.rows(), await mirror.items(), await mirror.partitions()]).toEqual([rows, items, partitions]);
    odd.incomplete = 'a folder could not be read';
    expect((await mirror.sync({ dryRun: true })).report).toMatchObject({
      deleted: { count: 0 },
      incomplete: 'all: a folder could not be read',
    });
  });

  it('a dry run keeps to the chosen folders and the document limit', async () => {
    const day = (number: number) => `2026-01-0${number}T00:00:00Z`;
    const { mirror } = await open({
      roots: () => ['in', 'single'],
      list: () => ({
        refs: [
          { id: 'deep', rev: '1', parent: 'below', updatedAt: day(3) },
          { id: 'below', rev: '1', parent: 'in', kind: 'container' },
          { id: 'in', rev: '1', kind: 'container' },
          { id: 'out', rev: '1', kind: 'container', parent: 'round' },
          { id: 'round', rev: '1', kind: 'container', parent: 'out' },
          { id: 'old', rev: '1', parent: 'in', updatedAt: day(1) },
          { id: 'undated', rev: '1', parent: 'in' },
          { id: 'outside', rev: '1', parent: 'out', updatedAt: day(4) },
          { id: 'single', rev: '1', parent: 'out', updatedAt: day(2) },
        ],
        done: true,
      }),
    });
    await opened.database.execute(sql`update connections set document_limit = 3 where id = ${mirror.id}`);
    const { report } = await mirror.sync({ dryRun: true });
    expect(report?.added.ids.toSorted()).toEqual(['deep', 'old', 'single']);
    await mirror.sync();
    expect([...(await mirror.texts()).keys()].toSorted()).toEqual(['deep', 'old', 'single']);
    expect((await mirror.sync({ dryRun: true })).report).toMatchObject({ added: { count: 0 }, deleted: { count: 0 } });
  });

  it('a confirmed sweep is done by the next sync, also where changes are followed', async () => {
    let ids = ['a', 'b', 'c'];
    let at = 0;
    const { mirror, clock } = await open({
      list: () => pageOf(...ids),
      head: () => ({ at: ++at }),
      changes: (_, from) => ({ refs: [], next: from, done: true }),
    });
    await mirror.sync();
    ids = [];
    const held = await mirror.sync({ mode: 'full' });
    expect(held.warnings).toMatchObject([{ code: 'sweep_held', partitionId: 'all' }]);
    const sweep = (await mirror.partitions())[0]!.held_sweep;
    await setHeldSweep(
      opened.database,
      { connectionId: mirror.id, partitionId: 'all' },
      { ...sweep, confirmed: true },
      clock.now(),
    );
    expect(await mirror.sync({ mode: 'incremental' })).toMatchObject({ itemsDeleted: 3 });
    expect((await mirror.texts()).size).toBe(0);
    expect((await mirror.partitions())[0]!.held_sweep).toBeNull();
  });

  it('a hint at a partition that could not be read brings all that it missed', async () => {
    const ids: Record<string, string[]> = { good: ['a'], bad: ['b'] };
    let isBroken = false;
    const { mirror, clock } = await open({
      partitions: () => [{ id: 'good' }, { id: 'bad' }],
      list: ({ id }) => pageOf(...ids[id]!),
      head: ({ id }) => ids[id]!.length,
      changes: ({ id }, from) => {
        if (isBroken && id === 'bad') throw forbidden('no access');
        return { ...pageOf(...ids[id]!.slice(Number(from))), next: ids[id]!.length };
      },
      lookup: (_, asked: string[]) => pageOf(...asked),
    });
    await mirror.sync();
    isBroken = true;
    ids['bad']!.push('hinted', 'unhinted');
    await mirror.sync({ mode: 'incremental' });
    expect((await mirror.partitions()).find(({ id }) => id === 'bad')).toMatchObject({ problem: 'forbidden' });
    isBroken = false;
    clock.advance(3_600_000);
    await mirror.sync({ mode: 'incremental', trigger: 'event', hints: { bad: ['hinted'] } });
    expect([...(await mirror.texts()).keys()].toSorted()).toEqual(['a', 'b', 'hinted', 'unhinted']);
  });

  it('an item that was edited behind its listing, and taken back, is read again', async () => {
    let [text, isEditing] = ['old', true];
    const { mirror } = await open({
      list: () => ({ refs: [{ id: 'a', rev: 'old' }], done: true }),
      fetch: () => {
        if (isEditing) text = 'new';
        return { text, rev: text };
      },
    });
    await mirror.sync();
    expect((await mirror.texts()).get('a')).toBe('new');
    [text, isEditing] = ['old', false];
    await mirror.sync();
    expect((await mirror.texts()).get('a')).toBe('old');
  });

  it('an item that is gone before it was ever read is forgotten', async () => {
    const { mirror } = await open({
      list: () => pageOf('a', 'b'),
      fetch: (_, { id }) => (id === 'b' ? { gone: true } : { text: id }),
    });
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsAdded: 1, itemsFailed: 0 });
    expect((await mirror.items()).map(({ ext_id }) => ext_id)).toEqual(['a']);
  });

  it('changes that were read once are not asked for again', async () => {
    const asked: unknown[] = [];
    const { mirror } = await open({
      list: () => pageOf('a'),
      head: () => ({ at: 0 }),
      changes: (_, from) => {
        asked.push(from);
        const { at } = from as { at: number };
        return { refs: [{ id: 'a', rev: `r${at + 2}` }], next: { at: at + 1 }, done: true };
      },
    });
    await mirror.sync();
    asked.length = 0;
    await mirror.sync({ mode: 'incremental' });
    await mirror.sync({ mode: 'incremental' });
    expect(asked).toEqual([{ at: 1 }, { at: 2 }]);
  });

  it('a full sync reads first what the feed says, so that what was deleted is not merely missed', async () => {
    let ids = ['a', 'b', 'c'];
    const deletions: string[] = [];
    const asked: string[] = [];
    const { mirror } = await open({
      list: () => (asked.push('list'), pageOf(...ids)),
      head: () => (asked.push('head'), { at: deletions.length }),
      changes: (_, from) => {
        asked.push('changes');
        return {
          refs: [],
          gone: deletions.slice((from as { at: number }).at),
          next: { at: deletions.length },
          done: true,
        };
      },
    });
    await mirror.sync();
    ids = [];
    deletions.push('a', 'b', 'c');
    asked.length = 0;
    expect(await mirror.sync({ mode: 'full' })).toMatchObject({ itemsDeleted: 3, warnings: [] });
    expect(asked).toEqual(['changes', 'list', 'changes']);
    expect((await mirror.texts()).size).toBe(0);
  });

  it('a rejected sweep is kept for as long as the same items are missed', async () => {
    let ids = ['a', 'b', 'c'];
    const { mirror, clock, connection } = await open({ list: () => pageOf(...ids) });
    await mirror.sync();
    ids = [];
    expect(await mirror.sync()).toMatchObject({ warnings: [{ code: 'sweep_held' }] });
    const requestSync = () => Promise.reject(new Error('a rejection starts nothing'));
    const items = createSyncItems({ database: opened.database, clock, requestSync });
    await items.resolveHeldSweep((await connection()).id, 'reject');
    expect(await items.pendingDeletes(mirror.id, { limit: 10 })).toEqual({
      partitions: [],
      items: { entries: [], next: null },
    });
    clock.advance(24 * 3_600_000);
    expect(await mirror.sync()).toMatchObject({ itemsDeleted: 0, warnings: [] });
    expect((await mirror.texts()).size).toBe(3);
    ids = ['c'];
    expect(await mirror.sync()).toMatchObject({ itemsDeleted: 2, warnings: [] });
  });
});
