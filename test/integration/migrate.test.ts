import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dumpSchema, schemaFile } from '../../scripts/dump-schema.ts';
import { createLogger, silentLogger } from '../../src/base/log.ts';
import type { Database } from '../../src/store/database.ts';
import { applyMigrations, migrate, readMigrations, type Migration } from '../../src/store/migrate.ts';
import { sql } from '../../src/store/sql.ts';
import { engines, openEmptyDatabase, openTestDatabase, type TestDatabase } from '../support/databases.ts';

const log = silentLogger;

function migration(number: number, text: string, more: Partial<Migration> = {}): Migration {
  return { number, name: `000${number}-test`, hash: `hash of ${text}`, breaking: false, text, ...more };
}

const appliedIn = (database: Database) =>
  database.query<{ number: number; name: string }>(sql`select number, name from schema_migrations order by number`);

describe.each(engines)('migrations on %s', (engine) => {
  let opened: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    opened = await openEmptyDatabase(engine);
    database = opened.database;
  });
  afterAll(() => opened.close());

  /** Each test starts with two applied migrations of its own and nothing else. */
  async function startOver(): Promise<[Migration, Migration]> {
    await database.script('drop schema public cascade; create schema public');
    const both: [Migration, Migration] = [
      migration(1, 'create table a (n integer)'),
      migration(2, 'create table b ()'),
    ];
    await applyMigrations(database, both, { log });
    return both;
  }

  test('several processes that start at once apply each exactly once', async () => {
    const migrations = [1, 2, 3].map((n) => migration(n, `create table t${n} (); insert into log values (${n})`));
    await database.script('create table log (n integer)');
    const results = await Promise.all([1, 2, 3, 4].map(() => applyMigrations(database, migrations, { log })));
    expect(results.flat().toSorted()).toEqual(['0001-test', '0002-test', '0003-test']);
    expect(await database.query(sql`select n from log order by n`)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test('a new database is one line of the log, each later migration another', async () => {
    await database.script('drop schema public cascade; create schema public');
    const lines: string[] = [];
    const listening = createLogger('info', { write: (line) => void lines.push(line) });
    const [first, second, third] = [1, 2, 3].map((number) => migration(number, `create table t${number} ()`));
    await applyMigrations(database, [first!, second!], { log: listening });
    await applyMigrations(database, [first!, second!, third!], { log: listening });
    await applyMigrations(database, [first!, second!, third!], { log: listening });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'database prepared', migrations: 2 },
      { msg: 'migration applied', migration: '0003-test' },
    ]);
  });

  test('only what is missing is applied, in order', async () => {
    const [first, second] = await startOver();
    const third = migration(3, 'alter table a add column m integer');
    const fourth = migration(4, 'insert into a (m) values (4); insert into a (m) values (5)');
    expect(await applyMigrations(database, [first, second, third, fourth], { log })).toEqual([
      '0003-test',
      '0004-test',
    ]);
    expect(await applyMigrations(database, [first, second, third, fourth], { log })).toEqual([]);
    expect(await database.query(sql`select m from a order by m`)).toEqual([{ m: 4 }, { m: 5 }]);
  });

  test('one that fails leaves nothing of itself and keeps those before it', async () => {
    const [first, second] = await startOver();
    const good = migration(3, 'create table c ()');
    const bad = migration(4, 'create table d (); select 1 / 0');
    await expect(applyMigrations(database, [first, second, good, bad], { log })).rejects.toMatchObject({
      code: '22012',
    });
    expect((await appliedIn(database)).map((row) => row.number)).toEqual([1, 2, 3]);
    expect(await database.query(sql`select to_regclass('d') as d, to_regclass('c')::text as c`)).toEqual([
      { d: null, c: 'c' },
    ]);
    const mended = migration(4, 'create table d ()');
    expect(await applyMigrations(database, [first, second, good, mended], { log })).toEqual(['0004-test']);
  });

  test('older code refuses a database with a breaking migration it does not know', async () => {
    const [first, second] = await startOver();
    await applyMigrations(database, [first, second, migration(3, 'drop table b', { breaking: true })], { log });
    await expect(applyMigrations(database, [first, second], { log })).rejects.toMatchObject({
      code: 'database_newer',
      message: expect.stringContaining('0003-test'),
    });
  });

  test('older code runs on a database with a newer migration that breaks nothing', async () => {
    const [first, second] = await startOver();
    await applyMigrations(database, [first, second, migration(3, 'create table c ()')], { log });
    expect(await applyMigrations(database, [first, second], { log })).toEqual([]);
  });

  test('an applied migration whose text changed is an error, and nothing is applied', async () => {
    const [first, second] = await startOver();
    const changed = migration(2, 'create table b (n integer)');
    await expect(applyMigrations(database, [first, changed, migration(3, 'select 1')], { log })).rejects.toMatchObject({
      code: 'database_newer',
      message: expect.stringContaining('0002-test'),
    });
    expect(await appliedIn(database)).toHaveLength(2);
    expect(second.hash).not.toBe(changed.hash);
  });

  test('the real ones make the schema that is committed', async () => {
    await database.script('drop schema public cascade; create schema public');
    const names = (await readMigrations()).map((each) => each.name);
    expect(await migrate(database, { log })).toEqual(names);
    expect(await migrate(database, { log })).toEqual([]);
    expect(await dumpSchema(database)).toBe(await readFile(schemaFile, 'utf8'));
  });

  test('0090 notes the languages of the texts that are there', async () => {
    await database.script('drop schema public cascade; create schema public');
    const migrations = await readMigrations();
    await applyMigrations(
      database,
      migrations.filter(({ number }) => number < 90),
      { log },
    );
    await database.script(`
      insert into documents (id, container_tag, status, type, content_hash, created_at, updated_at)
        select 'd' || n, 'team' || n, 'done', 'text', '', now(), now() from generate_series(1, 2) n;
      insert into chunks (id, document_id, container_tag, position, content, token_count, content_hash, terms, term_counts, term_total, created_at)
        select 'c' || n, 'd' || n, 'team' || n, 0, '', 1, '', array[case n when 1 then 'und' else 'garden' end], '{1}', 1, now()
        from generate_series(1, 2) n`);
    await applyMigrations(database, migrations, { log });
    expect(await database.query(sql`select * from text_languages`)).toEqual([
      { container_tag: 'team1', language: 'de' },
    ]);
  });

  test('a test database has them all', async () => {
    const migrated = await openTestDatabase(engine);
    expect(await appliedIn(migrated.database)).toHaveLength((await readMigrations()).length);
    expect(await migrated.database.query(sql`select count(*) as n from documents`)).toEqual([{ n: 0 }]);
    await migrated.close();
  });
});

