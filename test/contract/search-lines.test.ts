import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SearchRequest } from '../../src/search/search.ts';
import type { Filter } from '../../src/store/filters.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { chunk, cooking, find as findIn, ids, near, ships } from '../support/search-finder.ts';
import { chunkLength, emptyWorld, storeWorld, type World, type WorldMemory } from '../support/search-world.ts';

const query = { q: 'schooner', threshold: 0 };
const spanIn = (position: number, start = 0, end = 50) => ({
  start: position * chunkLength + start,
  end: position * chunkLength + end,
});
const memory = (id: string, more: Partial<WorldMemory> = {}): WorldMemory => ({
  ...{ id, containerTag: 'team', text: `Mira sails a schooner, ${id}.`, vector: ships },
  ...more,
});
const isBlue: Filter = {
  ...{ key: 'colour', value: 'blue', filterType: 'metadata', numericOperator: '=' },
  ...{ negate: false, ignoreCase: false },
};

describe.each(engines)('memories beside what they came from on %s', (engine) => {
  let opened: TestDatabase;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
  });
  afterEach(() => emptyWorld(opened.database));
  afterAll(() => opened.close());

  const find = (request: Partial<SearchRequest> = {}, exactLimit = 100) =>
    findIn(opened.database, { ...query, mode: 'memories', limit: 10, ...request }, { vector: ships, exactLimit });
  const store = (world: World) => storeWorld(opened.database, world);

  describe.each([
    ['read completely', 100],
    ['reached by indexes', 0],
  ])('when the scope is %s', (_, exactLimit) => {
    const idsOf = async (request: Partial<SearchRequest> = {}) => ids(await find(request, exactLimit)).sort();

    test('a memory stands for the chunk that it came from, and passages for what has none', async () => {
      await store({
        documents: [
          {
            ...{ id: 'told', containerTag: 'team' },
            chunks: [chunk('t0', 'The schooner left.', near(ships, 0.8)), chunk('t1', 'A schooner.', near(ships, 0.7))],
          },
          { id: 'read', containerTag: 'team', chunks: [chunk('r0', 'About the schooner.', near(ships, 0.6))] },
        ],
        memories: [memory('m', { sources: ['told'], span: spanIn(0) })],
      });
      expect(await idsOf()).toEqual(['m', 'r0', 't1']);
      expect(await idsOf({ mode: 'hybrid' })).toEqual(['m', 'r0', 't1']);
      expect(await idsOf({ mode: 'documents' })).toEqual(['r0', 't0', 't1']);
      expect(await idsOf({ mode: 'memories only' })).toEqual(['m']);
    });

    test('the place where a memory stands moves with the chunks when its document is cut again', async () => {
      const memories = [memory('m', { sources: ['told'], span: spanIn(1) })];
      const chunks = [chunk('t0', 'A schooner.', near(ships, 0.7)), chunk('t1', 'The schooner left.', ships)];
      await store({ documents: [{ id: 'told', containerTag: 'team', chunks }], memories });
      expect(await idsOf()).toEqual(['m', 't0']);
      await opened.database.script(
        `update documents set chunk_starts = '{0,1700}', chunk_ends = '{1700,2000}' where id = 'told'`,
      );
      expect(await idsOf()).toEqual(['m', 't1']);
    });

    test('hidden, forgotten, replaced and foreign memories stand for nothing', async () => {
      const chunks = [chunk('t0', 'The schooner left.', near(ships, 0.5))];
      const of = { sources: ['told'], span: spanIn(0) };
      await store({
        documents: [
          { id: 'told', containerTag: 'team', chunks },
          { id: 'gone', containerTag: 'team', deleted: true, chunks: [chunk('g0', 'A schooner.', ships)] },
        ],
        memories: [
          memory('hidden', { sources: ['gone'] }),
          memory('forgotten', { ...of, forgotten: true }),
          memory('replaced', { ...of, latest: false }),
          memory('foreign', { containerTag: 'others' }),
        ],
      });
      expect(await idsOf()).toEqual(['t0']);
    });

    test('a memory stays as long as one of its documents is there', async () => {
      await store({
        documents: [
          { id: 'gone', containerTag: 'team', deleted: true, chunks: [chunk('g0', 'A schooner.', ships)] },
          { id: 'there', containerTag: 'team', chunks: [chunk('t0', 'The schooner.', ships)] },
        ],
        memories: [memory('m', { sources: ['gone', 'there'] })],
      });
      expect(await idsOf()).toEqual(['m']);
    });

    test.each<[string, Partial<SearchRequest>]>([
      ['metadata', { filters: { and: [isBlue] } }],
      ['a path', { filepath: '/blue/' }],
      ['a document', { docId: 'blue' }],
    ])('%s narrows memories by their documents', async (_name, narrowing) => {
      await store({
        documents: ['blue', 'red'].map((colour) => ({
          ...{ id: colour, containerTag: 'team', filepath: `/${colour}/log.md`, metadata: { colour } },
          chunks: [chunk(`${colour}0`, 'Soup.', cooking)],
        })),
        memories: [memory('m blue', { sources: ['blue'] }), memory('m red', { sources: ['red'] }), memory('m none')],
      });
      expect(await idsOf({ ...narrowing, mode: 'memories only' })).toEqual(['m blue']);
    });
  });

  test('of memories of one stretch of text the episode or its facts are shown, facts beside each other', async () => {
    const world = (episodeIs: number, factIs: number): World => ({
      documents: [
        { id: 'told', containerTag: 'team', chunks: [chunk('t0', 'I sail a schooner.', near(ships, 0.2))] },
        { id: 'more', containerTag: 'team', chunks: [chunk('s0', 'Soup.', cooking)] },
      ],
      memories: [
        memory('episode', { kind: 'episode', vector: near(ships, episodeIs), sources: ['told'], span: spanIn(0) }),
        memory('fact', { vector: near(ships, factIs), sources: ['told'], span: spanIn(0, 0, 20) }),
        memory('other fact', { vector: near(ships, factIs - 0.05), sources: ['told'], span: spanIn(0, 0, 20) }),
      ],
    });
    await store(world(0.9, 0.4));
    expect(ids(await find())).toEqual(['episode', 's0']);
    // A fact that answers about as well says it in fewer words.
    for (const [episodeIs, factIs] of [
      [0.9, 0.85],
      [0.5, 0.8],
    ] as const) {
      await emptyWorld(opened.database);
      await store(world(episodeIs, factIs));
      expect(ids(await find())).toEqual(['fact', 'other fact', 's0']);
    }
  });

  test('a chunk that answers much better than its memory is shown in its place', async () => {
    await store({
      documents: [
        {
          ...{ id: 'told', containerTag: 'team' },
          chunks: [chunk('t0', 'The schooner left at noon.', ships), chunk('s0', 'Soup.', cooking)],
        },
      ],
      memories: [
        memory('m', { text: 'Mira likes noon.', vector: near(ships, 0.2), sources: ['told'], span: spanIn(0) }),
      ],
    });
    expect(ids(await find())).toEqual(['t0', 's0']);
  });

  test('a turn is shown whole where passages are wanted too, and not what a memory took from it', async () => {
    const turn = (id: string, text: string) => ({ ...chunk(id, text, near(ships, 0.9)), type: 'turn' as const });
    await store({
      documents: [
        {
          ...{ id: 'told', containerTag: 'team' },
          chunks: [
            turn('t0', 'The schooner pays four hundred less, but every second Friday is off.'),
            turn('t1', 'My schooner is blue.'),
            turn('t2', 'My ship left.'),
          ],
        },
      ],
      memories: [
        memory('part', { text: 'Mira has every second Friday off.', sources: ['told'], span: spanIn(0) }),
        memory('all', { text: "Mira's schooner is blue.", sources: ['told'], span: spanIn(1) }),
        // In more words.
        memory('episode', {
          kind: 'episode',
          text: "On 3 May Mira said: Mira's ship left.",
          sources: ['told'],
          span: spanIn(2),
        }),
      ],
    });
    expect(ids(await find({ mode: 'hybrid' })).sort()).toEqual(['all', 't0', 't2']);
    expect(ids(await find({ mode: 'memories' })).sort()).toEqual(['all', 'episode', 'part']);
  });

  test('a passage that passes the threshold is not lost to a memory that does not', async () => {
    await store({
      documents: [
        { id: 'told', containerTag: 'team', chunks: [chunk('t0', 'Boats.', near(ships, 0.9))] },
        { id: 'more', containerTag: 'team', chunks: [chunk('s0', 'Soup.', cooking)] },
      ],
      memories: [memory('m', { text: 'Yachts.', vector: near(ships, 0.88), sources: ['told'] })],
    });
    const asked = { q: 'sailing', threshold: 0.93 };
    expect(ids(await find({ ...asked, mode: 'memories only' }))).toEqual([]);
    expect(ids(await find({ ...asked, mode: 'documents' }))).toEqual(['t0']);
    expect(ids(await find(asked))).toEqual(['m']);
    expect(ids(await find({ ...asked, threshold: 0.94 }))).toEqual([]);
  });
});
