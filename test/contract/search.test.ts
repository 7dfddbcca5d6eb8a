import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createLogger, silentLogger } from '../../src/base/log.ts';
import { MemorydError } from '../../src/base/errors.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { createSearch } from '../../src/search/create-search.ts';
import type { SearchRequest } from '../../src/search/search.ts';
import type { Database } from '../../src/store/database.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createTableEmbedder, emptyWorld, storeWorld, worldTime, type WorldChunk } from '../support/search-world.ts';

// Axes of meaning: 0 nothing, 1 animals, 2 ships, 3 cooking
const nothing = [1, 0, 0, 0];
const animals = [0, 1, 0, 0];
const ships = [0, 0, 1, 0];
const cooking = [0, 0, 0, 1];
const relatedAt = 0.4;

function chunk(
  id: string,
  text: string,
  vector: readonly number[] | null = nothing,
  more: Partial<WorldChunk> = {},
): WorldChunk {
  return { id, text, vector, ...more };
}

function near(axis: readonly number[], share: number): number[] {
  const rest = Math.sqrt(1 - share * share);
  return axis.map((value, index) => value * share + (index === 0 ? rest : 0));
}

const filler = Array.from({ length: 12 }, (_, index) =>
  chunk(`filler${index}`, `Minutes of the weekly meeting number ${index}, nothing decided.`),
);

