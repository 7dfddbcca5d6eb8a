import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SearchRequest } from '../../src/search/search.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { chunk, find as findIn, ids, near, ships } from '../support/search-finder.ts';
import {
  emptyWorld,
  storeWorld,
  worldTime,
  type WorldChunk,
  type WorldDocument,
  type WorldMemory,
} from '../support/search-world.ts';

const turn = (id: string, likeness: number, more: Partial<WorldChunk> = {}): WorldChunk => ({
  ...chunk(id, `Ann: Words of ${id.replaceAll('-', '')}.`, near(ships, likeness)),
  ...{ type: 'turn', ...more },
});

/** Documents of one turn each, added one after the other. */
function row(turns: readonly WorldChunk[], dates: readonly string[] = []): WorldDocument[] {
  return turns.map((one, index) => ({
    ...{ id: `d${index}`, containerTag: 'team', chunks: [one] },
    createdAt: new Date(worldTime.getTime() + index),
    ...(dates[index] && { documentDate: new Date(dates[index]) }),
  }));
}

describe.each(engines)('turns of a conversation on %s', (engine) => {
  let opened: TestDatabase;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
  });
  afterEach(() => emptyWorld(opened.database));
  afterAll(() => opened.close());

  async function found(documents: WorldDocument[], request: Partial<SearchRequest> = {}): Promise<string[]> {
    await storeWorld(opened.database, { documents });
    const wanted = { q: 'schooner', mode: 'documents' as const, threshold: 0, limit: 10, ...request };
    return ids(await findIn(opened.database, wanted, { vector: ships, exactLimit: 100 }));
  }

  test('count more beside turns that have what is asked, in one document', async () => {
    const near = turn('beside', 0.5);
    const chunks = [turn('best', 0.9), near, turn('filler1', 0), turn('filler2', 0.05), turn('far', 0.51)];
    expect((await found([{ id: 'talk', containerTag: 'team', chunks }])).slice(0, 3)).toEqual([
      'best',
      'beside',
      'far',
    ]);
  });

  test('likewise when each is a document of its own', async () => {
    const turns = [
      turn('best', 0.9),
      turn('beside', 0.5),
      turn('filler1', 0),
      turn('filler2', 0.05),
      turn('far', 0.51),
    ];
    expect((await found(row(turns))).slice(0, 3)).toEqual(['best', 'beside', 'far']);
  });

  test('of another day are no neighbours, and those of a day that has much of it count more', async () => {
    const turns = [turn('best', 0.9), turn('other-day', 0.6), turn('filler', 0), turn('same-day', 0.59)];
    const [first, second, third] = ['2026-01-03T10:00:00Z', '2026-01-09T10:00:00Z', '2026-01-12T10:00:00Z'];
    expect((await found(row(turns, [first, second, third, first]))).slice(0, 3)).toEqual([
      ...['best', 'same-day', 'other-day'],
    ]);
  });

  test('that each have a time of their own are neighbours unless hours lie between them', async () => {
    const turns = [turn('best', 0.9), turn('soon', 0.5), turn('filler', 0), turn('later', 0.51), turn('end', 0)];
    const at = (time: string) => `2026-01-03T${time}Z`;
    const minutesApart = ['10:00:00', '10:00:40', '10:03:00', '10:04:10', '10:09:00'].map(at);
    expect((await found(row(turns, minutesApart))).slice(0, 3)).toEqual(['best', 'soon', 'later']);
    await emptyWorld(opened.database);
    const hoursApart = ['10:00:00', '15:00:00', '15:00:30', '20:00:00', '20:01:00'].map(at);
    expect((await found(row(turns, hoursApart))).slice(0, 3)).toEqual(['best', 'later', 'soon']);
  });

  test('count less when they only ask, or a machine says them', async () => {
    const question = turn('question', 0.62, { type: 'question' });
    const reply = turn('reply', 0.61, { type: 'reply' });
    const alone = (id: string, one: WorldChunk) => ({
      id,
      containerTag: 'team',
      chunks: [one, turn(`${id}-end`, 0, { type: 'reply' })],
    });
    const documents = [alone('a', turn('told', 0.6)), alone('b', question), alone('c', reply)];
    expect((await found(documents)).slice(0, 3)).toEqual(['told', 'reply', 'question']);
  });

  test('that answer a question share more in its score, but those of a machine', async () => {
    const question = turn('question', 0.9, { type: 'question' });
    for (const type of ['turn', 'reply'] as const) {
      const turns = [turn('start', 0), question, turn('answer', 0.1, { type }), turn('end', 0), turn('other', 0.35)];
      for (const documents of [[{ id: 'talk', containerTag: 'team', chunks: turns }], row(turns)]) {
        const order = await found(documents, { q: 'words schooner' });
        expect(order.indexOf('answer') < order.indexOf('other'), `${type} of ${documents.length}`).toBe(
          type === 'turn',
        );
        await emptyWorld(opened.database);
      }
    }
  });

  test('count less the shorter they are, where each is a document of its own', async () => {
    const short = { ...chunk('short', 'Always.', near(ships, 0.68)), type: 'turn' as const };
    const long = {
      ...chunk('long', 'The winter was spent on the old ship in the harbour, painting.', near(ships, 0.6)),
      type: 'turn' as const,
    };
    const turns = [turn('start', 0), short, turn('filler', 0), turn('end', 0), long, turn('last', 0)];
    const spoken = (order: readonly string[]) => order.filter((id) => id === 'short' || id === 'long');
    expect(spoken(await found(row(turns)))).toEqual(['long', 'short']);
    await emptyWorld(opened.database);
    const talk = [{ id: 'talk', containerTag: 'team', chunks: turns }];
    expect(spoken(await found(talk))).toEqual(['short', 'long']);
  });

  test('are none among notes that each begin with a topic of their own', async () => {
    const topics = ['Rent', 'Car', 'Dentist', 'Garden', 'School'];
    const likenesses = [0.9, 0.5, 0, 0.05, 0.51];
    const notes = topics.map((topic, index) => ({
      ...turn(topic, likenesses[index]!),
      text: `${topic}: due on Friday.`,
    }));
    expect((await found(row(notes))).slice(0, 3)).toEqual(['Rent', 'School', 'Car']);
  });

  test('share in the score of the best memory that came from them', async () => {
    const turns = [turn('start', 0), turn('told', 0.4), turn('filler', 0), turn('end', 0), turn('other', 0.6)];
    const memory = {
      ...{ id: 'm', containerTag: 'team', text: 'Ann sails.', sources: ['d1'], span: { start: 0, end: 10 } },
      vector: near(ships, 0.9),
    };
    const wanted = { q: 'schooner', mode: 'hybrid' as const, threshold: 0, limit: 10 };
    const search = async (memories: WorldMemory[]) => {
      await storeWorld(opened.database, { documents: row(turns), memories });
      const results = await findIn(opened.database, wanted, { vector: ships, exactLimit: 100 });
      await emptyWorld(opened.database);
      return ids(results)[0];
    };
    expect(await search([])).toBe('other');
    expect(await search([memory])).toBe('told');
  });

  test('do not change how other texts are ranked', async () => {
    const texts = (['x', 'y', 'z'] as const).map((id, index) =>
      chunk(id, `Text ${id}.`, near(ships, 0.5 + index / 10)),
    );
    expect(await found([{ id: 'page', containerTag: 'team', chunks: texts }])).toEqual(['z', 'y', 'x']);
  });
});

