import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createSearch } from '../../src/search/create-search.ts';
import type { SearchRequest } from '../../src/search/search.ts';
import type { Database } from '../../src/store/database.ts';
import { rawSql, sql, type Sql } from '../../src/store/sql.ts';
import { createVectorIndex } from '../../src/store/vector-index.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createRandom, createVectors } from '../support/random-vectors.ts';
import { createTableEmbedder, storeWorld, worldModel, worldTime, type WorldDocument } from '../support/search-world.ts';

const dimensions = 16;
const count = 3_000;
const memoryCount = 5_000;
const queries = 20;

describe.each(engines)('search in many chunks on %s', (engine) => {
  let opened: TestDatabase;
  const asked = new Map<string, readonly number[]>();
  const nextVector = createVectors(createRandom(7), { dimensions, clusters: 40, spread: 0.4 });

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    const words = createRandom(8);
    const document = (index: number): WorldDocument => ({
      id: `d${index}`,
      containerTag: index % 10 === 0 ? 'few' : 'most',
      metadata: { group: index % 4 },
      chunks: Array.from({ length: 10 }, (_, place) => ({
        id: `c${index}-${place}`,
        // Words from common to rare.
        text: Array.from({ length: 12 }, () => `word${Math.floor(400 * words() ** 3)}`).join(' '),
        vector: nextVector(),
      })),
    });
    const documents = Array.from({ length: count / 10 }, (_, index) => document(index));
    // All far from the queries, which are of other clusters.
    const far = Array.from({ length: 30 }, (_, place) => ({
      id: `far${place}`,
      text: `island ${place}`,
      vector: nextVector(39),
    }));
    const memories = Array.from({ length: memoryCount }, (_, index) => ({
      ...{ id: `m${index}`, containerTag: index % 10 === 0 ? 'few' : 'most', vector: nextVector() },
      text: Array.from({ length: 6 }, () => `word${Math.floor(400 * words() ** 3)}`).join(' '),
      sources: [`d${index % 300}`],
      forgotten: index % 7 === 0,
    }));
    await storeWorld(opened.database, {
      documents: [...documents, { id: 'far', containerTag: 'most', metadata: { group: 9 }, chunks: far }],
      memories,
    });
    await opened.database.script('vacuum analyze');
    for (let index = 0; index < queries; index++) {
      const q = Array.from({ length: 4 }, () => `word${Math.floor(400 * words() ** 3)}`).join(' ');
      asked.set(q, nextVector(index));
    }
    for (const kind of ['chunks', 'memories'] as const) {
      const index = createVectorIndex({
        ...{ database: opened.database, kind, threshold: 1_000 },
        ...{ embedder: { id: worldModel, dimensions }, clock: createTestClock(), log: silentLogger },
      });
      expect(await index.ensure()).toBe('ready');
    }
  }, 120_000);
  afterAll(() => opened.close());

  /** The database, with the statements it was asked to run. */
  function watched(): { database: Database; statements: Sql[] } {
    const statements: Sql[] = [];
    const { database } = opened;
    return {
      statements,
      database: {
        ...database,
        query: (statement) => {
          statements.push(statement);
          return database.query(statement);
        },
      },
    };
  }

  function searchOn(
    database: Database,
    exactLimit: number,
    embedder = createTableEmbedder(Object.fromEntries(asked), { dimensions }),
  ) {
    const search = createSearch({
      database,
      embedder,
      clock: createTestClock(worldTime.toISOString()),
      log: silentLogger,
      exactLimit,
    });
    return (request: Partial<SearchRequest> & { q: string }) =>
      search.search({ scope: { containerTags: null }, mode: 'documents', threshold: 0, limit: 10, ...request });
  }

  async function planOf(statement: Sql): Promise<string> {
    const rows = await opened.database.query<{ 'QUERY PLAN': string }>(sql`${rawSql('explain ')}${statement}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }

  async function recall(narrowing: Partial<SearchRequest>): Promise<number> {
    const exact = searchOn(opened.database, 1_000_000);
    const indexed = searchOn(opened.database, 100);
    let same = 0;
    let all = 0;
    for (const q of asked.keys()) {
      const expected = (await exact({ q, ...narrowing })).map(({ id }) => id);
      const found = new Set((await indexed({ q, ...narrowing })).map(({ id }) => id));
      all += expected.length;
      same += expected.filter((id) => found.has(id)).length;
    }
    expect(all).toBe(queries * 10);
    return same / all;
  }

  function inGroup(value: number) {
    const condition = {
      key: 'group',
      value,
      filterType: 'numeric',
      numericOperator: '=',
      negate: false,
      ignoreCase: false,
    } as const;
    return { and: [condition] };
  }

  test('the indexes find what reading every chunk finds', async () => {
    expect(await recall({})).toBeGreaterThanOrEqual(0.9);
  });

  test.each(['memories only', 'memories', 'hybrid'] as const)('also in mode %s', async (mode) => {
    expect(await recall({ mode })).toBeGreaterThanOrEqual(0.9);
    expect(await recall({ mode, filters: inGroup(1) })).toBeGreaterThanOrEqual(0.9);
  });

  test('the vector index of memories is used, but not for what held at another time', async () => {
    const { database, statements } = watched();
    const search = searchOn(database, 100);
    const request = { q: [...asked.keys()][0]!, mode: 'memories only' } as const;
    await search(request);
    expect(await planOf(statements.at(-2)!)).toMatch(/Index Scan using memories_hnsw_\w+/);
    await search({ ...request, includeForgotten: true });
    expect(await planOf(statements.at(-2)!)).not.toContain('memories_hnsw');
  });

  test('also in a container that is most of the store', async () => {
    expect(await recall({ scope: { containerTags: ['most'] } })).toBeGreaterThanOrEqual(0.9);
  });

  test('also in a small part of the store, whose vectors are faster compared than looked for', async () => {
    expect(await recall({ scope: { containerTags: ['few'] } })).toBe(1);
  });

  test('also under a filter', async () => {
    expect(await recall({ filters: inGroup(1) })).toBeGreaterThanOrEqual(0.9);
  });

  test('the vector index and the term index are used, in one statement once the scope is known, one for its languages and one for what is shown', async () => {
    const { database, statements } = watched();
    const search = searchOn(database, 100);
    await search({ q: 'island' });
    const before = statements.length;
    await search({ q: 'island' });
    expect(statements.length).toBe(before + 3);
    const plan = await planOf(statements.at(-2)!);
    expect(plan).toMatch(/Index Scan using chunks_hnsw_\w+/);
    expect(plan).toContain('chunks_by_term');
  });

  test('a small scope is read without the vector index', async () => {
    const { database, statements } = watched();
    await searchOn(database, 5_000)({ q: [...asked.keys()][0]! });
    expect(await planOf(statements.at(-2)!)).not.toContain('chunks_hnsw');
  });

  test('settings of the index hold for the statement alone', async () => {
    const search = searchOn(opened.database, 100);
    for (const q of asked.keys()) await search({ q });
    const [row] = await opened.database.query<Record<string, string>>(sql`
      select current_setting('hnsw.iterative_scan', true) as scan, current_setting('hnsw.ef_search', true) as size`);
    expect([null, '', 'off']).toContain(row!['scan']);
    expect([null, '', '40']).toContain(row!['size']);
  });

  test('where the index finds too few, all are scanned, and the next time at once', async () => {
    const { database, statements } = watched();
    const search = searchOn(database, 5);
    const [q] = asked.keys();
    const narrowing = { filters: inGroup(9), limit: 100 };
    const found = await search({ q: q!, ...narrowing });
    expect(found.length).toBe(30);
    const before = statements.length;
    expect(await search({ q: q!, ...narrowing })).toEqual(found);
    expect(statements.length).toBe(before + 3);
    const exact = await searchOn(opened.database, 1_000)({ q: q!, ...narrowing });
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set(exact.map(({ id }) => id)));
  });

  test('a word that was in no chunk a moment ago is found as soon as it is', async () => {
    // Without vectors, so that only the words can find it.
    const embed = () => Promise.reject(new MemorydError('embed_failed', 'No model.'));
    const search = searchOn(opened.database, 100, { ...createTableEmbedder({}, { dimensions }), embed });
    expect(await search({ q: 'unheard' })).toEqual([]);
    const chunk = { id: 'new', text: 'something unheard', vector: nextVector() };
    await storeWorld(opened.database, { documents: [{ id: 'new', containerTag: 'most', chunks: [chunk] }] });
    expect((await search({ q: 'unheard' })).map(({ id }) => id)).toEqual(['new']);
  });

  test('terms that are in too many chunks are counted and searched only so far', async () => {
    const { database, statements } = watched();
    const found = await searchOn(database, 100)({ q: 'word0 word1 word2 word3 word4 word5' });
    expect(found.length).toBe(10);
    const rarest = await searchOn(database, 100)({ q: 'word0 island' });
    expect(rarest.slice(0, 3).every(({ text }) => text.includes('island'))).toBe(true);
    expect(statements.length).toBeGreaterThan(2);
  });

  test('the vector index is used where nobody has gathered statistics yet', async () => {
    await opened.database.script(
      `delete from pg_statistic where starelid in ('chunks'::regclass, 'memories'::regclass)`,
    );
    const { database, statements } = watched();
    const search = searchOn(database, 100);
    const request = { q: [...asked.keys()][0]!, scope: { containerTags: ['most'] } };
    await search(request);
    expect(await planOf(statements.at(-2)!)).toMatch(/Index Scan using chunks_hnsw_\w+/);
    await search({ ...request, mode: 'memories only' });
    expect(await planOf(statements.at(-2)!)).toMatch(/Index Scan using memories_hnsw_\w+/);
  });
});
