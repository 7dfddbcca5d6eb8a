import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Database } from '../../src/store/database.ts';
import { copyCluster } from '../../src/store/pglite/copy-cluster.ts';
import { startMaintenance } from '../../src/store/pglite/maintenance.ts';
import { openPglite } from '../../src/store/pglite/open-pglite.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { putEmptyDatabase } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
let database: Database;

const rowsAtFirst = 5_000;

beforeEach(async () => {
  folder = await temporaryFolder('memoryd-copy-cluster-');
  await mkdir(join(folder, 'copy'));
  await putEmptyDatabase(folder);
  // Its own maintenance stands still with a clock that nobody moves.
  database = await openPglite({ dataDir: folder, log: silentLogger, clock: createTestClock() });
  await database.script(`
    create table pairs_a (n integer primary key, note text, embedding vector(8));
    create table pairs_b (n integer primary key, note text);
    create index on pairs_a using hnsw (embedding vector_cosine_ops);
    create table shrinking (n integer, note text);
    create table dropped (n integer);
    create index replaced on pairs_b (note);
    insert into shrinking select n, repeat('x', 400) from generate_series(1, ${rowsAtFirst}) n;
    insert into dropped select generate_series(1, ${rowsAtFirst});
    insert into pairs_b select n, 'first' from generate_series(1, ${rowsAtFirst}) n;
    insert into pairs_a select n, 'first', array(select random() from generate_series(1, 8))::vector
      from generate_series(1, ${rowsAtFirst / 10}) n`);
});
afterEach(() => database.close());

/** Opens the copy as a daemon does. */
async function withCopy<T>(work: (copy: Database) => Promise<T>): Promise<T> {
  const copy = await openPglite({ dataDir: join(folder, 'copy'), log: silentLogger, clock: createTestClock() });
  try {
    return await work(copy);
  } finally {
    await copy.close();
  }
}

const copyNow = (over: Database = database) =>
  copyCluster(over, join(folder, 'database'), join(folder, 'copy/database'));

/** The database, with something that happens before its last transaction begins: that of the pause. */
function disturbed(disturb: () => Promise<unknown>): Database {
  let transactions = 0;
  return {
    ...database,
    async transaction(work) {
      transactions += 1;
      if (transactions === 2) await disturb();
      return database.transaction(work);
    },
  };
}

const write = (n: number) =>
  database.transaction(async (tx) => {
    await tx.execute(sql`insert into pairs_a values (${rowsAtFirst + n}, ${`note ${n}`}, '[1,2,3,4,5,6,7,8]')`);
    await tx.execute(sql`update pairs_b set note = ${`note ${n}`} where n % 1000 = ${n % 1000}`);
    await tx.execute(sql`insert into pairs_b values (${rowsAtFirst + n}, ${`note ${n}`})`);
  });

/** All rows of both tables, read by their files and again by their indexes. */
async function content(of: Database): Promise<unknown> {
  const read = async (settings: string) => {
    await of.script(settings);
    return of.query(sql`
      select (select md5(string_agg(n || note || embedding::text, ',' order by n)) from pairs_a where n > 0) as a,
        (select md5(string_agg(n || note, ',' order by n)) from pairs_b where n > 0) as b,
        (select count(*) from pairs_b where note >= '') as noted,
        (select count(*) from shrinking) as shrunk`);
  };
  const byFile = await read('set enable_indexscan = off; set enable_indexonlyscan = off; set enable_bitmapscan = off');
  const byIndex = await read('reset all; set enable_seqscan = off');
  await of.script('reset all');
  expect(byIndex).toEqual(byFile);
  return byFile;
}

describe('a copy of a cluster in use', () => {
  test('has everything that was committed before its pause, whatever became of tables and indexes', async () => {
    let isCopying = true;
    let written = 0;
    const writeOn = async () => {
      while (isCopying) await write(++written);
    };
    const writing = writeOn();
    let expected: unknown;
    await copyNow(
      disturbed(async () => {
        isCopying = false;
        await writing;
        await database.script('delete from shrinking where n > 100');
        await database.script('vacuum shrinking');
        await database.script('drop table dropped');
        await database.script('reindex index replaced');
        // More than `wal_skip_threshold`: its rows are in no log.
        await database.script("create table made as select n, repeat('z', 900) as note from pairs_b");
        expected = await content(database);
      }),
    );
    expect(written).toBeGreaterThan(0);
    await write(written + 1);
    await withCopy(async (copy) => {
      expect(await content(copy)).toEqual(expected);
      expect(await copy.query(sql`select count(note) as n from made`)).toEqual([{ n: rowsAtFirst + written }]);
      expect(await copy.query(sql`select to_regclass('dropped') as gone`)).toEqual([{ gone: null }]);
      const nearest = await copy.query(sql`select n from pairs_a order by embedding <=> '[1,2,3,4,5,6,7,8]' limit 5`);
      expect(nearest).toHaveLength(5);
      await copy.script('vacuum (full, analyze)');
    });
  });

  test('is made in one pause where a checkpoint came between', async () => {
    let expected: unknown;
    await copyNow(
      disturbed(async () => {
        for (let n = 1; n <= 50; n++) await write(n);
        await database.script('vacuum full pairs_b');
        await database.script('checkpoint');
        for (let n = 51; n <= 60; n++) await write(n);
        expected = await content(database);
      }),
    );
    expect(await withCopy(content)).toEqual(expected);
  });

  test('keeps maintenance from making a checkpoint, only as long as it takes', async () => {
    let during: unknown;
    const maintenance = startMaintenance({
      database,
      isIdle: () => true,
      uses: () => 0,
      clock: systemClock,
      log: silentLogger,
    });
    const writeMuch = () => database.execute(sql`update shrinking set note = repeat('y', 400)`);
    await copyNow(
      disturbed(async () => {
        await writeMuch();
        during = await maintenance.run();
      }),
    );
    expect(during).toMatchObject({ checkpointedBytes: null });
    expect(await maintenance.run()).toMatchObject({ checkpointedBytes: expect.any(Number) });
    await maintenance.close();
  });
});
