import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import {
  chunk,
  cooking,
  animals,
  filler,
  find as findIn,
  ids,
  near,
  ships,
  type FindOptions,
} from '../support/search-finder.ts';
import { emptyWorld, storeWorld, worldTime, type WorldChunk, type WorldMemory } from '../support/search-world.ts';

describe.each(engines)('search on %s', (engine) => {
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
      expect(found.slice(0, 3)).toEqual(['both', 'words', 'meaning']);
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
    const [found] = await find({ q: 'schooner', includeSummaries: true });
    expect(found).toMatchObject({
      id: 'c',
      kind: 'chunk',
      version: null,
      rootMemoryId: null,
      filepath: '/log.md',
      containerTag: 'team',
      memoryKind: null,
      trust: 'told',
      metadata: { a: [1, 2] },
      createdAt: worldTime,
      updatedAt: worldTime,
    });
    expect(found!.documents).toEqual([
      {
        id: 'doc',
        customId: 'mine',
        title: 'Log',
        type: 'text',
        url: null,
        filepath: '/log.md',
        author: null,
        trust: 'told',
        documentDate: null,
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
});
