import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { chunk, cooking, find as findIn, ids, ships, type FindOptions } from '../support/search-finder.ts';
import { emptyWorld, storeWorld, worldTime, type WorldChunk, type WorldMemory } from '../support/search-world.ts';

describe.each(engines)('search in memories on %s', (engine) => {
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
      const asked = { q: 'schooner', mode: 'memories only' as const };
      for (const exactLimit of [100, 0]) {
        expect(ids(await find(asked, { vector: ships, exactLimit })).sort()).toEqual(['current', 'later']);
        const all = await find({ ...asked, includeForgotten: true }, { vector: ships, exactLimit });
        expect(ids(all).sort()).toEqual(['current', 'expired', 'forgotten', 'later']);
        const both = await find({ ...asked, mode: 'hybrid' }, { vector: ships, exactLimit });
        const shown = both.map(({ id, kind }) => `${kind} ${id}`).sort();
        expect(shown).toEqual(['chunk c', 'memory current', 'memory later']);
      }
    });

    test('asked about a time, those are found that held then', async () => {
      const [before, then, after] = ['2026-01-01', '2026-02-01', '2026-02-20'].map((day) => new Date(day));
      await storeWorld(database, {
        documents: [
          { id: 'old', containerTag: 'team', createdAt: before!, chunks: [chunk('old', 'A schooner.', ships)] },
          { id: 'new', containerTag: 'team', createdAt: after!, chunks: [chunk('new', 'A schooner again.', ships)] },
        ],
        memories: [
          memory('held', { createdAt: before, sources: ['new'] }),
          memory('learned later', { createdAt: after }),
          memory('replaced later', { createdAt: before, latest: false, supersededAt: after }),
          memory('replaced before', { createdAt: before, latest: false, supersededAt: then }),
          memory('forgotten later', { createdAt: before, forgotten: true, forgottenAt: after }),
          memory('forgotten before', { createdAt: before, forgotten: true, forgottenAt: then }),
          memory('expired later', { createdAt: before, forgetAfter: after }),
          memory('expired before', { createdAt: before, forgetAfter: then }),
        ],
      });
      const asked = { q: 'schooner', mode: 'hybrid' as const, limit: 20, asOf: then! };
      const held = ['expired later', 'forgotten later', 'held', 'old', 'replaced later'];
      for (const exactLimit of [100, 0]) {
        expect(ids(await find(asked, { vector: ships, exactLimit })).sort()).toEqual(held);
      }
      const all = await find({ ...asked, includeForgotten: true }, { vector: ships });
      expect(ids(all).sort()).toEqual([...held, 'expired before', 'forgotten before'].sort());
    });

    test('of a range of days, documents of these days are found, what came from them, and what was said in them', async () => {
      const [before, first, last, after] = ['2026-01-01', '2026-02-01', '2026-02-20', '2026-03-05'].map(
        (day) => new Date(day),
      );
      const dated = (id: string, dates: { documentDate?: Date; createdAt?: Date }) => ({
        ...{ id, containerTag: 'team', chunks: [chunk(id, `A schooner ${id}.`, ships)] },
        ...dates,
      });
      await storeWorld(database, {
        documents: [
          dated('before', { documentDate: before! }),
          dated('first', { documentDate: first! }),
          dated('last', { createdAt: last! }),
          dated('after', { documentDate: after!, createdAt: first! }),
        ],
        memories: [
          memory('of the first', { sources: ['before', 'first'], createdAt: after }),
          memory('of the one before', { sources: ['before'], createdAt: first }),
          memory('told then', { createdAt: last }),
          memory('told later', { createdAt: after }),
        ],
      });
      const asked = { q: 'schooner', mode: 'memories only' as const, limit: 20 };
      for (const exactLimit of [100, 0]) {
        const of = async (request: object) =>
          ids(await find({ ...asked, ...request }, { vector: ships, exactLimit })).sort();
        const dates = { from: first, to: last };
        expect(await of({ dates })).toEqual(['of the first', 'told then']);
        expect(await of({ dates, mode: 'documents' })).toEqual(['first', 'last']);
        expect(await of({ dates: { from: last }, mode: 'documents' })).toEqual(['after', 'last']);
        expect(await of({ dates: { to: before } })).toEqual(['of the first', 'of the one before']);
        expect(await of({ dates: {}, mode: 'documents' })).toEqual(['after', 'before', 'first', 'last']);
      }
    });

    test('each tells its kind, who said it and when, and whether it still counts', async () => {
      const said = { kind: 'episode', author: 'Mira', trust: 'own', createdAt: worldTime } as const;
      await storeWorld(database, {
        documents: [{ id: 'doc', containerTag: 'team', author: 'Lena', chunks: [chunk('c', 'The schooner.', ships)] }],
        memories: [memory('m', said)],
      });
      const found = await find({ q: 'schooner', mode: 'hybrid' }, { vector: ships });
      const byId = new Map(found.map((one) => [one.id, one]));
      expect(byId.get('m')).toMatchObject({ memoryKind: 'episode', author: 'Mira', trust: 'own', isLatest: true });
      expect(byId.get('m')).toMatchObject({ containerTag: 'team', createdAt: worldTime, isWeak: false });
      const document = { id: 'doc', author: 'Lena', trust: 'told', documentDate: null };
      expect(byId.get('c')).toMatchObject({ memoryKind: null, author: 'Lena', documents: [document] });
    });

    test('the nearest are answered as weak when nothing passes the threshold, if that is asked for', async () => {
      await store([chunk('c', 'Soup.', cooking)], [memory('m', { vector: cooking, text: 'Stew.' })]);
      const asked = { q: 'schooner', mode: 'hybrid' as const, threshold: 0.6 };
      expect(await find(asked, { vector: ships })).toEqual([]);
      const weak = await find({ ...asked, weak: 0 }, { vector: ships });
      expect(Object.fromEntries(weak.map(({ id, isWeak }) => [id, isWeak]))).toEqual({ c: true, m: true });
      const strong = await find({ ...asked, weak: 0, q: 'soup' }, { vector: cooking });
      expect(strong.map(({ isWeak }) => isWeak)).toEqual([false, false]);
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
        containerTag: 'team',
        memoryKind: 'fact',
        trust: 'told',
      });
      expect(plain!.documents).toEqual([
        {
          id: 'one',
          customId: null,
          title: 'ONE',
          type: 'text',
          url: null,
          filepath: '/one.md',
          author: null,
          trust: 'told',
          documentDate: null,
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
});
