import { cpSync, existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { openToOthers } from '../../src/base/private-files.ts';
import type { Database } from '../../src/store/database.ts';
import { openPglite } from '../../src/store/pglite/open-pglite.ts';
import { packCluster } from '../../src/store/pglite/packed-cluster.ts';
import { sql } from '../../src/store/sql.ts';
import { makePgliteTemplate } from '../support/databases.ts';
import { sized } from '../support/length.ts';
import {
  startPgliteProcess,
  type ClusterOrigin,
  type PgliteProcess,
  type PgliteTask,
} from '../support/pglite-process.ts';

let dataDir: string;
let processes: PgliteProcess[] = [];
let opened: Database[] = [];
let templateFile: string;
/** The pristine database, packed. */
let preparedFile: string;
/** A closed database with a table `rows` of 100 rows, to copy. */
let pristine: string;

beforeAll(async () => {
  templateFile = await makePgliteTemplate();
  pristine = await mkdtemp(join(tmpdir(), 'memoryd-guards-'));
  const database = await openPglite({ dataDir: pristine, log: silentLogger, templateFile });
  await database.script('create table rows (n integer); insert into rows select generate_series(1, 100)');
  await database.close();
  preparedFile = join(await mkdtemp(join(tmpdir(), 'memoryd-guards-')), 'packed');
  await writeFile(preparedFile, await packCluster(join(pristine, 'database')));
});
afterAll(async () => {
  await rm(pristine, { recursive: true });
  await rm(dirname(preparedFile), { recursive: true });
});
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'memoryd-guards-'));
});
afterEach(async () => {
  await Promise.all(processes.map((each) => each.kill()));
  await Promise.all(opened.map((each) => each.close()));
  processes = [];
  opened = [];
  await rm(dataDir, { recursive: true, force: true });
});

/** A new one is unpacked, unless the test says otherwise: to start from a template takes several times as long. */
async function open(origin: ClusterOrigin = { preparedFile }): Promise<Database> {
  const database = await openPglite({ dataDir, log: silentLogger, ...origin });
  opened.push(database);
  return database;
}

/** At once: beside everything else, a thousand files take four times as long. */
const makeDatabase = () => cpSync(pristine, dataDir, { recursive: true });

function startProcess(task: PgliteTask, origin?: ClusterOrigin): PgliteProcess {
  const started = startPgliteProcess(task, dataDir, origin);
  processes.push(started);
  return started;
}

const isOpen = (lines: readonly string[]) => lines.includes('open');
const clusterFile = (...path: string[]) => join(dataDir, 'database', ...path);

/** What pg_control says: 1 is "shut down cleanly" (DBState in pg_control.h). */
async function clusterState(): Promise<number> {
  return (await readFile(clusterFile('global', 'pg_control'))).readUInt32LE(16);
}

describe('directory lock', () => {
  test('a second process is refused and told who holds it; after kill -9 it is free at once', async () => {
    makeDatabase();
    const holder = startProcess('hold');
    await holder.until(isOpen);
    await expect(open()).rejects.toMatchObject({
      code: 'data_dir_locked',
      message: expect.stringContaining(`Process ${holder.pid} uses this data directory`),
    });
    await holder.kill();
    const database = await open();
    expect(await database.query(sql`select count(*) as n from rows`)).toEqual([{ n: 100 }]);
  });

  test('the same process cannot open it twice, and can open it again after closing', async () => {
    const first = await open();
    await expect(open()).rejects.toMatchObject({
      code: 'data_dir_locked',
      message: expect.stringContaining('this process'),
    });
    await first.close();
    expect(existsSync(join(dataDir, 'database.lock'))).toBe(false);
    await open();
  });

  test('a start that fails gives the lock back', async () => {
    makeDatabase();
    await writeFile(clusterFile('PG_VERSION'), '99');
    await expect(open()).rejects.toMatchObject({ code: 'database_newer' });
    expect(await readdir(dataDir)).toEqual(['database']);
  });

  test('process.exit without closing ends the engine cleanly and frees the directory', async () => {
    makeDatabase();
    expect(await startProcess('exit').ended()).toBe(0);
    expect(existsSync(join(dataDir, 'database.lock'))).toBe(false);
    expect(await clusterState()).toBe(1);
    const database = await open();
    expect(await database.query(sql`select count(*) as n from rows`)).toEqual([{ n: 101 }]);
  });

  test('closing ends the engine cleanly, kill -9 does not', async () => {
    makeDatabase();
    expect(await clusterState()).toBe(1);
    const holder = startProcess('hold');
    await holder.until(isOpen);
    await holder.kill();
    expect(await clusterState()).not.toBe(1);
  });
});

