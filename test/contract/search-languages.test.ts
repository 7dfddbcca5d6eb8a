import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queryWords, terms } from '../../src/engine/terms.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { chunk, find, ids } from '../support/search-finder.ts';
import { emptyWorld, storeWorld } from '../support/search-world.ts';

const sets = join(import.meta.dirname, '../../fixtures/languages');

function linesOf(language: string, file: string): { _id: string; text: string }[] {
  const lines = readFileSync(join(sets, language, file), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as { _id: string; text: string });
}

function answersOf(language: string): Map<string, string> {
  const [, ...rows] = readFileSync(join(sets, language, 'qrels.tsv'), 'utf8')
    .trim()
    .split('\n');
  return new Map(rows.map((row) => row.split('\t').slice(0, 2) as [string, string]));
}

/** A word, perhaps in another form than it has in the text, and the text that it stands in. */
function wordsOf(language: string): [string, string][] {
  const [, ...rows] = readFileSync(join(sets, language, 'words.tsv'), 'utf8')
    .trim()
    .split('\n');
  return rows.map((row) => row.split('\t') as [string, string]);
}

/** With the number of answers that come first. */
const languages: readonly (readonly [language: string, first: number])[] = [
  ['german', 40],
  ['french', 40],
  ['japanese', 44],
  ['chinese', 44],
];

describe.each(languages)('by words alone, in %s', (language, leastFirst) => {
  let opened: TestDatabase;

  beforeAll(async () => {
    opened = await openTestDatabase('pglite');
    const documents = linesOf(language, 'corpus.jsonl').map(({ _id, text }) => ({
      ...{ id: _id, containerTag: 'team', chunks: [chunk(_id, text, null)] },
    }));
    await storeWorld(opened.database, { documents });
  });
  afterAll(async () => {
    await emptyWorld(opened.database);
    await opened.close();
  });

  test('the answer to each question is among the first ten', async () => {
    const answers = answersOf(language);
    const missed: string[] = [];
    let first = 0;
    for (const { _id, text } of linesOf(language, 'queries.jsonl')) {
      const found = await find(opened.database, { q: text });
      const place = found.findIndex(({ id }) => id === answers.get(_id));
      if (place === 0) first += 1;
      if (place === -1) missed.push(_id);
    }
    expect(missed).toEqual([]);
    expect(first).toBeGreaterThanOrEqual(leastFirst);
  });
});

const everyLanguage = readdirSync(sets);

describe.each(engines)('each word of each language in one store, on %s', (engine) => {
  let opened: TestDatabase;

  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    const documents = everyLanguage.flatMap((language) =>
      linesOf(language, 'corpus.jsonl').map(({ _id, text }) => ({
        ...{ id: _id, containerTag: 'team', chunks: [chunk(_id, text, null)] },
      })),
    );
    await storeWorld(opened.database, { documents });
  });
  afterAll(async () => {
    await emptyWorld(opened.database);
    await opened.close();
  });

  test.each(everyLanguage)('is found alone and in another form, in %s', async (language) => {
    const asked = wordsOf(language);
    expect(asked.length).toBeGreaterThanOrEqual(40);
    const missed: string[] = [];
    for (const [index, [q, id]] of asked.entries()) {
      const exactLimit = index % 2 === 0 ? 5_000 : 0;
      const found = await find(opened.database, { q, limit: 100, threshold: 0.6 }, { exactLimit });
      if (!ids(found).includes(id)) missed.push(`${q} ${id}`);
    }
    expect(missed).toEqual([]);
  });

  test('is not looked for in languages that the searched containers do not have', async () => {
    const text = 'The moth sat on the lamp, and the wand lay beside it.';
    const chunks = [chunk('moth', text, null)];
    await storeWorld(opened.database, { documents: [{ id: 'moth', containerTag: 'english', chunks }] });
    const scope = { containerTags: ['english'] };
    expect(ids(await find(opened.database, { q: 'mother wander', scope }))).toEqual([]);
  });
});

test.each(everyLanguage)('all words of a text in %s are found by themselves', (language) => {
  const texts = linesOf(language, 'corpus.jsonl').map(({ text }) => ({ text, indexed: terms(text) }));
  const inStore = texts.flatMap(({ indexed }) => indexed.languages);
  const missed: string[] = [];
  for (const { text, indexed } of texts) {
    const held = new Set(indexed.terms);
    for (const word of text.match(/(?<![\p{N}\p{L}])\p{L}{2,}(?![\p{L}\p{N}’'])/gu) ?? []) {
      const asked = queryWords(word, inStore);
      if (!asked.every(({ forms }) => forms.some((form) => held.has(form)))) missed.push(`${word} in ${text}`);
    }
  }
  expect(missed).toEqual([]);
});

describe('by words alone', () => {
  let opened: TestDatabase;
  const texts = [
    ['de', 'Die Nebenkostenabrechnung ist da, und die Nachzahlung ist höher als wir dachten.'],
    ['de', 'Für den Geburtstagskuchen brauchen wir noch Mandeln und eine Springform.'],
    ['de', 'Die Haftpflichtversicherung zahlt nicht, wenn das Fahrrad im Hof gestanden hat.'],
    ['nl', 'De ziektekostenverzekering wordt op de eerste van de maand van het rekeningnummer afgeschreven.'],
    ['sv', 'Den nya hyresgästföreningen är på väg att skicka ett brev till oss om lägenheten.'],
    ['da', 'Vi skal huske at betale for den nye ejendomsmægler, som har været her i går.'],
    ['no', 'Vi må huske å betale for barnehageplassen, som har blitt dyrere i år enn den var.'],
  ] as const;

  beforeAll(async () => {
    opened = await openTestDatabase('pglite');
    const documents = texts.map(([, text], place) => ({
      ...{ id: `text-${place}`, containerTag: 'team', chunks: [chunk(`text-${place}`, text, null)] },
    }));
    await storeWorld(opened.database, { documents });
  });
  afterAll(async () => {
    await emptyWorld(opened.database);
    await opened.close();
  });

  test.each([
    ['Abrechnung', 0],
    ['Rechnung', 0],
    ['Kosten', 0],
    ['Wann ist der Geburtstag?', 1],
    ['Welche Kuchen sind das?', 1],
    ['Was zahlt die Versicherung?', 2],
    ['Rad', 2],
    ['verzekering', 3],
    ['kosten', 3],
    ['nummer', 3],
    ['förening', 4],
    ['ejendom', 5],
    ['barnehage', 6],
    ['plassen', 6],
  ])('%s is found inside of a longer word', async (q, place) => {
    const found = await find(opened.database, { q });
    expect(found.map(({ id }) => id)).toContain(`text-${place}`);
  });
});
