import { afterEach, describe, expect, it } from 'vitest';
import { createLogger, silentLogger } from '../../src/base/log.ts';
import { reembed } from '../../src/engine/reembed.ts';
import { createDreaming } from '../../src/memory/dreaming.ts';
import type { Findings, Remembering } from '../../src/memory/remember.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createScheduler } from '../../src/schedule/scheduler.ts';
import { holdLease, releaseLease, whileHeld } from '../../src/store/leases.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';

const never = new AbortController().signal;
const minuteMs = 60_000;

describe.each(engines)('the lease of a role on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open() {
    opened = await openTestDatabase(engine);
    const { database } = opened;
    const clock = createTestClock();
    const hold = (holder: string, name = 'role') =>
      holdLease(database, name, { holder, until: new Date(clock.now().getTime() + minuteMs), now: clock.now() });
    /** As when the holder is stopped for longer than its lease, and another process looks. */
    async function takeOver(name: string): Promise<void> {
      const now = new Date(clock.now().getTime() + 2 * minuteMs);
      const until = new Date(now.getTime() + minuteMs);
      expect(await holdLease(database, name, { holder: 'another process', until, now })).not.toBeNull();
      clock.advance(2 * minuteMs);
    }
    const write = (value: string) =>
      sql`insert into settings (key, value, updated_at) values (${value}, 'true', ${clock.now()})`;
    const written = async () =>
      (await database.query<{ key: string }>(sql`select key from settings order by key`)).map(({ key }) => key);
    return { database, clock, hold, takeOver, write, written };
  }

  it('lets its holder write, also after it has ended, until another one has it', async () => {
    const { database, clock, hold, takeOver, write, written } = await open();
    const lease = (await hold('this process'))!;
    expect(await hold('another process')).toBeNull();
    clock.advance(2 * minuteMs);
    await whileHeld(database, lease, (tx) => tx.execute(write('late')));
    expect(await hold('this process')).toEqual(lease);
    await takeOver('role');
    await expect(whileHeld(database, lease, (tx) => tx.execute(write('lost')))).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(await written()).toEqual(['late']);
  });

  it('is another one when the same process has it again after somebody else had', async () => {
    const { database, hold, takeOver, write, written } = await open();
    const first = (await hold('this process'))!;
    await takeOver('role');
    await releaseLease(database, 'role', 'another process');
    const second = (await hold('this process'))!;
    expect(second.token).not.toBe(first.token);
    await expect(whileHeld(database, first, (tx) => tx.execute(write('lost')))).rejects.toThrow();
    await whileHeld(database, second, (tx) => tx.execute(write('mine')));
    expect(await written()).toEqual(['mine']);
  });

  // The embedded engine has one session, so that nothing else goes on during a transaction.
  if (engine === 'postgres')
    it('is not taken over while a transaction of its holder goes on', async () => {
      const { database, clock, hold, write } = await open();
      const lease = (await hold('this process'))!;
      const order: string[] = [];
      const begun = Promise.withResolvers<void>();
      clock.advance(2 * minuteMs);
      const taking = begun.promise.then(() => hold('another process')).then(() => order.push('taken'));
      await whileHeld(database, lease, async (tx) => {
        begun.resolve();
        const waiting = async () => {
          // Without it a transaction sees the same activities from its first look on.
          await tx.query(sql`select pg_stat_clear_snapshot()`);
          return tx.query<{ count: number }>(sql`
        select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
        };
        await expect.poll(waiting).toEqual([{ count: 1 }]);
        await tx.execute(write('one'));
        order.push('written');
      });
      await taking;
      expect(order).toEqual(['written', 'taken']);
    });

  it('that dreaming has lost: what was found is thrown away, and nothing is put off', async () => {
    const { database, clock, takeOver } = await open();
    const since = clock.now();
    await database.execute(sql`
      insert into documents (id, container_tag, status, dreaming_status, type, content_hash, dream_at, created_at, updated_at)
      values ('d1', 'notes', 'done', 'dreaming', 'text', 'h', ${since}, ${since}, ${since})`);
    await database.execute(sql`insert into document_contents (document_id, kind, raw) values ('d1', 'text', 'x')`);
    clock.advance(10 * minuteMs);
    let stored = 0;
    let fails = false;
    const remembering = {
      async find() {
        await takeOver('dreaming');
        if (fails) throw new Error('the model failed');
        return {} as Findings;
      },
      store: async () => void (stored += 1),
    } as unknown as Remembering;
    const options = { database, remembering, clock, log: silentLogger };
    await expect(createDreaming({ ...options, holder: 'one' }).run(never)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    clock.advance(10 * minuteMs);
    fails = true;
    await expect(createDreaming({ ...options, holder: 'two' }).run(never)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(stored).toBe(0);
    const rows = await database.query(
      sql`select dream_attempts as attempts, dream_at <= ${clock.now()} as due from documents`,
    );
    expect(rows).toEqual([{ attempts: 0, due: true }]);
  });

  it('that re-embedding has lost: no vector is written, and the change of the model is not called done', async () => {
    const { database, clock, takeOver } = await open();
    await database.execute(sql`
      insert into memories (id, container_tag, memory, content_hash, terms, term_counts, term_total, embedding_model,
        created_at, updated_at)
      values ('m1', 'notes', 'Mira has a boat.', 'h', '{}', '{}', 0, 'old', ${clock.now()}, ${clock.now()})`);
    const stop = new AbortController();
    const embedder = createHashingEmbedder({ dimensions: 8 });
    const slow: typeof embedder = Object.assign(Object.create(embedder) as typeof embedder, {
      async embed(texts: string[], options: Parameters<typeof embedder.embed>[1]) {
        const vectors = await embedder.embed(texts, options);
        await takeOver('reembed');
        stop.abort();
        return vectors;
      },
    });
    expect(await reembed({ database, embedder: slow, clock, log: silentLogger, holder: 'one' }, stop.signal)).toBe(0);
    const rows = await database.query(sql`select embedding_model as model, embedding from memories`);
    expect(rows).toEqual([{ model: 'old', embedding: null }]);
    expect(await database.query(sql`select 1 from settings where key = 'embedding_model'`)).toEqual([]);
    const holders = await database.query(sql`select holder from leases where name = 'reembed'`);
    expect(holders).toEqual([{ holder: 'another process' }]);
  });

  it('that the scheduler has lost: a chore that goes on can prove no leadership', async () => {
    const { database, clock, takeOver, write, written } = await open();
    const lines: string[] = [];
    const scheduler = createScheduler({
      database,
      waking: { documents: async () => {}, connection: async () => {}, fetchers: async () => {} },
      clock,
      log: createLogger('info', { write: (line) => void lines.push(line) }),
      holder: 'one',
      alone: false,
      vectorIndexes: [{ ensure: async () => {} }],
      chores: [
        {
          name: 'slow chore',
          everyMs: 60 * minuteMs,
          async run(_signal, lease) {
            await takeOver('scheduler');
            await whileHeld(database, lease, (tx) => tx.execute(write('lost')));
          },
        },
      ],
    });
    await expect.poll(() => lines.join('\n')).toContain('another process has taken over the scheduled work');
    await scheduler.close();
    expect(await written()).toEqual([]);
  });
});