describe.each(engines)('search on %s', (engine) => {
  let opened: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    database = opened.database;
  });
  afterEach(() => emptyWorld(database));
  afterAll(() => opened.close());

  function find(
    request: Partial<SearchRequest> & { q: string },
    options: {
      vector?: readonly number[];
      embedder?: Embedder;
      log?: Parameters<typeof createSearch>[0]['log'];
      exactLimit?: number;
    } = {},
  ) {
    const embedder =
      options.embedder ?? createTableEmbedder({ [request.q]: options.vector ?? nothing }, { dimensions: 4, relatedAt });
    const search = createSearch({
      database,
      embedder,
      clock: createTestClock(worldTime.toISOString()),
      log: options.log ?? silentLogger,
      ...(options.exactLimit !== undefined && { exactLimit: options.exactLimit }),
    });
    return search.search({
      scope: { containerTags: ['team'] },
      mode: 'documents',
      threshold: 0,
      limit: 10,
      ...request,
    });
  }

  function ids(results: readonly { id: string }[]): string[] {
    return results.map(({ id }) => id);
  }

  async function store(chunks: WorldChunk[], more: Parameters<typeof storeWorld>[1]['memories'] = []): Promise<void> {
    await storeWorld(database, { documents: [{ id: 'doc', containerTag: 'team', chunks }], memories: more });
  }

  // Both ways to reach chunks must answer alike.
  describe.each([
    ['reading every chunk', undefined],
    ['by indexes', 0],
  ] as const)('%s', (_, exactLimit) => {
    const options = exactLimit === undefined ? {} : { exactLimit };

    test('finds by a word that the vector knows nothing of', async () => {
      await store([...filler, chunk('wanted', 'The password of the printer is Quetzalcoatl.')]);
      expect(ids(await find({ q: 'quetzalcoatl' }, options))[0]).toBe('wanted');
    });

    test('finds by meaning without a common word', async () => {
      await store([...filler, chunk('wanted', 'A kitten slept on the sofa.', near(animals, 0.9))]);
      const [first] = await find({ q: 'feline pet' }, { ...options, vector: animals });
      expect(first).toMatchObject({ id: 'wanted', kind: 'chunk', text: 'A kitten slept on the sofa.' });
      expect(first!.similarity).toBeGreaterThan(0.9);
    });

    test('ranks what both arms like above what one likes', async () => {
      await store([
        ...filler,
        chunk('words', 'A schooner of sherry was served.', near(cooking, 0.9)),
        chunk('meaning', 'The yacht left the port.', near(ships, 0.8)),
        chunk('both', 'The schooner left the port.', near(ships, 0.8)),
      ]);
      const found = ids(await find({ q: 'schooner' }, { ...options, vector: ships }));
      expect(found.slice(0, 3)).toEqual(['both', 'meaning', 'words']);
    });

    test('another container, a deleted document and a filtered one stay invisible', async () => {
      const same = (id: string) => [chunk(id, 'The schooner left the port.', ships)];
      await storeWorld(database, {
        documents: [
          { id: 'own', containerTag: 'team', metadata: { state: 'final' }, chunks: same('own') },
          { id: 'draft', containerTag: 'team', metadata: { state: 'draft' }, chunks: same('draft') },
          { id: 'gone', containerTag: 'team', deleted: true, metadata: { state: 'final' }, chunks: same('gone') },
          { id: 'foreign', containerTag: 'Team', metadata: { state: 'final' }, chunks: same('foreign') },
        ],
      });
      const filters = {
        and: [
          {
            key: 'state',
            value: 'final',
            filterType: 'metadata' as const,
            numericOperator: '=' as const,
            negate: false,
            ignoreCase: false,
          },
        ],
      };
      const asked = { q: 'schooner' };
      expect(ids(await find(asked, { ...options, vector: ships })).sort()).toEqual(['draft', 'own']);
      expect(ids(await find({ ...asked, filters }, { ...options, vector: ships }))).toEqual(['own']);
      const everywhere = await find({ ...asked, scope: { containerTags: null } }, { ...options, vector: ships });
      expect(ids(everywhere).sort()).toEqual(['draft', 'foreign', 'own']);
      expect(await find({ ...asked, scope: { containerTags: [] } }, { ...options, vector: ships })).toEqual([]);
      expect(await find({ ...asked, scope: { containerTags: ['unknown'] } }, { ...options, vector: ships })).toEqual(
        [],
      );
    });

    test('filepath is exact, or a prefix when it ends with a slash', async () => {
      const paths = {
        exact: '/notes/a.md',
        deeper: '/notes/a/b.md',
        longer: '/notes/a.md.bak',
        wild: '/notesXa.md',
        none: undefined,
      };
      await storeWorld(database, {
        documents: Object.entries(paths).map(([id, filepath]) => ({
          id,
          containerTag: 'team',
          ...(filepath !== undefined && { filepath }),
          chunks: [chunk(`${id}-chunk`, 'The schooner left.')],
        })),
      });
      const at = async (filepath: string) => ids(await find({ q: 'schooner', filepath }, options)).sort();
      expect(await at('/notes/a.md')).toEqual(['exact-chunk']);
      expect(await at('/notes/')).toEqual(['deeper-chunk', 'exact-chunk', 'longer-chunk']);
      expect(await at('/notes')).toEqual([]);
      expect(await at('/%/')).toEqual([]);
      const [found] = await find({ q: 'schooner', filepath: '/notes/a.md' }, options);
      expect(found!.filepath).toBe('/notes/a.md');
    });

    test('docId is an id, or else a customId of the scope', async () => {
      const document = (id: string, customId: string, containerTag = 'team') => ({
        id,
        customId,
        containerTag,
        chunks: [chunk(`${id}-chunk`, 'The schooner left.')],
      });
      await storeWorld(database, {
        documents: [document('one', 'report'), document('two', 'one'), document('three', 'report', 'others')],
      });
      const by = async (docId: string, containerTags: string[] | null = ['team']) =>
        ids(await find({ q: 'schooner', docId, scope: { containerTags } }, options)).sort();
      expect(await by('one')).toEqual(['one-chunk']);
      expect(await by('report')).toEqual(['one-chunk']);
      expect(await by('report', null)).toEqual(['one-chunk', 'three-chunk']);
      expect(await by('three')).toEqual([]);
      expect(await by('absent')).toEqual([]);
    });

    test('vectors of another model are not compared, whatever their dimensions', async () => {
      await store([
        chunk('other', 'Ropes and sails.', [0, 0, 1, 0], { model: 'old' }),
        chunk('wider', 'Anchors and chains.', [0, 0, 1, 0, 5, 5], { model: 'older' }),
        chunk('bare', 'Masts and flags.', null),
        chunk('own', 'Compass and chart.', near(ships, 0.5)),
      ]);
      expect(ids(await find({ q: 'boats' }, { ...options, vector: ships }))).toEqual(['own']);
      // By their words they are found, and reported by how much of the query they hold.
      const [first] = await find({ q: 'anchors' }, { ...options, vector: cooking });
      expect(first).toMatchObject({ id: 'wider', similarity: 1 });
    });

    test('an empty store finds nothing', async () => {
      expect(await find({ q: 'anything' }, options)).toEqual([]);
      expect(await find({ q: 'anything', mode: 'hybrid' }, options)).toEqual([]);
    });

    test('odd queries are searched, not refused', async () => {
      await store([...filler, chunk('wanted', `She said: "it's 100% Ångström_β, 漢字 😀 \\ done"`)]);
      const odd = [
        'the of and to', // stop words only
        'Ångström_β',
        `it's "100%`,
        '漢字',
        '😀',
        '\\',
        '???',
        `'; drop table chunks; --`,
        'nul \u0000 inside \u0000',
        'half \ud83d emoji',
        '"unclosed (paren [bracket {brace *star +plus $1 \\d',
        'ångström '.repeat(900).slice(0, 8_192),
        Array.from({ length: 1_200 }, (_, index) => `w${index.toString(36)}x`)
          .join(' ')
          .slice(0, 8_192),
      ];
      for (const q of odd) expect((await find({ q }, options)).length, q.slice(0, 40)).toBeGreaterThan(0);
      expect(ids(await find({ q: 'Ångström_β' }, options))[0]).toBe('wanted');
      expect(ids(await find({ q: '漢字' }, options))[0]).toBe('wanted');
    });

    test('the limit cuts after the order', async () => {
      await store([
        ...filler,
        chunk('first', 'The schooner left.', ships),
        chunk('second', 'The yacht left.', near(ships, 0.9)),
      ]);
      const found = await find({ q: 'schooner', limit: 2 }, { ...options, vector: ships });
      expect(ids(found)).toEqual(['first', 'second']);
    });

    test('equal results come in the order of their ids', async () => {
      await store(['b', 'a', 'c'].map((id) => chunk(id, 'The schooner left.', ships)));
      expect(ids(await find({ q: 'schooner' }, { ...options, vector: ships }))).toEqual(['a', 'b', 'c']);
    });
  });

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

    test('but not a word that is no rarity, nor one of a small store', async () => {
      const some = Array.from({ length: 30 }, (_, index) => chunk(`some${index}`, 'Pancake recipe.'));
      expect(await related('pancake', some)).toEqual([]);
    });

    test('in memories as in chunks', async () => {
      await store(filler, [{ id: 'm', containerTag: 'team', text: 'Mira owns ticket ABC-123.', vector: nothing }]);
      expect(ids(await find({ q: 'abc-123', threshold: 0.6, mode: 'hybrid' }, { vector: ships }))).toEqual(['m']);
    });
  });

  describe('memories', () => {
    const memory = (id: string, more = {}) => ({
      id,
      containerTag: 'team',
      text: 'Mira sails a schooner.',
      vector: ships,
      ...more,
    });

    test('only those that hold now are found, all when asked for', async () => {
      await store(
        [chunk('c', 'The schooner left.', ships)],
        [
          memory('current'),
          memory('later', { forgetAfter: new Date(worldTime.getTime() + 1) }),
          memory('expired', { forgetAfter: worldTime }),
          memory('forgotten', { forgotten: true }),
          memory('superseded', { latest: false }),
          memory('foreign', { containerTag: 'others' }),
        ],
      );
      const asked = { q: 'schooner', mode: 'memories' as const };
      expect(ids(await find(asked, { vector: ships })).sort()).toEqual(['current', 'later']);
      const all = await find({ ...asked, includeForgotten: true }, { vector: ships });
      expect(ids(all).sort()).toEqual(['current', 'expired', 'forgotten', 'later']);
      const both = await find({ ...asked, mode: 'hybrid' }, { vector: ships });
      expect(both.map(({ id, kind }) => `${kind} ${id}`).sort()).toEqual(['chunk c', 'memory current', 'memory later']);
    });

    test('an inferred one ranks below a stated one of the same similarity', async () => {
      await store(
        [],
        [memory('a', { inference: true }), memory('b'), memory('c', { text: 'Nothing.', vector: cooking })],
      );
      const found = await find({ q: 'schooner', mode: 'memories' }, { vector: ships });
      expect(ids(found)).toEqual(['b', 'a', 'c']);
      expect(found[0]!.similarity).toBe(found[1]!.similarity);
    });

    test('are filtered by their source’s metadata overlaid with their own; one source suffices', async () => {
      const document = (id: string, metadata: Record<string, unknown>, deleted = false) => ({
        id,
        containerTag: 'team',
        metadata,
        deleted,
        chunks: [],
      });
      await storeWorld(database, {
        documents: [
          document('red', { color: 'red' }),
          document('blue', { color: 'blue' }),
          document('dead', { color: 'red' }, true),
        ],
        memories: [
          memory('from-red', { sources: ['red'] }),
          memory('from-blue', { sources: ['blue'] }),
          memory('from-both', { sources: ['blue', 'red'] }),
          memory('overlaid', { sources: ['red'], metadata: { color: 'green' } }),
          memory('own', { metadata: { color: 'red' } }),
          memory('from-dead', { sources: ['dead'] }),
        ],
      });
      const filters = {
        and: [
          {
            key: 'color',
            value: 'red',
            filterType: 'metadata' as const,
            numericOperator: '=' as const,
            negate: false,
            ignoreCase: false,
          },
        ],
      };
      const found = await find({ q: 'schooner', mode: 'memories', filters }, { vector: ships });
      expect(ids(found).sort()).toEqual(['from-both', 'from-red', 'own']);
      const byDocument = await find({ q: 'schooner', mode: 'memories', docId: 'blue' }, { vector: ships });
      expect(ids(byDocument).sort()).toEqual(['from-blue', 'from-both']);
    });

    test('show version, root, own metadata and all their sources', async () => {
      const document = (id: string, more = {}) => ({
        id,
        containerTag: 'team',
        title: id.toUpperCase(),
        summary: `about ${id}`,
        chunks: [],
        ...more,
      });
      await storeWorld(database, {
        documents: [
          document('one', { filepath: '/one.md', metadata: { a: 1 } }),
          document('two'),
          document('dead', { deleted: true }),
        ],
        memories: [
          memory('m', { version: 3, rootMemoryId: 'r', metadata: { x: [1] }, sources: ['one', 'two', 'dead'] }),
        ],
      });
      const asked = { q: 'schooner', mode: 'memories' as const };
      const [plain] = await find(asked, { vector: ships });
      expect(plain).toMatchObject({
        kind: 'memory',
        text: 'Mira sails a schooner.',
        version: 3,
        rootMemoryId: 'r',
        metadata: { x: [1] },
        filepath: '/one.md',
        updatedAt: worldTime,
        documents: [],
      });
      const [shown] = await find({ ...asked, includeDocuments: true }, { vector: ships });
      expect(shown!.documents).toEqual([
        {
          id: 'one',
          customId: null,
          title: 'ONE',
          type: 'text',
          url: null,
          metadata: { a: 1 },
          summary: null,
          createdAt: worldTime,
          updatedAt: worldTime,
        },
        expect.objectContaining({ id: 'two', metadata: {} }),
      ]);
      const [summed] = await find({ ...asked, includeSummaries: true }, { vector: ships });
      expect(summed!.documents.map(({ summary }) => summary)).toEqual(['about one', 'about two']);
    });
  });

  test('a chunk shows its document', async () => {
    await storeWorld(database, {
      documents: [
        {
          id: 'doc',
          customId: 'mine',
          containerTag: 'team',
          title: 'Log',
          summary: 'A log.',
          filepath: '/log.md',
          metadata: { a: [1, 2] },
          chunks: [chunk('c', 'The schooner left.')],
        },
      ],
    });
    const [found] = await find({ q: 'schooner', includeDocuments: true, includeSummaries: true });
    expect(found).toMatchObject({
      id: 'c',
      kind: 'chunk',
      version: null,
      rootMemoryId: null,
      filepath: '/log.md',
      metadata: { a: [1, 2] },
      updatedAt: worldTime,
    });
    expect(found!.documents).toEqual([
      {
        id: 'doc',
        customId: 'mine',
        title: 'Log',
        type: 'text',
        url: null,
        metadata: { a: [1, 2] },
        summary: 'A log.',
        createdAt: worldTime,
        updatedAt: worldTime,
      },
    ]);
  });

  test('a document that is processed again keeps its chunks searchable', async () => {
    await storeWorld(database, {
      documents: [{ id: 'doc', containerTag: 'team', status: 'embedding', chunks: [chunk('c', 'The schooner left.')] }],
    });
    expect(ids(await find({ q: 'schooner' }))).toEqual(['c']);
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
      expect(JSON.parse(lines[0]!)).toMatchObject({ level: 40, err: 'embed_failed' });
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