describe('reading migration files', () => {
  async function readFrom(files: Record<string, string>): Promise<Migration[]> {
    const folder = await mkdtemp(join(tmpdir(), 'memoryd-migrations-'));
    try {
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
      return await readMigrations(pathToFileURL(`${folder}/`));
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  test('in the order of their numbers, each with the hash of its text; other files are passed over', async () => {
    const read = await readFrom({ '0012-more.sql': 'b', '0001-first-one.sql': 'a', 'README.md': '' });
    expect(read.map(({ number, name, text }) => [number, name, text])).toEqual([
      [1, '0001-first-one', 'a'],
      [12, '0012-more', 'b'],
    ]);
    expect(read[0]!.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(read[0]!.hash).not.toBe(read[1]!.hash);
  });

  test.each([
    ['-- breaking\nselect 1', true],
    ['-- Drops what nobody uses.\n-- breaking\n\nselect 1', true],
    ['-- not breaking anything\nselect 1', false],
    ['select 1;\n-- breaking\nselect 2', false],
    ['select 1', false],
  ])('%j is breaking: %s', async (text, breaking) => {
    expect((await readFrom({ '0001-a.sql': text }))[0]!.breaking).toBe(breaking);
  });

  test.each([
    [{ '0001-a.sql': '', '0002-b.sql': '', '0002-c.sql': '' }, '0002-b and 0002-c have the same number'],
    [{ '1-a.sql': '' }, '1-a.sql is not named'],
    [{ '0001_a.sql': '' }, '0001_a.sql is not named'],
  ])('%j is refused', async (files, message) => {
    await expect(readFrom(files)).rejects.toThrow(message);
  });
});
