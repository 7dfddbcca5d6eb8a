import { readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, expect, it } from 'vitest';
import { stem } from '../../src/engine/languages.ts';
import { listFiles } from '../support/imports-of.ts';

const database = new PGlite();
afterAll(() => database.close());

/** Stems of their own; PostgreSQL gives these words those of application, import, account, depart, apart and the like. */
const toldApart = new Set('applicant important accountant department apartment informant occupant'.split(' '));

it('gives each word of this project the stem that PostgreSQL gives it, but for a few that mean something else', async () => {
  const files = listFiles('src/**/*.ts', 'test/**/*.ts', 'fixtures/documents/*.md', 'docs/**/*.md');
  const words = new Set(
    files.flatMap(
      (path) =>
        readFileSync(path, 'utf8')
          .toLowerCase()
          .match(/\b[a-z]{1,25}\b/g) ?? [],
    ),
  );
  expect(words.size).toBeGreaterThan(3000);
  const { rows } = await database.query<{ word: string; stem: string | null }>(
    "select word, (ts_lexize('english_stem', word))[1] as stem from unnest($1::text[]) as word",
    [[...words]],
  );
  const known = rows.filter((row) => row.stem !== null);
  expect(known.length).toBeGreaterThan(3000);
  const unlike = known.filter((row) => stem(row.word) !== row.stem);
  expect(unlike.filter((row) => !toldApart.has(stem(row.word)))).toEqual([]);
});
