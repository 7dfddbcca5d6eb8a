import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { chunk, find } from '../support/search-finder.ts';
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

interface Expected {
  /** Answers that come first. */
  first: number;
  /** Questions that share no word with their answer in any form that a stemmer joins (`Fahrerin`, `Fahrer`). */
  apart: readonly string[];
}

const languages: readonly (readonly [language: string, expected: Expected])[] = [
  ['german', { first: 38, apart: ['de-q03', 'de-q15', 'de-q37'] }],
  ['french', { first: 40, apart: [] }],
  ['japanese', { first: 44, apart: [] }],
  ['chinese', { first: 44, apart: [] }],
];

describe.each(languages)('by words alone, in %s', (language, expected) => {
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

  test('the answer is among the first ten for each question that shares a word with it', async () => {
    const answers = answersOf(language);
    const missed: string[] = [];
    let first = 0;
    for (const { _id, text } of linesOf(language, 'queries.jsonl')) {
      const found = await find(opened.database, { q: text });
      const place = found.findIndex(({ id }) => id === answers.get(_id));
      if (place === 0) first += 1;
      if (place === -1) missed.push(_id);
    }
    expect(missed).toEqual(expected.apart);
    expect(first).toBeGreaterThanOrEqual(expected.first);
  });
});
