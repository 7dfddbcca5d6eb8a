import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { foundInRows } from '../../src/search/score-candidates.ts';
import { createResidentTexts, type ResidentOptions } from '../../src/search/resident/resident-texts.ts';
import { createSearch } from '../../src/search/create-search.ts';
import type { SearchRequest } from '../../src/search/search.ts';
import type { Database } from '../../src/store/database.ts';
import { scoring } from '../../src/search/ranking-constants.ts';
import { candidatesStatement, type CandidateRow } from '../../src/store/search/candidates.ts';
import { deleteOldTextChanges } from '../../src/store/search/text-rows.ts';
import { sql, type Sql } from '../../src/store/sql.ts';
import { noteLanguages } from '../../src/store/text-languages.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { animals, chunk, nothing, relatedAt, ships } from '../support/search-finder.ts';
import { createTableEmbedder, emptyWorld, storeWorld, worldModel, worldTime } from '../support/search-world.ts';

describe.each(engines)('texts in memory on %s', async (engine) => {
  const opened: TestDatabase = await openTestDatabase(engine);
  const { database } = opened;
  afterAll(() => opened.close());
  beforeEach(() => emptyWorld(database));

  /** A search whose texts are in memory, and the statements that it makes. */
  async function residentSearch(options: Partial<ResidentOptions> = {}) {
    const clock = createTestClock(worldTime.toISOString());
    const statements: Sql[] = [];
    const watched: Database = {
      ...database,
      query: (statement) => {
        statements.push(statement);
        return database.query(statement);
      },
    };
    const embedder = createTableEmbedder({ whale: ships, cat: animals }, { dimensions: 4, relatedAt });
    const shared = { database: watched, embedder, clock, log: silentLogger };
    const residentTexts = createResidentTexts({ ...shared, ...options });
    const search = createSearch({ ...shared, residentTexts });
    const find = async (q: string, request: Partial<SearchRequest> = {}) => {
      const scope = { containerTags: ['team'] };
      const found = await search.search({ q, scope, mode: 'documents', threshold: 0, limit: 10, ...request });
      return found.map(({ id }) => id);
    };
    const warm = async (request: Partial<SearchRequest> = {}) => {
      for (let time = 0; time < 2; time++) await find('whale', request);
      await residentTexts.settled();
      statements.length = 0;
    };
    await warm();
    return { find, warm, clock, hasReadAll: () => statements.some(({ text }) => text.includes('t.term_counts[')) };
  }

  const document = (id: string, text: string, vector: readonly number[] | null = nothing) => ({
    id,
    containerTag: 'team',
    chunks: [chunk(`${id}-0`, text, vector)],
  });

  test('a search is answered from them, without reading all from the database', async () => {
    await storeWorld(database, { documents: [document('a', 'a whale', ships), document('b', 'a cat', animals)] });
    const { find, hasReadAll } = await residentSearch();
    expect(await find('whale')).toEqual(['a-0', 'b-0']);
    expect(await find('cat')).toEqual(['b-0', 'a-0']);
    expect(hasReadAll()).toBe(false);
  });

  test('what another process adds, changes, hides or deletes counts from the next search on', async () => {
    await storeWorld(database, { documents: [document('a', 'a whale', ships)] });
    const { find, hasReadAll } = await residentSearch();
    await storeWorld(database, { documents: [document('b', 'another whale', ships)] });
    expect(await find('whale')).toEqual(['a-0', 'b-0']);
    await database.execute(
      sql`update chunks set embedding = null, embedding_model = null, terms = '{}', term_counts = '{}' where id = 'a-0'`,
    );
    expect(await find('whale')).toEqual(['b-0']);
    await database.execute(sql`update documents set deleted_at = ${worldTime} where id = 'b'`);
    expect(await find('whale')).toEqual([]);
    await database.execute(sql`update documents set deleted_at = null where id = 'b'`);
    expect(await find('whale')).toEqual(['b-0']);
    await database.execute(sql`update chunks set container_tag = 'others' where document_id = 'b'`);
    expect(await find('whale')).toEqual([]);
    await database.execute(sql`update chunks set container_tag = 'team' where document_id = 'b'`);
    await database.execute(sql`delete from documents where id = 'b'`);
    expect(await find('whale')).toEqual([]);
    expect(hasReadAll()).toBe(false);
  });

  // The embedded engine has one transaction at a time.
  if (engine === 'postgres') {
    test('a transaction counts when it is committed, also when it began before what is known already', async () => {
      await storeWorld(database, { documents: [document('a', 'a whale', ships), document('b', 'a cat', animals)] });
      const { find, hasReadAll } = await residentSearch();
      const [written, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const early = database.transaction(async (tx) => {
        await tx.execute(sql`update chunks set embedding = '[0,0,1,0]' where id = 'b-0'`);
        written.resolve();
        await seen.promise;
      });
      await written.promise;
      await storeWorld(database, { documents: [document('c', 'one more whale', ships)] });
      expect(await find('whale')).toEqual(['a-0', 'c-0', 'b-0']);
      seen.resolve();
      await early;
      await database.execute(sql`delete from documents where id in ('a', 'c')`);
      await storeWorld(database, { documents: [document('d', 'a cat', animals)] });
      expect(await find('whale')).toEqual(['b-0', 'd-0']);
      expect(hasReadAll()).toBe(false);
    });
  }

  test('memories follow their sources, and end at their time', async () => {
    const memory = (id: string, text: string, sources: string[], forgetAfter?: Date) => ({
      ...{ id, containerTag: 'team', text, vector: ships, sources },
      ...(forgetAfter && { forgetAfter }),
    });
    const soon = new Date(worldTime.getTime() + 60_000);
    await storeWorld(database, {
      documents: [document('a', 'a whale', ships)],
      memories: [memory('m', 'whales sing', ['a']), memory('n', 'a whale today', [], soon)],
    });
    const { find, warm, clock, hasReadAll } = await residentSearch();
    const only = { mode: 'memories only' } as const;
    await warm(only);
    expect((await find('whale', only)).toSorted()).toEqual(['m', 'n']);
    clock.advance(61_000);
    expect(await find('whale', only)).toEqual(['m']);
    await database.execute(sql`update documents set deleted_at = ${worldTime} where id = 'a'`);
    expect(await find('whale', only)).toEqual([]);
    await database.execute(sql`update documents set deleted_at = null where id = 'a'`);
    expect(await find('whale', only)).toEqual(['m']);
    await database.execute(sql`update memories set is_forgotten = true where id = 'm'`);
    expect(await find('whale', only)).toEqual([]);
    expect(hasReadAll()).toBe(false);
  });

  test('turns and what is remembered of them are the rows that the database finds', async () => {
    const turn = (id: string) => ({
      ...document(id, 'a whale was seen', ships),
      chunks: [chunk(`${id}-0`, 'a whale was seen', ships, { type: 'turn' })],
    });
    const episode = (id: string, source: string) => ({
      ...{ id, containerTag: 'team', text: 'saw a whale', vector: ships, kind: 'episode' as const },
      ...{ sources: [source], span: { start: 0, end: 10 } },
    });
    await storeWorld(database, {
      documents: [turn('a'), turn('b')],
      memories: [episode('m', 'a'), episode('n', 'b')],
    });
    const embedder = { id: worldModel, dimensions: 4 };
    const clock = createTestClock(worldTime.toISOString());
    const texts = createResidentTexts({ database, embedder, clock, log: silentLogger });
    for (const kind of ['chunks', 'memories'] as const) {
      const scope = { kind, containerTags: ['team'], forgottenToo: false, now: worldTime };
      const asked = {
        ...{ ...scope, linked: true, model: embedder, vector: ships, keywords: [], periods: [] },
        ...{ terms: [{ forms: ['whale'], count: 1 }], scoring: { ...scoring, relatedAt } },
      };
      for (let time = 0; time < 2; time++) texts.note(scope, 2);
      await texts.settled();
      const found = await database.query<CandidateRow>(candidatesStatement({ ...asked, access: { kind: 'all' } }));
      const { candidates } = foundInRows({ ...asked, access: { kind: 'all' } }, found);
      const resident = (await texts.upToDate(scope))!;
      expect((await resident.candidates(asked)).candidates).toMatchObject(candidates);
    }
  });

  test('the languages of a scope are known, also one that came with a text since', async () => {
    await storeWorld(database, { documents: [document('a', 'a whale', ships)] });
    const clock = createTestClock(worldTime.toISOString());
    const embedder = { id: worldModel, dimensions: 4 };
    const texts = createResidentTexts({ database, embedder, clock, log: silentLogger });
    const scope = { kind: 'chunks', containerTags: ['team'], forgottenToo: false, now: worldTime } as const;
    for (let time = 0; time < 2; time++) texts.note(scope, 1);
    await texts.settled();
    expect((await texts.upToDate(scope))!.languages).toEqual([]);
    const german = [{ containerTag: 'team', languages: ['de'] }];
    await database.transaction((tx) => noteLanguages(tx, german));
    await storeWorld(database, { documents: [document('b', 'ein Wal', ships)] });
    expect((await texts.upToDate(scope))!.languages).toContain('de');
  });

  test('a scope with too many texts, and one that is narrowed, are searched in the database', async () => {
    await storeWorld(database, { documents: [document('a', 'a whale', ships), document('b', 'a cat', animals)] });
    const few = await residentSearch({ maxTexts: 1 });
    expect(await few.find('whale')).toEqual(['a-0', 'b-0']);
    expect(few.hasReadAll()).toBe(true);
    const all = await residentSearch();
    expect(await all.find('whale', { docId: 'b' })).toEqual(['b-0']);
    expect(all.hasReadAll()).toBe(true);
  });

  test('after an hour without a search they are read anew, for their changes may be forgotten', async () => {
    await storeWorld(database, { documents: [document('a', 'a whale', ships)] });
    const { find, clock, hasReadAll } = await residentSearch();
    await storeWorld(database, { documents: [document('b', 'another whale', ships)] });
    expect(await deleteOldTextChanges(database, new Date(Date.now() + 60_000))).toBeGreaterThan(0);
    clock.advance(61 * 60_000);
    expect(await find('whale')).toEqual(['a-0', 'b-0']);
    expect(hasReadAll()).toBe(true);
  });

  test('texts without a vector of the model are found by their words', async () => {
    await storeWorld(database, { documents: [document('a', 'a whale', null), document('b', 'a cat', animals)] });
    const { find } = await residentSearch();
    expect(await find('whale')).toEqual(['a-0', 'b-0']);
    await database.execute(
      sql`update chunks set embedding = '[0,1,0,0]', embedding_model = ${worldModel} where id = 'a-0'`,
    );
    expect((await find('cat')).toSorted()).toEqual(['a-0', 'b-0']);
  });
});
