import { afterEach, describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Ref } from '../../src/connector/contract.ts';
import { runSync } from '../../src/sync/runner.ts';
import { joinRun, workOnSyncs } from '../../src/sync/work-syncs.ts';
import { createWaking } from '../../src/engine/process.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import { openBullmqQueue } from '../../src/queue/bullmq.ts';
import type { Queryable } from '../../src/store/database.ts';
import { claimItems, releaseItems } from '../../src/store/leases.ts';
import { sql } from '../../src/store/sql.ts';
import { listRuns, waitingRun } from '../../src/store/sync-runs.ts';
import { createTestClock } from '../support/clock.ts';
import { createCrashingDatabase } from '../support/crashing-database.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createModelProcess } from '../support/mirror-process.ts';
import { removeKeys, uniquePrefix } from '../support/redis-keys.ts';
import { pageOf, scriptedConnector } from '../support/scripted-connector.ts';
import { describeWithService } from '../support/services.ts';

const ids = (count: number) => Array.from({ length: count }, (_, index) => `item-${String(index).padStart(4, '0')}`);
const never = new AbortController().signal;
/** How often the holder of a run looks whether others are done. */
const lookMs = 250;

describe.each(engines)('several workers for one connection on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  /** A source whose fetches wait as long as `hold` says. */
  async function open(count: number, settings: object, clock: Clock = systemClock) {
    opened = await openTestDatabase(engine);
    const fetched: string[] = [];
    let gate: Promise<void> | undefined;
    const connector = scriptedConnector({
      list: () => pageOf(...ids(count)),
      async fetch(_, ref: Ref) {
        fetched.push(ref.id);
        await gate;
        return { text: ref.id };
      },
    });
    const mirror = await createMirror({ database: opened.database, clock, connector, settings });
    return { connector, mirror, fetched, hold: (until: Promise<void> | undefined) => void (gate = until) };
  }

  it('each item is fetched once, and the counters of the run are right', async () => {
    const { mirror, fetched, hold } = await open(60, { claimSize: 5, fetchConcurrency: 5, joinBacklog: 5 });
    let release = () => {};
    hold(new Promise((resolve) => (release = resolve)));
    const joined: Promise<void>[] = [];
    const invite = async () => void joined.push(joinRun(mirror.runner(), mirror.id, never));
    await mirror.request();
    const running = runSync({ ...mirror.runner(), invite }, mirror.id, never);
    await expect.poll(() => fetched.length).toBe(5);
    // The first batch of the holder is under way; another worker finds the run and takes the next.
    const other = joinRun(mirror.runner(), mirror.id, never);
    await expect.poll(() => fetched.length).toBe(10);
    hold(undefined);
    release();
    await Promise.all([running, other]);
    await Promise.all(joined);
    expect(joined.length).toBeGreaterThan(0);
    expect(fetched.toSorted()).toEqual(ids(60));
    const [run] = await listRuns(opened.database, mirror.id, { limit: 1 });
    expect(run).toMatchObject({
      status: 'completed',
      itemsAdded: 60,
      itemsProcessed: 60,
      itemsSeen: 60,
      itemsFailed: 0,
    });
    expect((await mirror.texts()).size).toBe(60);
  });

  it('what a later page shows of an item while it is read is read again', async () => {
    opened = await openTestDatabase(engine);
    const reading = Promise.withResolvers<void>();
    const isListed = Promise.withResolvers<void>();
    let text = 'old';
    const connector = scriptedConnector({
      async list(_, cursor) {
        if (cursor === undefined) return { refs: [{ id: 'note', rev: 'r1' }], next: 1 };
        await reading.promise;
        text = 'new';
        return { refs: [{ id: 'note', rev: 'r2' }], done: true };
      },
      async fetch() {
        const read = text;
        reading.resolve();
        if (read === 'old') await isListed.promise;
        return { text: read };
      },
    });
    // Nobody else takes it meanwhile.
    const settings = { claimSize: 1, fetchConcurrency: 1 };
    const mirror = await createMirror({ database: opened.database, clock: systemClock, connector, settings });
    const running = mirror.sync();
    await expect.poll(async () => (await mirror.items())[0]?.['want_rev']).toBe('r2');
    isListed.resolve();
    await running;
    expect(await mirror.texts()).toEqual(new Map([['note', 'new']]));
    expect(await mirror.items()).toMatchObject([{ state: 'done', rev: 'r2' }]);
  });

  /** Takes the rest of the items as another worker does, when the run has some of its own. */
  async function claimedByAnother(mirrorId: string, inTransaction: (tx: Queryable) => Promise<void> = async () => {}) {
    const key = { connectionId: mirrorId, partitionId: 'all' };
    const now = systemClock.now();
    const claim = {
      limit: 100,
      leaseToken: 'another',
      now,
      leaseUntil: new Date(now.getTime() + 60_000),
      newest: false,
    };
    await opened.database.transaction(async (tx) => {
      expect((await claimItems(tx, key, claim)).length).toBe(5);
      await inTransaction(tx);
    });
    return { giveBack: () => releaseItems(opened.database, key, 'another', systemClock.now()) };
  }

  /** A clock whose owner waits for another worker until it is let go. */
  function waitingClock() {
    const waits = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const sleep: Clock['sleep'] = async (ms, signal) => {
      if (ms !== lookMs) return systemClock.sleep(ms, signal);
      waits.resolve();
      await goOn.promise;
    };
    return { clock: { ...systemClock, sleep }, waits: waits.promise, goOn: goOn.resolve };
  }

  it('waits for what a worker holds that it has not invited', async () => {
    const { clock, waits, goOn } = waitingClock();
    const { mirror, fetched, hold } = await open(10, { claimSize: 5, fetchConcurrency: 5 }, clock);
    let release = () => {};
    hold(new Promise((resolve) => (release = resolve)));
    await mirror.request();
    const running = runSync({ ...mirror.runner(), invite: async () => {} }, mirror.id, never);
    await expect.poll(() => fetched.length).toBe(5);
    const { giveBack } = await claimedByAnother(mirror.id);
    release();
    await Promise.race([waits, running]);
    await giveBack();
    goOn();
    await running;
    expect(fetched.toSorted()).toEqual(ids(10));
  });

  // The embedded engine has one session, so that nothing else goes on during a transaction.
  if (engine === 'postgres')
    it('waits for what another worker is about to take', async () => {
      const { clock, waits, goOn } = waitingClock();
      const { mirror, fetched, hold } = await open(10, { claimSize: 5, fetchConcurrency: 5, joinBacklog: 5 }, clock);
      let release = () => {};
      hold(new Promise((resolve) => (release = resolve)));
      await mirror.request();
      const running = runSync({ ...mirror.runner(), invite: async () => {} }, mirror.id, never);
      await expect.poll(() => fetched.length).toBe(5);
      // Its claim is not seen yet when the run looks for more, and comes to nothing afterwards.
      await claimedByAnother(mirror.id, async () => {
        release();
        await Promise.race([waits, running]);
        throw new Error('lost its connection');
      }).catch(() => {});
      goOn();
      await running;
      expect(fetched.toSorted()).toEqual(ids(10));
    });

  it('a worker that dies loses nothing: the run waits for its lease and does its items', async () => {
    const settings = { claimSize: 10, fetchConcurrency: 10, joinBacklog: 10 };
    const clock = createTestClock();
    const { mirror, fetched, hold } = await open(30, settings, clock);
    let release = () => {};
    hold(new Promise((resolve) => (release = resolve)));
    const process = createCrashingDatabase(opened.database);
    await mirror.request();
    const running = runSync({ ...mirror.runner(), invite: async () => {} }, mirror.id, never);
    await expect.poll(() => fetched.length).toBe(10);
    const dead = joinRun(mirror.runner(process), mirror.id, never).catch(() => {});
    await expect.poll(() => fetched.length).toBe(20);
    process.crash();
    hold(undefined);
    release();
    let isOver = false;
    const over = Promise.all([dead, running]).then(() => void (isOver = true));
    await expect.poll(() => (clock.advance(5_000), isOver)).toBe(true);
    await over;
    const [run] = await listRuns(opened.database, mirror.id, { limit: 1 });
    expect(run).toMatchObject({ status: 'completed', itemsAdded: 30 });
    expect((await mirror.texts()).size).toBe(30);
  });

  it('content that a worker read before another one took the item over is not stored', async () => {
    opened = await openTestDatabase(engine);
    const clock = createTestClock();
    const process = createModelProcess(opened.database, () => {});
    /** What each fetch waits for, by worker and item. */
    const gates = new Map<string, PromiseWithResolvers<void>>();
    const begun: string[] = [];
    const workers = new Map<unknown, string>();
    let text = 'old';
    const connector = scriptedConnector({
      // The run goes on until its listing may end.
      async list(_, from) {
        if (from === undefined) return { ...pageOf('a', 'b'), next: 1, done: false };
        await gates.get('list')!.promise;
        return pageOf('c');
      },
      async fetch(_, ref: Ref, context) {
        if (!workers.has(context)) workers.set(context, workers.size === 0 ? 'holder' : 'other');
        const call = `${workers.get(context)} ${ref.id}`;
        begun.push(call);
        const read = text;
        await gates.get(call)?.promise;
        return { text: read };
      },
    });
    const settings = { claimSize: 1, joinBacklog: 1 };
    const mirror = await createMirror({ database: opened.database, clock, connector, settings });
    for (const call of ['holder a', 'other b', 'list']) gates.set(call, Promise.withResolvers());
    await mirror.request();
    const running = runSync({ ...mirror.runner(), invite: async () => {} }, mirror.id, never);
    await expect.poll(() => begun).toEqual(['holder a']);
    const other = joinRun(mirror.runner(process.database), mirror.id, never);
    await expect.poll(() => begun).toEqual(['holder a', 'other b']);
    // It stands still for longer than it may hold an item, which changes meanwhile.
    process.freeze();
    clock.advance(61_000);
    // Else the holder may find its own item as one whose worker was lost.
    await expect
      .poll(() =>
        opened.database.query(
          sql`select 1 from sync_items where connection_id = ${mirror.id} and ext_id = 'a' and next_try > ${clock.now()}`,
        ),
      )
      .toHaveLength(1);
    text = 'new';
    gates.get('holder a')!.resolve();
    await expect.poll(() => begun).toContain('holder b');
    await expect.poll(async () => (await mirror.texts()).get('b')).toBe('new');
    gates.get('other b')!.resolve();
    process.thaw();
    await process.quiet();
    gates.get('list')!.resolve();
    await Promise.all([running, other]);
    expect([...(await mirror.texts()).values()]).toEqual(['old', 'new', 'new']);
  });

  it('a worker that finds no run under way does nothing', async () => {
    const { mirror, fetched } = await open(3, {});
    await joinRun(mirror.runner(), mirror.id, never);
    expect(fetched).toEqual([]);
    await mirror.sync();
    fetched.length = 0;
    await joinRun(mirror.runner(), mirror.id, never);
    expect(fetched).toEqual([]);
  });
});

