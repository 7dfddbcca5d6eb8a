import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadSets } from '../../scripts/eval/sets.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder, 'corpus.jsonl'), '{"_id": "d1", "title": "", "text": "A boat."}\n');
  await writeFile(join(folder, 'queries.jsonl'), '{"_id": "q1", "text": "boat", "category": "sea"}\n');
  await mkdir(join(folder, 'qrels'));
});
afterEach(() => rm(folder, { recursive: true }));

async function relevant() {
  const [set] = await loadSets(folder);
  if (set?.layout !== 'beir') throw new Error(`it is ${set?.layout}`);
  return Object.fromEntries([...set.relevant].map(([query, grades]) => [query, Object.fromEntries(grades)]));
}

it('judgments are those of the test part, whatever the ends of lines', async () => {
  await writeFile(join(folder, 'qrels/train.tsv'), 'query-id\tcorpus-id\tscore\nq1\td9\t1\n');
  await writeFile(join(folder, 'qrels/test.tsv'), 'query-id\tcorpus-id\tscore\r\nq1\td1\t2\r\nq1\td2\t0\r\n');
  expect(await relevant()).toEqual({ q1: { d1: 2 } });
});

it('judgments are all that there are when no part is for tests, or lie in one file', async () => {
  await writeFile(join(folder, 'qrels/part.tsv'), 'q1\td1\t1');
  await writeFile(join(folder, 'qrels/rest.tsv'), 'q2\td1\t1\n');
  expect(await relevant()).toEqual({ q1: { d1: 1 }, q2: { d1: 1 } });
  await rm(join(folder, 'qrels'), { recursive: true });
  await writeFile(join(folder, 'qrels.tsv'), 'q3\td1\t1\n');
  expect(await relevant()).toEqual({ q3: { d1: 1 } });
});
