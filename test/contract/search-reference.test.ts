import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { createSearch } from '../../src/search/create-search.ts';
import { createResidentTexts, type ResidentTexts } from '../../src/search/resident/resident-texts.ts';
import type { SearchRequest, SearchResult } from '../../src/search/search.ts';
import type { Database } from '../../src/store/database.ts';
import type { Filter, FilterCondition } from '../../src/store/filters.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { rank, visibleItems } from '../support/search-reference.ts';
import {
  createTableEmbedder,
  emptyWorld,
  storeWorld,
  worldModel,
  worldTime,
  type World,
  type WorldChunk,
  type WorldDocument,
  type WorldMemory,
} from '../support/search-world.ts';

const dimensions = 3;
const relatedAt = 0.4;
const runs = 40;

// ---- Random worlds: few words, containers and paths, so that everything meets everything

const tags = ['a', 'b', 'c'];
const word = fc.constantFrom('river', 'stone', 'bridge', 'lantern', 'harbour', 'willow', 'the');
const text = fc.array(word, { minLength: 0, maxLength: 12 }).map((words) => words.join(' '));
/** Small whole numbers: their cosines are the same in the database's arithmetic and in ours. */
const vector = fc.tuple(...Array.from({ length: dimensions }, () => fc.integer({ min: -3, max: 3 })));
const metadata = fc.record(
  {
    color: fc.constantFrom('red', 'green'),
    size: fc.integer({ min: 0, max: 3 }),
    labels: fc.subarray(['red', 'green', 'blue']),
  },
  { requiredKeys: [] },
);
const filepath = fc.constantFrom('/notes/', '/notes/a.md', '/notes/b/c.md', '/other.md', undefined);
const embedded = {
  vector: fc.option(vector, { freq: 8 }),
  model: fc.constantFrom('hand-made', 'hand-made', 'hand-made', 'another'),
};

const chunk = fc.record({ text, context: fc.option(text, { nil: undefined }), ...embedded });
const document = fc.record({
  containerTag: fc.constantFrom(...tags),
  customId: fc.constantFrom('one', 'two', 'd1', undefined),
  filepath,
  metadata,
  deleted: fc.boolean(),
  chunks: fc.array(chunk, { maxLength: 4 }),
});
const memory = fc.record({
  containerTag: fc.constantFrom(...tags),
  text,
  metadata: fc.option(metadata, { nil: undefined }),
  ...embedded,
  latest: fc.constantFrom(true, true, true, false),
  forgotten: fc.constantFrom(false, false, false, true),
  forgetAfter: fc.constantFrom(undefined, new Date(worldTime.getTime() + 1), worldTime),
  inference: fc.boolean(),
  sources: fc.array(fc.nat({ max: 20 }), { maxLength: 2 }),
});

type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;

function worldOf(documents: Drawn<typeof document>[], memories: Drawn<typeof memory>[]): World {
  const taken = new Set<string>();
  const stored = documents.map(({ customId, filepath, deleted, chunks, ...rest }, index): WorldDocument => {
    const free = customId !== undefined && !taken.has(`${rest.containerTag} ${customId}`);
    if (free) taken.add(`${rest.containerTag} ${customId}`);
    return {
      ...rest,
      ...(free && { customId }),
      ...(filepath !== undefined && { filepath }),
      id: `d${index}`,
      deleted: deleted && index % 3 === 0,
      chunks: chunks.map((each, place) => ({ ...each, id: `c${index}-${place}` }) as WorldChunk),
    };
  });
  return { documents: stored, memories: memories.map((each, index) => memoryOf(each, index, stored)) };
}

/** Sources are of the memory's own container, as the engine writes them. */
function memoryOf(drawn: Drawn<typeof memory>, index: number, documents: readonly WorldDocument[]): WorldMemory {
  const sources = drawn.sources
    .map((place) => documents[place % Math.max(documents.length, 1)])
    .filter((source) => source?.containerTag === drawn.containerTag)
    .map((source) => source!.id);
  return { ...drawn, id: `m${index}`, sources: [...new Set(sources)] } as WorldMemory;
}

function defined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Partial<T>;
}

const world = fc
  .tuple(fc.array(document, { minLength: 2, maxLength: 12 }), fc.array(memory, { minLength: 2, maxLength: 12 }))
  .map(([documents, memories]) => worldOf(documents, memories));

const condition: fc.Arbitrary<FilterCondition> = fc.oneof(
  fc.record({
    key: fc.constantFrom('color', 'labels', 'size'),
    value: fc.constantFrom('red', 'green', '2'),
    filterType: fc.constant('metadata' as const),
    numericOperator: fc.constant('=' as const),
    negate: fc.boolean(),
    ignoreCase: fc.constant(false),
  }),
  fc.record({
    key: fc.constantFrom('size', 'color'),
    value: fc.integer({ min: 0, max: 3 }),
    filterType: fc.constant('numeric' as const),
    numericOperator: fc.constant('<' as const),
    negate: fc.boolean(),
    ignoreCase: fc.constant(false),
  }),
);
const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small' },
    condition,
    fc.record({ and: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ or: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
  ),
}));

