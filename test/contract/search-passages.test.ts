import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { chunk, find, ids, near, nothing, ships } from '../support/search-finder.ts';
import { emptyWorld, storeWorld, type WorldChunk } from '../support/search-world.ts';

describe.each(engines)('the order of passages on %s', (engine) => {
  let opened: TestDatabase;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
  });
  afterEach(() => emptyWorld(opened.database));
  afterAll(() => opened.close());

  async function store(documents: Record<string, WorldChunk[]>): Promise<void> {
    await storeWorld(opened.database, {
      documents: Object.entries(documents).map(([id, chunks]) => ({ id, containerTag: 'team', chunks })),
    });
  }

  test('a passage is raised by the beginning of its document', async () => {
    await store({
      harbour: [chunk('a1', 'Opening hours.', nothing), chunk('a2', 'The crew eats at noon.', near(ships, 0.7))],
      schooner: [
        chunk('b1', 'All about her.', near(ships, 0.6)),
        chunk('b2', 'The hull is of oak.', near(ships, 0.65)),
      ],
    });
    const found = await find(opened.database, { q: 'boats' }, { vector: ships });
    expect(ids(found).indexOf('b2')).toBeLessThan(ids(found).indexOf('a2'));
  });

  test('a text that holds all words of the query is before one that is nearer and holds most', async () => {
    await store({
      all: [chunk('all', 'The keel and the rudder were painted, and the anchor was sold.', near(ships, 0.3))],
      most: [chunk('most', 'The keel and the rudder.', near(ships, 0.7))],
      none: [chunk('none', 'Soup.', ships), chunk('far', 'Stew.', nothing)],
    });
    const [first] = await find(opened.database, { q: 'keel rudder anchor' }, { vector: ships });
    expect(first?.id).toBe('all');
  });

  test('where no text holds much of the query, its words count less', async () => {
    await store({
      word: [chunk('word', 'Anchor.', near(ships, 0.35))],
      meant: [chunk('meant', 'The boat lies in the bay.', near(ships, 0.7))],
      other: [chunk('other', 'Soup.', nothing)],
    });
    const q = 'where does the schooner with the broken mast anchor tonight';
    expect((await find(opened.database, { q }, { vector: ships }))[0]?.id).toBe('meant');
    const long = `${q} and who paid for new sails and paint and rope and tar last winter`;
    expect((await find(opened.database, { q: long }, { vector: ships }))[0]?.id).toBe('word');
  });

  test('what ranks before the first that reaches the threshold stays where none was asked for, if it is nearly as similar', async () => {
    await store({
      first: [chunk('first', 'A keel for the new boat.', near(ships, 0.38))],
      second: [chunk('second', 'Fishing in the bay.', near(ships, 0.41))],
      last: [chunk('last', 'Soup.', nothing)],
    });
    const asked = { q: 'who built the keel of our old boat in Bremen', threshold: 0.6 };
    expect(ids(await find(opened.database, asked, { vector: ships }))).toEqual(['second']);
    const found = await find(opened.database, { ...asked, weak: 0.3 }, { vector: ships });
    expect(ids(found)).toEqual(['first', 'second']);
    expect(found.map(({ isWeak }) => isWeak)).toEqual([false, false]);
    expect(ids(await find(opened.database, { ...asked, weak: 0.3, limit: 1 }, { vector: ships }))).toEqual(['first']);
  });
});
