import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { Database } from '../../src/store/database.ts';
import { startMaintenance, type Maintenance } from '../../src/store/pglite/maintenance.ts';
import { openPglite } from '../../src/store/pglite/open-pglite.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { makePgliteTemplate } from '../support/databases.ts';

let database: Database;
let clock: TestClock;
let maintenance: Maintenance | undefined;
let idle: boolean;
let uses: number;

beforeEach(async () => {
  // Its own maintenance stands still with a clock that nobody moves.
  const still = createTestClock();
  const templateFile = await makePgliteTemplate();
  database = await openPglite({ dataDir: 'memory', log: silentLogger, clock: still, templateFile });
  clock = createTestClock();
  idle = true;
  uses = 0;
  await database.script('create table busy (id integer primary key, note text); create table calm (id integer)');
});
afterEach(async () => {
  await maintenance?.close();
  maintenance = undefined;
  await database.close();
});

function start(over: Database = database): Maintenance {
  maintenance = startMaintenance({
    database: over,
    isIdle: () => idle,
    uses: () => uses,
    clock,
    log: silentLogger,
  });
  return maintenance;
}

/** Leaves about `rows` dead rows in `busy`. */
async function makeDeadRows(rows: number): Promise<void> {
  await database.execute(sql`insert into busy select n, 'a' from generate_series(1, ${rows}::integer) n`);
  await database.execute(sql`update busy set note = 'b'`);
  await database.query(sql`select pg_stat_force_next_flush()`);
}

const deadRows = async () =>
  (await database.query<{ n: number }>(sql`select n_dead_tup as n from pg_stat_user_tables where relname = 'busy'`))[0]!
    .n;
const redoPosition = async () =>
  (await database.query<{ at: string }>(sql`select redo_lsn::text as at from pg_control_checkpoint()`))[0]!.at;

describe('a run', () => {
  test('vacuums and analyzes the tables that changed enough, and only them', async () => {
    await makeDeadRows(2_000);
    await database.execute(sql`insert into calm values (1)`);
    expect(await deadRows()).toBeGreaterThan(1_000);
    const report = await start().run();
    expect(report.vacuumed).toEqual(['public.busy']);
    await expect.poll(deadRows).toBe(0);
    expect(await database.query(sql`select reltuples::integer as rows from pg_class where relname = 'busy'`)).toEqual([
      { rows: 2_000 },
    ]);
    expect((await start().run()).vacuumed).toEqual([]);
  });

  test('makes a checkpoint when the log has grown, so that the log does not grow for ever', async () => {
    const running = start();
    await running.run();
    expect((await running.run()).checkpointedBytes).toBeNull();
    const before = await redoPosition();
    await makeDeadRows(30_000);
    const { checkpointedBytes } = await running.run();
    expect(checkpointedBytes).toBeGreaterThan(4 * 1024 * 1024);
    expect(await redoPosition()).not.toBe(before);
    expect((await running.run()).checkpointedBytes).toBeNull();
  });
});

describe('the timer', () => {
  /** Lets the loop do what its clock allows, look by look: statements pass through the one session in order. */
  async function advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 2_000) {
      clock.advance(2_000);
      await expect.poll(() => clock.sleeping()).toBe(1);
    }
  }

  test('does nothing while the database is not used', async () => {
    await makeDeadRows(2_000);
    start();
    for (let round = 0; round < 5; round++) await advance(10_000);
    expect(await deadRows()).toBeGreaterThan(0);
  });

  test('works after use, as soon as the session is idle', async () => {
    await makeDeadRows(2_000);
    start();
    uses = 1;
    idle = false;
    await advance(10_000);
    await advance(10_000);
    expect(await deadRows()).toBeGreaterThan(0);
    idle = true;
    await advance(10_000);
    await expect.poll(deadRows).toBe(0);
  });

  test('does not wait for ever for a session that is never idle', async () => {
    await makeDeadRows(2_000);
    start();
    idle = false;
    for (let round = 1; round <= 12; round++) {
      uses = round;
      await advance(10_000);
    }
    await expect.poll(deadRows).toBe(0);
  });

  test('writes a checkpoint under load when much log has come together', async () => {
    const before = await redoPosition();
    for (let round = 0; round < 4; round++) {
      await database.script('truncate busy');
      await makeDeadRows(40_000);
    }
    start();
    uses = 1;
    idle = false;
    await advance(10_000);
    await expect.poll(redoPosition).not.toBe(before);
  });

  test('has statements planned anew when their tables have grown', async () => {
    const find = () =>
      database.query(sql`select b.note from unnest(${['1', '2']}::integer[]) r (id) join busy b on b.id = r.id`);
    const plan = async () => {
      const [row] = await database.query<{ name: string }>(
        sql`select name from pg_prepared_statements where statement like 'select b.note%'`,
      );
      return JSON.stringify(await database.query(sql`explain execute ${rawSql(row!.name)} ('{1,2}')`));
    };
    start();
    await database.script("insert into busy values (1, 'a'); analyze busy");
    uses = 1;
    await advance(2_000);
    for (let time = 0; time < 10; time++) await find();
    await database.execute(sql`insert into busy select n, 'a' from generate_series(2, 20_000) n`);
    expect(await plan()).toContain('Seq Scan on busy');
    uses = 2;
    idle = false;
    await advance(2_000);
    expect(await plan()).not.toContain('Seq Scan on busy');
  });

  test('survives a failure and tries again', async () => {
    await makeDeadRows(2_000);
    let failures = 0;
    start({
      ...database,
      query: (statement) => {
        if (failures++ === 0) return Promise.reject(new Error('no'));
        return database.query(statement);
      },
    });
    uses = 1;
    await advance(10_000);
    uses = 2;
    await advance(10_000);
    await expect.poll(deadRows).toBe(0);
  });
});
