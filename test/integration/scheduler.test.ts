import { afterEach, describe, expect, it } from 'vitest';
import { createLogger, silentLogger } from '../../src/base/log.ts';
import { newId } from '../../src/base/ids.ts';
import type { Waking } from '../../src/engine/process.ts';
import { createCleanUp, createScheduler, type Chore } from '../../src/schedule/scheduler.ts';
import { findConnection, insertConnection, requestSync } from '../../src/store/connections.ts';
import { recordDelivery } from '../../src/store/hooks.ts';
import { insertDelivery, insertSnapshot, latestSnapshot } from '../../src/store/push.ts';
import { sql } from '../../src/store/sql.ts';
import { finishRun, listRuns, startRun } from '../../src/store/sync-runs.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

describe('the scheduler', () => {
  let opened: TestDatabase;
  const schedulers: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(schedulers.splice(0).map((one) => one.close()));
    await opened.close();
  });

  async function open() {
    opened = await openTestDatabase();
    const clock = createTestClock();
    const woken: string[] = [];
    const waking: Waking = {
      documents: async () => {},
      connection: async (id) => void woken.push(id),
      fetchers: async () => {},
    };
    return {
      clock,
      woken,
      start(holder: string, chores: Chore[] = [], lines: string[] = []) {
        const scheduler = createScheduler({
          database: opened.database,
          waking,
          clock,
          log: createLogger('debug', { write: (line) => void lines.push(line) }),
          holder,
          alone: false,
          vectorIndexes: [{ ensure: async () => {} }],
          chores,
        });
        schedulers.push(scheduler);
        return scheduler;
      },
    };
  }

  async function connection(
    fields: { schedule?: string | null; allowedHours?: string; nextSyncAt?: Date | null },
    now: Date,
  ) {
    const id = newId(now);
    await opened.database.transaction((tx) =>
      insertConnection(tx, {
        id,
        provider: 'synthetic',
        containerTag: 'mirror',
        status: 'active',
        config: {},
        metadata: {},
        documentLimit: null,
        onSourceDelete: 'delete',
        schedule: null,
        syncEveryMs: null,
        now,
        ...fields,
      }),
    );
    return id;
  }

  it('wakes what is due and nothing else', async () => {
    const { clock, woken, start } = await open();
    const due = await connection({}, clock.now());
    const later = await connection({ nextSyncAt: new Date(clock.now().getTime() + minute) }, clock.now());
    await connection({ nextSyncAt: null, schedule: 'manual' }, clock.now());
    const scheduler = start('one');
    await scheduler.tick();
    expect(new Set(woken)).toEqual(new Set([due]));
    clock.advance(minute);
    await scheduler.tick();
    expect(woken).toContain(later);
  });

  it('wakes all that are due at once, however many they are', async () => {
    const { clock, woken, start } = await open();
    const first = await connection({ nextSyncAt: clock.now() }, clock.now());
    await opened.database.execute(sql`
      insert into connections (id, provider, container_tag, status, next_sync_at, created_at, updated_at)
      select 'due' || n, 'synthetic', 'mirror', 'active', ${clock.now()}, now(), now() from generate_series(1, 499) n`);
    await start('one').tick();
    expect(new Set(woken).size).toBe(500);
    expect(woken).toContain(first);
  });

  it('has one leader, which another one follows when it is gone', async () => {
    const { clock, start } = await open();
    const done: string[] = [];
    const chore = (holder: string): Chore => ({
      name: 'chore',
      everyMs: minute,
      run: async () => void done.push(holder),
    });
    const first = start('first', [chore('first')]);
    await first.tick();
    const second = start('second', [chore('second')]);
    for (const scheduler of [second, first]) {
      await scheduler.tick();
      await scheduler.idle();
    }
    expect(done).toEqual(['first']);
    await first.close();
    await second.tick();
    await second.idle();
    expect(done).toEqual(['first', 'second']);
    // One that was killed gives nothing back: its lease has to end.
    await opened.database.execute(sql`update leases set holder = 'killed'`);
    await second.close();
    const third = start('third', [chore('third')]);
    await third.tick();
    await third.idle();
    expect(done).toEqual(['first', 'second']);
    clock.advance(minute);
    await third.tick();
    await third.idle();
    expect(done).toEqual(['first', 'second', 'third']);
  });

  it('does each chore at once and then at its interval, never twice at a time, and survives one that fails', async () => {
    const { clock, start } = await open();
    const lines: string[] = [];
    const slow = Promise.withResolvers<void>();
    const runs = { often: 0, slow: 0, failing: 0 };
    const scheduler = start(
      'one',
      [
        { name: 'slow', everyMs: 1, run: () => ((runs.slow += 1), slow.promise) },
        { name: 'failing', everyMs: minute, run: async () => Promise.reject(new Error(`failure ${++runs.failing}`)) },
        { name: 'often', everyMs: minute, run: async () => void (runs.often += 1) },
      ],
      lines,
    );
    await scheduler.tick();
    await expect.poll(() => runs, { timeout: 20_000 }).toEqual({ often: 1, slow: 1, failing: 1 });
    clock.advance(minute);
    await scheduler.tick();
    await expect.poll(() => runs, { timeout: 20_000 }).toEqual({ often: 2, slow: 1, failing: 2 });
    slow.resolve();
    await scheduler.idle();
    expect(lines.join('')).toContain('failure 2');
  });

  it('tells chores to stop when it closes, and waits for them', async () => {
    const { start } = await open();
    let ended = false;
    const scheduler = start('one', [
      {
        name: 'long',
        everyMs: minute,
        async run(signal) {
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          ended = true;
        },
      },
    ]);
    await scheduler.tick();
    await scheduler.close();
    expect(ended).toBe(true);
  });

  it('cleans up what is past its time, and keeps the rest', async () => {
    const { clock } = await open();
    const { database } = opened;
    const id = await connection({}, clock.now());
    const other = await connection({}, clock.now());
    const run = async (connectionId: string, end = true) => {
      const now = clock.now();
      const runId = newId(now);
      await startRun(database, { id: runId, connectionId, mode: 'full', triggerType: 'cron', now });
      if (end) await finishRun(database, runId, { error: null, errorCode: null, now });
      clock.advance(1_000);
    };
    for (let index = 0; index < 105; index++) await run(id, index > 0);
    await run(other);
    await recordDelivery(database, { scope: id, deliveryId: 'old', now: clock.now() });
    const delivery = { connectionId: id, bodyHash: '', answer: {} };
    await insertDelivery(database, { ...delivery, deliveryId: 'old', now: clock.now() });
    await database.transaction((tx) =>
      insertSnapshot(tx, { connectionId: id, id: 'old', epoch: 1, runId: 'r', now: clock.now() }),
    );
    clock.advance(31 * day);
    for (let index = 0; index < 3; index++) await run(id);
    await recordDelivery(database, { scope: id, deliveryId: 'new', now: clock.now() });
    await insertDelivery(database, { ...delivery, deliveryId: 'new', now: clock.now() });

    await createCleanUp({ database, clock, log: silentLogger })(new AbortController().signal);
    // 100 that ended, and the one that is still running.
    expect(await listRuns(database, id, { limit: 500 })).toHaveLength(101);
    expect(await listRuns(database, other, { limit: 500 })).toHaveLength(1);
    expect(await database.query(sql`select delivery_id from hook_deliveries`)).toEqual([{ delivery_id: 'new' }]);
    expect(await database.query(sql`select delivery_id from push_deliveries`)).toEqual([{ delivery_id: 'new' }]);
    expect(await latestSnapshot(database, id)).toBeNull();
  });

  it('brings a part that fails to the log, and cleans up the others', async () => {
    const { clock } = await open();
    const { database } = opened;
    const lines: string[] = [];
    const log = createLogger('error', { write: (line) => void lines.push(line) });
    await recordDelivery(database, { scope: 'x', deliveryId: 'old', now: clock.now() });
    clock.advance(8 * day);
    await database.execute(sql`drop table pending_authorizations`);
    await createCleanUp({ database, clock, log })(new AbortController().signal);
    expect(lines.join('')).toContain('pending authorizations');
    expect(await database.query(sql`select 1 from hook_deliveries`)).toEqual([]);
  });

  it('lets runs follow the schedule, back off when they fail, and wait for the allowed hours', async () => {
    const { clock } = await open();
    const source = createSyntheticSource();
    const mirror = await createMirror({ database: opened.database, clock, connector: source.connector() });
    const next = async () =>
      (await findConnection(opened.database, mirror.id))!.nextSyncAt!.getTime() - clock.now().getTime();
    source.put('a', 'text');
    await mirror.sync();
    // The connector's own interval, with at most a tenth more.
    expect(await next()).toBeGreaterThanOrEqual(minute);
    expect(await next()).toBeLessThanOrEqual(1.1 * minute);
    await opened.database.execute(sql`update connections set schedule = '0 12 * * *' where id = ${mirror.id}`);
    await mirror.sync();
    const noon = Date.parse('2026-03-01T12:00:00.000Z') - clock.now().getTime();
    expect(await next()).toSatisfy((ms: number) => ms >= noon && ms < noon + 5 * minute);
    source.missing = true;
    await mirror.sync();
    const firstPause = await next();
    await mirror.sync();
    expect(await next()).toBeGreaterThan(firstPause);
    source.missing = false;
    await mirror.sync();
    await opened.database.execute(sql`update connections set schedule = 'manual' where id = ${mirror.id}`);
    await mirror.sync();
    expect((await findConnection(opened.database, mirror.id))!.nextSyncAt).toBeNull();
  });

  it('makes what happens by itself wait for the allowed hours, and not what somebody asks for', async () => {
    const { clock } = await open();
    const source = createSyntheticSource();
    const mirror = await createMirror({ database: opened.database, clock, connector: source.connector() });
    await opened.database.execute(sql`
      update connections set allowed_hours = '22:00-06:00 Europe/Berlin' where id = ${mirror.id}`);
    source.put('a', 'text');
    await mirror.sync({ trigger: 'event' });
    const waiting = (await findConnection(opened.database, mirror.id))!;
    expect(waiting.nextSyncAt).toEqual(new Date('2026-03-01T21:00:00.000Z'));
    expect(waiting.requestedSync).toMatchObject({ trigger: 'event' });
    expect(await mirror.texts()).toEqual(new Map());
    await mirror.sync({ trigger: 'manual' });
    expect(await mirror.texts()).toEqual(source.texts());
    source.put('b', 'another');
    clock.advance(Date.parse('2026-03-01T21:00:00.000Z') - clock.now().getTime());
    await opened.database.transaction((tx) =>
      requestSync(tx, mirror.id, { mode: 'incremental', trigger: 'event' }, { now: clock.now() }),
    );
    await mirror.sync({ trigger: 'event' });
    expect(await mirror.texts()).toEqual(source.texts());
  });
});