describe('a packed cluster', () => {
  test('is what a new one begins with', async () => {
    const database = await openPglite({ dataDir, log: silentLogger, preparedFile });
    opened.push(database);
    expect(await database.query(sql`select count(*) as n from rows`)).toEqual([{ n: 100 }]);
    const files = await readdir(join(dataDir, 'database'), { recursive: true });
    expect(files).toEqual(expect.arrayContaining(await readdir(join(pristine, 'database'), { recursive: true })));
    expect(await openToOthers(dataDir)).toEqual([]);
  });

  test('is left out where it is not', async () => {
    const database = await openPglite({ dataDir, log: silentLogger, preparedFile: join(pristine, 'nothing') });
    opened.push(database);
    expect(await database.query(sql`select to_regclass('rows') as rows`)).toEqual([{ rows: null }]);
  });

  test('does not touch a cluster that is there', async () => {
    await (await open({ templateFile })).close();
    const database = await openPglite({ dataDir, log: silentLogger, preparedFile });
    opened.push(database);
    expect(await database.query(sql`select to_regclass('rows') as rows`)).toEqual([{ rows: null }]);
  });
});

describe('kill -9', () => {
  const newCluster = async () => (await readdir(dataDir)).find((name) => name.startsWith('database.new-'));
  const newClusterHas = async (...path: string[]) => {
    const name = await newCluster();
    return name !== undefined && existsSync(join(dataDir, name, ...path));
  };

  const fromTemplate = () => ({ templateFile });
  const unpacking = () => ({ preparedFile });
  const byInitdb = () => ({});

  test.each<[string, () => Promise<boolean>, () => ClusterOrigin]>([
    ['as soon as it locked the directory', async () => existsSync(join(dataDir, 'database.lock')), fromTemplate],
    ['when the new folder appears', async () => (await newCluster()) !== undefined, fromTemplate],
    ['when the new folder has its version', () => newClusterHas('PG_VERSION'), fromTemplate],
    ['when the new folder has its control file', () => newClusterHas('global', 'pg_control'), byInitdb],
    ['when the new folder has a server’s lock file', () => newClusterHas('postmaster.pid'), fromTemplate],
    ['when the folder has its name', async () => existsSync(clusterFile('PG_VERSION')), fromTemplate],
    ['when unpacking begins', async () => (await newCluster()) !== undefined, unpacking],
    ['when a half is unpacked', () => newClusterHas('base', '5'), unpacking],
    ['when all is unpacked', async () => existsSync(clusterFile('PG_VERSION')), unpacking],
  ])('during the first start, %s, leaves nothing that stops the next start', async (_name, reached, template) => {
    const starting = startProcess('hold', template());
    await expect.poll(reached, { interval: 1, timeout: 60_000 }).toBe(true);
    await starting.kill();
    const database = await open();
    expect(await database.query(sql`select 1 as one`)).toEqual([{ one: 1 }]);
    expect((await readdir(dataDir)).toSorted()).toEqual(['database', 'database.lock']);
  });

  test('during writes, again and again, loses nothing that was acknowledged and tears nothing', async () => {
    makeDatabase();
    for (const writes of sized([1, 17], [1, 4, 9, 17, 33])) {
      const writer = startProcess('write');
      await writer.until((lines) => lines.length > writes);
      await writer.kill();
      const last = Number(writer.lines.at(-1)!.split(' ')[1]);
      const database = await openPglite({ dataDir, log: silentLogger });
      expect(
        await database.query(sql`
          select (select count(*) from pairs_a where n = ${last}::integer) as acknowledged,
                 (select count(*) from pairs_a full join pairs_b using (n) where note is null or terms is null) as torn,
                 (select count(*) from pairs_a) - (select count(*) from pairs_b where terms @> '{term}') as unindexed`),
      ).toEqual([{ acknowledged: 1, torn: 0, unindexed: 0 }]);
      await database.close();
    }
  });
});

