import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import type { Database, Transaction } from '../../src/store/database.ts';
import {
  isDiskFull,
  isStatementError,
  isTransactionConflict,
  isUniqueViolation,
} from '../../src/store/database-errors.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';

/** A promise that the test resolves. */
function gate() {
  return Promise.withResolvers<void>();
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('It did not fail.');
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return ((await failureOf(work)) as { code: string }).code;
}

describe.each(engines)('database on %s', (engine) => {
  let opened: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    database = opened.database;
    await database.script(`
      create table items (id integer primary key, state text not null default 'new', note text);
      create table parts (item integer not null references items, size integer check (size > 0));
    `);
  });
  afterEach(() => database.script('truncate items, parts'));
  afterAll(() => opened.close());

  const one = async <T>(statement: Parameters<Database['query']>[0]): Promise<T> =>
    (await database.query<{ value: T }>(statement))[0]!.value;
  const countItems = (from: Transaction = database) =>
    from.query<{ n: number }>(sql`select count(*) as n from items`).then((rows) => rows[0]!.n);

  test('names its engine', () => {
    expect(database.engine).toBe(engine);
  });

  describe('values', () => {
    const moment = new Date('2026-03-29T01:30:00.123Z');

    test.each([
      ['text', sql`select ${'Ärger\n"quoted" \\ {brace} 🌍'}::text as value`, 'Ärger\n"quoted" \\ {brace} 🌍'],
      ['empty text', sql`select ${''}::text as value`, ''],
      ['null', sql`select ${null}::text as value`, null],
      ['integer', sql`select ${-7}::integer as value`, -7],
      ['int8', sql`select ${9_007_199_254_740_991}::bigint as value`, 9_007_199_254_740_991],
      ['count', sql`select count(*) as value from items`, 0],
      ['sum of int8', sql`select sum(n) as value from unnest(${[1, 2]}::bigint[]) n`, 3],
      ['numeric', sql`select ${1.25}::numeric as value`, 1.25],
      ['double', sql`select ${0.1}::double precision as value`, 0.1],
      ['boolean', sql`select ${false}::boolean as value`, false],
      ['timestamptz', sql`select ${moment}::timestamptz as value`, moment],
      ['json object', sql`select ${JSON.stringify({ a: [1, null, 'x'] })}::jsonb as value`, { a: [1, null, 'x'] }],
      ['json array', sql`select ${JSON.stringify([1])}::jsonb as value`, [1]],
      ['json null', sql`select 'null'::jsonb as value`, null],
      ['vector', sql`select ${'[1,-2.5,3]'}::vector as value`, '[1,-2.5,3]'],
      [
        'text[]',
        sql`select ${['a', null, 'b,"c"', '', 'NULL', '{}']}::text[] as value`,
        ['a', null, 'b,"c"', '', 'NULL', '{}'],
      ],
      ['integer[]', sql`select ${[1, null, -3]}::integer[] as value`, [1, null, -3]],
      ['bigint[]', sql`select ${[1, null, 2 ** 40]}::bigint[] as value`, [1, null, 2 ** 40]],
      ['smallint[]', sql`select ${[1, 2]}::smallint[] as value`, [1, 2]],
      ['boolean[]', sql`select ${[true, null, false]}::boolean[] as value`, [true, null, false]],
      ['timestamptz[]', sql`select ${[moment, null]}::timestamptz[] as value`, [moment, null]],
      ['jsonb[]', sql`select ${['{"a":"\\"x"}', '[]']}::jsonb[] as value`, [{ a: '"x' }, []]],
      ['empty array', sql`select ${[]}::text[] as value`, []],
    ])('%s', async (_name, statement, expected) => {
      expect(await one(statement)).toEqual(expected);
    });

    test('bytea, alone and in arrays, from a view into a larger buffer', async () => {
      const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      const view = all.subarray(16, 48);
      const value = await one<Uint8Array>(sql`select ${view}::bytea as value`);
      expect(value).toBeInstanceOf(Uint8Array);
      expect([...value]).toEqual([...view]);
      const [first, second] = await one<Uint8Array[]>(sql`select ${[all, view]}::bytea[] as value`);
      expect([...first!]).toEqual([...all]);
      expect([...second!]).toEqual([...view]);
    });

    test('1 MB of text and of bytes', async () => {
      const text = 'äöü€🌍x'.repeat(100_000);
      const bytes = new Uint8Array(1_048_576).map((_, index) => index % 251);
      const rows = await database.query<{ text: string; bytes: Uint8Array }>(
        sql`select ${text}::text as text, ${bytes}::bytea as bytes`,
      );
      expect(rows[0]!.text === text).toBe(true);
      expect(Buffer.from(bytes).equals(rows[0]!.bytes)).toBe(true);
    });

    test('text with U+0000 is refused, and the session goes on', async () => {
      expect(await codeOf(database.query(sql`select ${'a\0b'}::text`))).toBe('22021');
      expect(await one(sql`select 1 as value`)).toBe(1);
    });

    test('pgvector measures distances', async () => {
      const rows = await database.query<{ id: number; distance: number }>(sql`
        select id, round((embedding <=> ${'[1,0]'}::vector)::numeric, 4)::float8 as distance
        from (values (1, '[0,1]'::vector), (2, '[1,0]'), (3, '[1,1]')) rows (id, embedding)
        order by embedding <=> ${'[1,0]'}::vector`);
      expect(rows).toEqual([
        { id: 2, distance: 0 },
        { id: 3, distance: 0.2929 },
        { id: 1, distance: 1 },
      ]);
    });
  });

  test('1,000 rows of 10 columns go in by one statement', async () => {
    await database.script(
      'create table wide (a text, b integer, c bigint, d boolean, e timestamptz, f jsonb, g float8, h text, i bytea, j vector)',
    );
    const indexes = Array.from({ length: 1_000 }, (_, index) => index);
    const inserted = await database.execute(sql`
      insert into wide
      select * from unnest(
        ${indexes.map((n) => `name ${n}`)}::text[], ${indexes}::integer[], ${indexes}::bigint[],
        ${indexes.map((n) => n % 2 === 0)}::boolean[], ${indexes.map((n) => new Date(n))}::timestamptz[],
        ${indexes.map((n) => JSON.stringify({ n }))}::jsonb[], ${indexes.map((n) => n / 2)}::float8[],
        ${indexes.map((n) => (n % 3 === 0 ? null : 'x'))}::text[], ${indexes.map((n) => Buffer.from([n % 256]))}::bytea[],
        ${indexes.map((n) => `[${n},1]`)}::vector[])`);
    expect(inserted).toBe(1_000);
    expect(await database.query(sql`select * from wide where b = 999`)).toEqual([
      {
        a: 'name 999',
        b: 999,
        c: 999,
        d: false,
        e: new Date(999),
        f: { n: 999 },
        g: 499.5,
        h: null,
        i: Buffer.from([231]),
        j: '[999,1]',
      },
    ]);
    await database.script('drop table wide');
  });

  test('execute counts the rows it touched', async () => {
    expect(await database.execute(sql`insert into items select n from generate_series(1, 5) n`)).toBe(5);
    expect(await database.execute(sql`update items set state = 'old' where id < 3`)).toBe(2);
    expect(await database.execute(sql`delete from items where id > 100`)).toBe(0);
  });

  test('a statement stays right however often it comes, also after the schema changed under it', async () => {
    for (let id = 1; id <= 8; id++) {
      await database.execute(sql`insert into items (id, state) values (${id}, ${'new'})`);
      expect(await countItems()).toBe(id);
    }
    await database.script('create index items_by_state on items (state)');
    expect(await countItems()).toBe(8);
    await database.script('drop index items_by_state');
    expect(await countItems()).toBe(8);
  });

  describe('errors', () => {
    test('a unique violation names its constraint', async () => {
      await database.execute(sql`insert into items (id) values (1)`);
      const error = await failureOf(database.execute(sql`insert into items (id) values (1)`));
      expect(isUniqueViolation(error)).toBe(true);
      expect(isUniqueViolation(error, 'items_pkey')).toBe(true);
      expect(isUniqueViolation(error, 'other')).toBe(false);
      expect(error).toMatchObject({ code: '23505', table: 'items', detail: 'Key (id)=(1) already exists.' });
    });

    test('the other violations', async () => {
      await database.execute(sql`insert into items (id) values (1)`);
      const foreign = await failureOf(database.execute(sql`insert into parts values (9, 1)`));
      expect(isUniqueViolation(foreign)).toBe(false);
      expect(foreign).toMatchObject({ code: '23503', constraint: 'parts_item_fkey' });
      expect(await codeOf(database.execute(sql`insert into parts values (1, 0)`))).toBe('23514');
      expect(await codeOf(database.execute(sql`insert into parts values (null, 1)`))).toBe('23502');
    });

    test('a wrong statement gives its code, and is no error of the machine', async () => {
      const error = await failureOf(database.query(rawSql('selct 1')));
      expect(isStatementError(error)).toBe(true);
      expect(MemorydError.is(error)).toBe(false);
      expect(error).toMatchObject({ code: '42601' });
      expect(await codeOf(database.query(sql`select * from nowhere`))).toBe('42P01');
      expect(await codeOf(database.query(sql`select ${1} / ${0}::integer`))).toBe('22012');
    });

    test('a full disk is told apart, and work goes on afterwards', async () => {
      const failing = database.script(`
        do $$ begin
          raise exception 'could not extend file "base/5/16384": No space left on device' using errcode = '53100';
        end $$`);
      const error = await failureOf(failing);
      expect(isDiskFull(error)).toBe(true);
      expect(error).toMatchObject({ code: 'disk_full', cause: { code: '53100' } });
      expect(await database.execute(sql`insert into items (id) values (1)`)).toBe(1);
    });

    test('many statements that fail beside many that do not', async () => {
      const results = await Promise.allSettled(
        Array.from({ length: 40 }, (_, n) => database.query(sql`select ${n} as n, 1 / ${n % 2}::integer`)),
      );
      for (const [n, result] of results.entries()) {
        if (n % 2 === 0) expect(result).toMatchObject({ status: 'rejected', reason: { code: '22012' } });
        else expect(result).toMatchObject({ status: 'fulfilled', value: [{ n: String(n) }] });
      }
    });
  });

  describe('transactions', () => {
    test('commit what they did and give what the work gave', async () => {
      const result = await database.transaction(async (tx) => {
        await tx.execute(sql`insert into items (id) values (1), (2)`);
        expect(await countItems(tx)).toBe(2);
        return 'done';
      });
      expect(result).toBe('done');
      expect(await countItems()).toBe(2);
    });

    test('roll back when the work throws, with its own error', async () => {
      const failure = new Error('changed my mind');
      const work = database.transaction(async (tx) => {
        await tx.execute(sql`insert into items (id) values (1)`);
        throw failure;
      });
      expect(await failureOf(work)).toBe(failure);
      expect(await countItems()).toBe(0);
    });

    test('roll back when a statement fails, and say so even when the work swallowed it', async () => {
      const work = database.transaction(async (tx) => {
        await tx.execute(sql`insert into items (id) values (1)`);
        await tx.query(sql`select 1 / 0`).catch(() => undefined);
      });
      expect(await failureOf(work)).toMatchObject({
        code: 'internal',
        message: expect.stringContaining('rolled back'),
      });
      expect(await countItems()).toBe(0);
    });

    test('go on after a failed statement inside a savepoint', async () => {
      await database.transaction(async (tx) => {
        await tx.execute(sql`insert into items (id) values (1)`);
        await tx.execute(sql`savepoint attempt`);
        expect(await codeOf(tx.execute(sql`insert into items (id) values (1)`))).toBe('23505');
        await tx.execute(sql`rollback to savepoint attempt`);
        await tx.execute(sql`insert into items (id) values (2)`);
      });
      expect(await countItems()).toBe(2);
    });

    /** A statement that fails as the victim of a deadlock does, the first `times`; sequences are not rolled back. */
    async function losing(times: number) {
      await database.script(`
        drop sequence if exists attempts; create sequence attempts;
        create or replace function lose(times integer) returns bigint language plpgsql as $$
          declare made bigint := nextval('attempts');
          begin
            if made <= times then raise exception 'deadlock detected' using errcode = '40P01'; end if;
            return made;
          end $$`);
      return sql`select lose(${times}) as value`;
    }

    test('are done again when they lost against another one, and statements alone are too', async () => {
      const lost = await losing(2);
      const made = await database.transaction(async (tx) => {
        await tx.execute(sql`insert into items (id) values (1)`);
        return tx.query(lost);
      });
      expect(made).toEqual([{ value: 3 }]);
      expect(await countItems()).toBe(1);
      expect(await one(await losing(2))).toBe(3);
    });

    test('that lose again and again fail with the reason', async () => {
      const lost = await losing(100);
      const error = await failureOf(database.transaction((tx) => tx.query(lost)));
      expect(isTransactionConflict(error)).toBe(true);
      expect(await database.query(sql`select 1 as one`)).toEqual([{ one: 1 }]);
    });

    // The embedded engine has one session, on which transactions cannot wait for each other.
    if (engine === 'postgres') {
      test('that wait for each other both come to their end', async () => {
        await database.execute(sql`insert into items (id) values (1), (2)`);
        const begun = [gate(), gate()];
        const note = (first: number, own: number) =>
          database.transaction(async (tx) => {
            await tx.execute(sql`update items set note = concat(note, ${String(own)}::text) where id = ${first}`);
            begun[own]!.resolve();
            await begun[1 - own]!.promise;
            await tx.execute(sql`update items set note = concat(note, ${String(own)}::text) where id = ${3 - first}`);
          });
        await Promise.all([note(1, 0), note(2, 1)]);
        const notes = await database.query<{ note: string }>(sql`select distinct note from items`);
        expect([['01'], ['10']]).toContainEqual(notes.map(({ note }) => note));
      });
    }

    test('show nothing to others before they commit, and nothing after a rollback', async () => {
      const written = gate();
      const mayEnd = gate();
      const work = database.transaction(async (tx) => {
        await tx.execute(sql`insert into items (id) values (1)`);
        written.resolve();
        await mayEnd.promise;
        throw new Error('no');
      });
      const failed = failureOf(work);
      await written.promise;
      const seen = countItems();
      mayEnd.resolve();
      await failed;
      expect(await seen).toBe(0);
    });

    test('run in parallel without mixing', async () => {
      const add = (id: number) =>
        database.transaction(async (tx) => {
          await tx.execute(sql`insert into items (id, note) values (${id}, 'first')`);
          await tx.execute(sql`update items set note = note || ' second' where id = ${id}`);
          if (id % 3 === 0) throw new Error('every third fails');
        });
      await Promise.allSettled(Array.from({ length: 24 }, (_, id) => add(id)));
      expect(await countItems()).toBe(16);
      expect(await one(sql`select count(*) as value from items where note = 'first second'`)).toBe(16);
    });

    test('run statements that were started together one after the other', async () => {
      await database.transaction(async (tx) => {
        await Promise.all(
          Array.from({ length: 10 }, (_, id) => tx.execute(sql`insert into items (id) values (${id})`)),
        );
      });
      expect(await countItems()).toBe(10);
    });

    test('SET LOCAL ends with them', async () => {
      const before = await one(sql`select current_setting('work_mem') as value`);
      await database.transaction(async (tx) => {
        await tx.execute(sql`set local work_mem = '77kB'`);
        expect(await tx.query(sql`select current_setting('work_mem') as value`)).toEqual([{ value: '77kB' }]);
      });
      expect(await one(sql`select current_setting('work_mem') as value`)).toBe(before);
    });

    test.each<[string, (outer: Database) => Promise<unknown>]>([
      ['query', (outer) => outer.query(sql`select 1`)],
      ['execute', (outer) => outer.execute(sql`select 1`)],
      ['transaction', (outer) => outer.transaction(async () => undefined)],
      ['script', (outer) => outer.script('select 1')],
    ])('refuse %s on the database itself while they are open', async (_name, use) => {
      await database.transaction(async (tx) => {
        const error = await failureOf(use(database));
        expect(error).toMatchObject({
          code: 'internal',
          message: expect.stringContaining('inside its own open transaction'),
        });
        await tx.execute(sql`insert into items (id) values (1)`);
      });
      expect(await countItems()).toBe(1);
    });

    test('allow the database to what they started and that goes on after their end', async () => {
      const ended = gate();
      let later: Promise<number> | undefined;
      await database.transaction(async () => {
        later = ended.promise.then(() => countItems());
      });
      ended.resolve();
      expect(await later).toBe(0);
    });

    test('refuse statements after their end', async () => {
      let kept: Transaction | undefined;
      await database.transaction(async (tx) => {
        kept = tx;
      });
      expect(await failureOf(kept!.query(sql`select 1`))).toMatchObject({
        code: 'internal',
        message: expect.stringContaining('after its transaction'),
      });
    });
  });

  test('four parallel claimers never get a row twice', async () => {
    await database.execute(sql`insert into items (id) select n from generate_series(1, 200) n`);
    const claim = () =>
      database.transaction((tx) =>
        tx.query<{ id: number }>(sql`
          update items set state = 'claimed'
          where id in (select id from items where state = 'new' order by id for update skip locked limit 7)
          returning id`),
      );
    const claimAll = async () => {
      const ids: number[] = [];
      for (let rows = await claim(); rows.length > 0; rows = await claim()) ids.push(...rows.map((row) => row.id));
      return ids;
    };
    const claimed = (await Promise.all([claimAll(), claimAll(), claimAll(), claimAll()])).flat();
    expect(claimed.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
  });

  test('a statement with settings has them alone, whether it succeeds or fails', async () => {
    const limit = () => database.query<{ value: string }>(sql`select current_setting('work_mem') as value`);
    const before = await limit();
    await database.executeWith(
      { work_mem: '77MB' },
      sql`insert into items (id, note) values (1, current_setting('work_mem') || ${'!'}::text)`,
    );
    expect(await database.query(sql`select note from items`)).toEqual([{ note: '77MB!' }]);
    await expect(database.executeWith({ work_mem: '77MB' }, sql`select 1 / 0`)).rejects.toThrow('division by zero');
    for (let session = 0; session < 20; session++) expect(await limit()).toEqual(before);
    // No transaction is around it.
    await database.executeWith({ work_mem: '77MB' }, sql`vacuum items`);
  });

  test('a script is several statements, all or none', async () => {
    await database.script(`insert into items (id) values (1); insert into items (id) values (2);`);
    expect(await countItems()).toBe(2);
    const failing = database.script(`insert into items (id) values (3); insert into items (id) values (1);`);
    expect(isUniqueViolation(await failureOf(failing))).toBe(true);
    expect(await countItems()).toBe(2);
  });

  test('closing lets work in flight end and refuses the rest', async () => {
    const other = await openTestDatabase(engine);
    const begun = gate();
    const mayGoOn = gate();
    const statements = Array.from({ length: 20 }, (_, n) => other.database.query(sql`select ${n}::integer as n`));
    const work = other.database.transaction(async (tx) => {
      begun.resolve();
      await mayGoOn.promise;
      return tx.query(sql`select 'late' as word`);
    });
    await begun.promise;
    const closed = other.close();
    mayGoOn.resolve();
    expect(await codeOf(other.database.query(sql`select 1`))).toBe('unavailable');
    expect(await codeOf(other.database.transaction(async () => undefined))).toBe('unavailable');
    expect(await work).toEqual([{ word: 'late' }]);
    expect((await Promise.all(statements)).map((rows) => (rows[0] as { n: number }).n)).toEqual([...statements.keys()]);
    await closed;
    await other.database.close();
  });
});
