import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import type { SearchRequest } from '../../src/search/search.ts';
import type { Database } from '../../src/store/database.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import {
  chunk,
  filler,
  find as findIn,
  ids,
  near,
  nothing,
  relatedAt,
  ships,
  type FindOptions,
} from '../support/search-finder.ts';
import {
  createTableEmbedder,
  emptyWorld,
  storeWorld,
  worldModel,
  type WorldChunk,
  type WorldMemory,
} from '../support/search-world.ts';

describe.each(engines)('similarity on %s', (engine) => {
  let opened: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    database = opened.database;
  });
  afterEach(() => emptyWorld(database));
  afterAll(() => opened.close());

  function find(request: Parameters<typeof findIn>[1], options?: FindOptions) {
    return findIn(database, request, options);
  }

  async function store(chunks: WorldChunk[], memories: WorldMemory[] = []): Promise<void> {
    await storeWorld(database, { documents: [{ id: 'doc', containerTag: 'team', chunks }], memories });
  }

  describe('similarity', () => {
    test('puts the model’s boundary at 0.6 and bends there', async () => {
      const cosines = [1, 0.7, 0.4, 0.2, 0];
      await store([
        ...cosines.map((cosine, index) => chunk(`c${index}`, 'text', near(ships, cosine))),
        chunk('c5', 'text', [0, 0, -1, 0]),
      ]);
      const found = await find({ q: 'boats' }, { vector: ships });
      expect(ids(found)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4', 'c5']);
      const expected = [1, 0.8, 0.6, 0.3, 0, 0];
      for (const [index, { similarity }] of found.entries()) expect(similarity).toBeCloseTo(expected[index]!, 5);
    });

    test('below the threshold is left out, at it is not', async () => {
      await store([
        chunk('at', 'text', [3, 0, 4, 0]),
        chunk('above', 'text', near(ships, 0.9)),
        chunk('below', 'text', near(ships, 0.3)),
      ]);
      const embedder = createTableEmbedder({ boats: ships }, { dimensions: 4, relatedAt: 0.8 });
      expect(ids(await find({ q: 'boats', threshold: 0.6 }, { embedder }))).toEqual(['above', 'at']);
      expect(await find({ q: 'boats', threshold: 1 }, { embedder })).toEqual([]);
    });

    test('memories and chunks are measured alike', async () => {
      await store(
        [chunk('c', 'text', near(ships, 0.7))],
        [{ id: 'm', containerTag: 'team', text: 'text', vector: near(ships, 0.7) }],
      );
      const found = await find({ q: 'boats', mode: 'hybrid' }, { vector: ships });
      expect(found.map(({ similarity }) => similarity.toFixed(4))).toEqual(['0.8000', '0.8000']);
    });
  });

  describe('exact keywords are related', () => {
    const related = async (q: string, more: WorldChunk[], mode: SearchRequest['mode'] = 'documents') => {
      await store([...filler, ...more]);
      return ids(await find({ q, threshold: 0.6, mode }, { vector: ships })).sort();
    };

    test('an identifier', async () => {
      expect(
        await related('what is ERR_CONN_4711?', [
          chunk('hit', 'Seen: err_conn_4711.'),
          chunk('miss', 'Seen: ERR_CONN_47110.'),
          chunk('parts', 'err conn 4711'),
        ]),
      ).toEqual(['hit']);
    });

    test('a quoted phrase, even of stop words', async () => {
      expect(
        await related('who said "to be or not"?', [
          chunk('hit', 'The line: To be,\n'),
          chunk('whole', 'He asked: to  be or not to be.'),
          chunk('miss', 'to be or nothing'),
        ]),
      ).toEqual(['whole']);
    });

    test('in the headings above a chunk too', async () => {
      expect(
        await related('zanzibar-7', [chunk('hit', 'All is quiet.', nothing, { context: 'Project Zanzibar-7' })]),
      ).toEqual(['hit']);
    });

    test('a word in few of many texts, in the form that was asked', async () => {
      const many = Array.from({ length: 300 }, (_, index) =>
        chunk(`many${index}`, 'Minutes of the meeting about budgets.'),
      );
      const added = [chunk('hit', 'He likes marmalade.'), chunk('stemmed', 'Marmalades are sold out.')];
      expect(await related('any marmalade at the meeting about budgets?', [...many, ...added])).toEqual(['hit']);
    });

    test('all words of the query, however few texts there are', async () => {
      const some = [chunk('hit', 'Dentist, crown: copay 250.'), chunk('miss', 'The crown of a dentist.')];
      expect(await related('Dentist crown copay', some)).toEqual(['hit']);
      await emptyWorld(database);
      expect(await related('dentist', some)).toEqual(['hit', 'miss']);
    });

    test('but not one common word of several, in a large store or a small one', async () => {
      const some = Array.from({ length: 30 }, (_, index) => chunk(`some${index}`, 'Pancake recipe.'));
      expect(await related('pancake on the roof of the observatory', some)).toEqual([]);
    });

    test('in memories as in chunks', async () => {
      await store(filler, [{ id: 'm', containerTag: 'team', text: 'Mira owns ticket ABC-123.', vector: nothing }]);
      expect(ids(await find({ q: 'abc-123', threshold: 0.6, mode: 'hybrid' }, { vector: ships }))).toEqual(['m']);
    });
  });

  describe('when the model fails', () => {
    const failing = (error: unknown): Embedder => ({
      ...createTableEmbedder({}, { dimensions: 4, relatedAt }),
      embed: () => Promise.reject(error),
    });
    const broken = () =>
      failing(new MemorydError('embed_failed', 'The server does not answer.', { retryAfterMs: 1_000 }));

    test('the words still answer, with a warning', async () => {
      await store([...filler, chunk('all', 'The schooner left the harbour.'), chunk('half', 'The harbour is closed.')]);
      const lines: string[] = [];
      const log = createLogger('warn', { write: (line) => void lines.push(line) });
      const found = await find({ q: 'schooner in the harbour' }, { embedder: broken(), log });
      expect(ids(found)).toEqual(['all', 'half']);
      expect(found[0]!.similarity).toBe(1);
      expect(found[1]!.similarity).toBeLessThan(0.6);
      expect(lines.length).toBe(1);
      expect(JSON.parse(lines[0]!)).toMatchObject({ level: 40, model: worldModel, err: { code: 'embed_failed' } });
      expect(lines[0]).not.toContain('schooner');
    });

    test.each([
      ['of the wrong length', [1, 2]],
      ['that is no number', [Number.NaN, 0, 0, 0]],
    ])('a vector %s is a failure too', async (_, vector) => {
      await store([chunk('c', 'The schooner left.', ships)]);
      const embedder = createTableEmbedder({ schooner: vector }, { dimensions: 4, relatedAt });
      expect(ids(await find({ q: 'schooner' }, { embedder }))).toEqual(['c']);
    });

    test('a zero vector is near nothing', async () => {
      await store([chunk('c', 'The schooner left.', ships), chunk('zero', 'The yacht left.', [0, 0, 0, 0])]);
      expect(ids(await find({ q: 'schooner' }, { vector: [0, 0, 0, 0] }))).toEqual(['c']);
      expect(ids(await find({ q: 'boats' }, { vector: ships }))).toEqual(['c']);
    });

    test('without words its error is thrown', async () => {
      await expect(find({ q: '???' }, { embedder: broken() })).rejects.toMatchObject({
        code: 'embed_failed',
        retryAfterMs: 1_000,
      });
    });

    test('an aborted search is no failure of the model', async () => {
      const signal = AbortSignal.abort(new Error('gone'));
      await expect(find({ q: 'schooner', signal }, { embedder: failing(signal.reason) })).rejects.toThrow('gone');
      await expect(find({ q: 'schooner', signal })).rejects.toThrow('gone');
    });
  });
});