describe('a damaged directory', () => {
  beforeEach(makeDatabase);

  async function listFiles(): Promise<string[]> {
    const files = await readdir(join(dataDir, 'database'), { recursive: true });
    // Caches that every start makes anew.
    return files.filter((name) => !name.endsWith('pg_internal.init')).toSorted();
  }

  test.each<[string, () => Promise<unknown>, string]>([
    ['a cut control file', () => truncate(clusterFile('global', 'pg_control'), 10), 'could not read file'],
    ['no control file', () => rm(clusterFile('global', 'pg_control')), 'could not open file'],
    ['no log', () => rm(clusterFile('pg_wal'), { recursive: true }), 'pg_wal'],
    ['no tables', () => rm(clusterFile('base', '5'), { recursive: true }), 'does not exist'],
    ['no transaction states', () => rm(clusterFile('pg_xact'), { recursive: true }), 'status of transaction'],
    ['no version file', () => rm(clusterFile('PG_VERSION')), 'PG_VERSION'],
    ['a senseless version', () => writeFile(clusterFile('PG_VERSION'), 'x'), 'PG_VERSION'],
    ['an older version', () => writeFile(clusterFile('PG_VERSION'), '17\n'), 'PG_VERSION'],
  ])('%s: says what is wrong and what to do, and deletes nothing', async (_name, damage, reason) => {
    await damage();
    const before = await listFiles();
    await expect(open()).rejects.toMatchObject({
      code: 'data_dir_damaged',
      message: expect.stringMatching(new RegExp(`${reason}.*Nothing was deleted.*backup`, 's')),
    });
    expect(await listFiles()).toEqual(expect.arrayContaining(before));
  });

  test('a folder of something else is not touched', async () => {
    await rm(join(dataDir, 'database'), { recursive: true });
    await writeFile(join(dataDir, 'database'), 'my own file');
    await expect(open()).rejects.toMatchObject({ code: 'data_dir_damaged' });
    expect(await readFile(join(dataDir, 'database'), 'utf8')).toBe('my own file');
  });

  test('a data directory that cannot be written is not called damaged', async () => {
    // Nobody, not even root, may make a file there.
    const opening = openPglite({ dataDir: '/sys', log: silentLogger });
    await expect(opening).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('The data directory /sys cannot be '),
    });
  });

  test('a data directory that cannot be made is named', async () => {
    const file = join(dataDir, 'file');
    await writeFile(file, '');
    const opening = openPglite({ dataDir: join(file, 'below'), log: silentLogger });
    await expect(opening).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringContaining(file) });
  });
});

describe('an engine that breaks down', () => {
  test('fails what is under way, starts again by itself and has everything committed', async () => {
    makeDatabase();
    const database = await open();
    await database.script('insert into rows values (101)');
    // A log that cannot be written is what a full disk is to it: a PANIC.
    await rename(clusterFile('pg_wal'), clusterFile('pg_wal_away'));
    await database.query(sql`select pg_switch_wal()`);
    await expect(database.script('insert into rows values (102)')).rejects.toThrow();
    await rename(clusterFile('pg_wal_away'), clusterFile('pg_wal'));
    await expect
      .poll(() => database.query(sql`select count(*) as n from rows`), { timeout: 20_000 })
      .toEqual([{ n: 101 }]);
    await database.script('insert into rows values (103)');
  });
});

test('the data directory is for its owner only', async () => {
  const made = join(dataDir, 'new', 'deep');
  const database = await openPglite({ dataDir: made, log: silentLogger, preparedFile });
  opened.push(database);
  expect((await stat(made)).mode & 0o077).toBe(0);
});

describe('rights of others', () => {
  const script = 'create table more (n integer); insert into more select generate_series(1, 5000); checkpoint';

  test('a data directory that was there before, and everything in it, is for its owner alone', async () => {
    await chmod(dataDir, 0o755);
    const database = await open({ templateFile });
    await database.script(script);
    expect(await openToOthers(dataDir)).toEqual([]);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  });

  test('files that an earlier version left readable to others are closed at the start; foreign files keep their modes', async () => {
    makeDatabase();
    await writeFile(join(dataDir, 'notes.txt'), 'mine', { mode: 0o644 });
    await chmod(dataDir, 0o755);
    await chmod(clusterFile('PG_VERSION'), 0o666);
    await chmod(clusterFile('base'), 0o755);
    expect(await openToOthers(dataDir)).not.toEqual([]);
    await open();
    expect(await openToOthers(dataDir)).toEqual([]);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o755);
    expect((await stat(join(dataDir, 'notes.txt'))).mode & 0o777).toBe(0o644);
  });
});