const request: fc.Arbitrary<SearchRequest> = fc
  .record({
    q: text.filter((each) => each !== ''),
    scope: fc
      .constantFrom(null, null, ['a'], ['a', 'b'], ['a', 'b', 'c'], ['c', 'nobody'], [])
      .map((containerTags) => ({ containerTags })),
    mode: fc.constantFrom('memories' as const, 'documents' as const, 'hybrid' as const, 'memories only' as const),
    threshold: fc.constantFrom(0, 0, 0.3, 0.6),
    limit: fc.constantFrom(1, 3, 100),
    filters: fc.option(filter, { nil: undefined, freq: 1 }),
    filepath: fc.constantFrom(undefined, undefined, undefined, '/notes/', '/notes/a.md'),
    docId: fc.constantFrom(undefined, undefined, undefined, 'one', 'd1', 'absent'),
    includeForgotten: fc.boolean(),
  })
  .map((each) => defined(each) as unknown as SearchRequest);

describe.each(engines)('ranking on %s', (engine) => {
  let opened: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    database = opened.database;
  });
  afterAll(() => opened.close());

  function searchWith(
    queryVector: readonly number[],
    request: SearchRequest,
    options: { exactLimit?: number; residentTexts?: ResidentTexts } = {},
  ) {
    const search = createSearch({
      database,
      embedder: createTableEmbedder({ [request.q]: queryVector }, { dimensions, relatedAt }),
      clock: createTestClock(worldTime.toISOString()),
      log: silentLogger,
      ...options,
    });
    return search.search(request);
  }

  /** Counts the searches that they answer. */
  function countedTexts(): { texts: ResidentTexts; answered(): number } {
    let answered = 0;
    const clock = createTestClock(worldTime.toISOString());
    const texts = createResidentTexts({ database, embedder: { id: worldModel, dimensions }, clock, log: silentLogger });
    const upToDate: ResidentTexts['upToDate'] = async (scope) => {
      const resident = await texts.upToDate(scope);
      if (resident !== null) answered += 1;
      return resident;
    };
    return { texts: { ...texts, upToDate }, answered: () => answered };
  }

  async function withWorld(stored: World, work: () => Promise<void>): Promise<void> {
    await storeWorld(database, stored);
    try {
      await work();
    } finally {
      await emptyWorld(database);
    }
  }

  async function expectFormula(stored: World, each: SearchRequest, queryVector: number[], found: SearchResult[]) {
    const expected = rank(stored, each, queryVector, relatedAt);
    const whole = new Map(
      rank(stored, { ...each, limit: 1_000 }, queryVector, relatedAt).map((item) => [item.id, item]),
    );
    expect(found.length).toBe(expected.length);
    for (const [index, result] of found.entries()) {
      // Of equal scores any may come first when rounding decides.
      expect(whole.get(result.id)?.score, result.id).toBeCloseTo(expected[index]!.score, 9);
      expect(result.similarity).toBeCloseTo(whole.get(result.id)!.similarity, 5);
    }
  }

  test('is that of the formula, whatever is stored and asked', async () => {
    let results = 0;
    const property = fc.asyncProperty(
      world,
      fc.array(fc.tuple(request, vector), { minLength: 5, maxLength: 5 }),
      (stored, asked) =>
        withWorld(stored, async () => {
          for (const [each, queryVector] of asked) {
            const found = await searchWith(queryVector, each);
            results += found.length;
            await expectFormula(stored, each, queryVector, found);
          }
        }),
    );
    await fc.assert(property, { numRuns: runs });
    expect(results).toBeGreaterThan(runs);
  }, 120_000);

  test('is the same where the texts are in memory', async () => {
    let answered = 0;
    const property = fc.asyncProperty(
      world,
      fc.array(fc.tuple(request, vector), { minLength: 5, maxLength: 5 }),
      (stored, asked) =>
        withWorld(stored, async () => {
          const counted = countedTexts();
          for (const [given, queryVector] of asked) {
            const { filters: _, filepath: __, docId: ___, ...each } = { ...given, includeForgotten: false };
            const residentTexts = counted.texts;
            for (let round = 0; round < 2; round++) await searchWith(queryVector, each, { residentTexts });
            await residentTexts.settled();
            await expectFormula(stored, each, queryVector, await searchWith(queryVector, each, { residentTexts }));
          }
          answered += counted.answered();
        }),
    );
    await fc.assert(property, { numRuns: runs });
    expect(answered).toBeGreaterThan(runs);
  }, 120_000);

  test('never shows a row that the scope or the filters leave out, when indexes are used either', async () => {
    let results = 0;
    const property = fc.asyncProperty(
      world,
      fc.array(fc.tuple(request, vector), { minLength: 5, maxLength: 5 }),
      (stored, asked) =>
        withWorld(stored, async () => {
          for (const [each, queryVector] of asked) {
            const visible = new Set(visibleItems(stored, each, queryVector).map(({ id }) => id));
            const found = await searchWith(queryVector, each, { exactLimit: 0 });
            results += found.length;
            expect(found.filter(({ id }) => !visible.has(id))).toEqual([]);
          }
        }),
    );
    await fc.assert(property, { numRuns: runs });
    expect(results).toBeGreaterThan(runs);
  }, 120_000);
});