describe.each(engines)('texts from a time that the query names, on %s', (engine) => {
  let opened: TestDatabase;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    const dated = (id: string, date: string, likeness: number) => ({
      ...{ id, containerTag: 'team', documentDate: new Date(date) },
      chunks: [chunk(`c-${id}`, 'Words.', near(ships, likeness))],
    });
    await storeWorld(opened.database, {
      documents: [
        dated('june', '2025-06-10T10:00:00Z', 0.5),
        dated('december', '2025-12-30T10:00:00Z', 0.51),
        dated('january', '2026-01-20T10:00:00Z', 0.52),
        dated('last-week', '2026-02-19T10:00:00Z', 0.53),
        dated('other', '2024-03-01T10:00:00Z', 0.54),
        { id: 'undated', containerTag: 'team', chunks: [chunk('c-undated', 'Words.', near(ships, 0.2))] },
      ],
    });
  });
  afterAll(() => opened.close());

  test.each([
    ['What was said in June?', ['c-june']],
    ['What was said in March 2024?', ['c-other']],
    ['What was said in winter?', ['c-last-week', 'c-january', 'c-december']],
    ['What was said in winter 2025?', ['c-last-week', 'c-january', 'c-december']],
    ['What was said last week?', ['c-last-week']],
    ['What was said on 20 January?', ['c-january']],
  ])('%s', async (q, expected) => {
    const request = { q, mode: 'documents' as const, threshold: 0, limit: 10 };
    const found = ids(await findIn(opened.database, request, { vector: ships, exactLimit: 100 }));
    expect(found.slice(0, expected.length)).toEqual(expected);
  });
});
