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
});