describe('a big sync over the in-process queue', () => {
  it('is shared by the workers that it asks for', async () => {
    await shareOver(createInProcessQueue({ clock: systemClock, log: silentLogger }));
  });
});

describeWithService('REDIS_URL', 'a big sync over BullMQ', (url) => {
  const prefix = uniquePrefix();
  afterEach(() => removeKeys(url, prefix));

  it('is shared by the workers that it asks for', async () => {
    await shareOver(await openBullmqQueue({ url, prefix, clock: systemClock, log: silentLogger }));
  });
});

async function shareOver(queue: ReturnType<typeof createInProcessQueue>): Promise<void> {
  const opened = await openTestDatabase('pglite');
  try {
    const count = 300;
    const contexts = new Set<unknown>();
    const connector = scriptedConnector({
      list: () => pageOf(...ids(count)),
      fetch(_, ref: Ref, context) {
        contexts.add(context);
        return { text: ref.id };
      },
    });
    const settings = { claimSize: 4, joinBacklog: 20 };
    const mirror = await createMirror({ database: opened.database, clock: systemClock, connector, settings });
    const waking = createWaking({ queue, slots: 1, batchSize: 32, lost: () => {} });
    await workOnSyncs(queue, { ...mirror.runner(), invite: (id) => waking.fetchers(id) }, 4);
    await mirror.request();
    await waking.connection(mirror.id);
    const latest = async () => (await listRuns(opened.database, mirror.id, { limit: 1 }))[0];
    await expect.poll(latest, { timeout: 45_000, interval: 100 }).toMatchObject({ status: 'completed' });
    expect(await latest()).toMatchObject({ itemsAdded: count, itemsProcessed: count, itemsSeen: count });
    expect(contexts.size).toBeGreaterThan(1);
    expect((await mirror.texts()).size).toBe(count);
    expect(await waitingRun(opened.database, mirror.id)).toBeNull();
  } finally {
    await queue.close();
    await opened.close();
  }
}
