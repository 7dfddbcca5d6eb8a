import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { call } from '../support/memory-of.ts';

interface Set {
  notes: string[];
  /** With the place of the note that answers, from 1. */
  questions: { question: string; note: number }[];
}

/** Notes in a store, and questions of which the note that answers may come later. */
const sizes = [
  [5, 0],
  [20, 3],
  [60, 4],
] as const;

let daemon: Daemon;
let set: Set;
const stored: string[] = [];

beforeAll(async () => {
  const file = new URL('../../fixtures/questions/small-stores.json', import.meta.url);
  set = JSON.parse(await readFile(file, 'utf8')) as Set;
  daemon = await startDaemon();
  for (const [size] of sizes) {
    const documents = set.notes.slice(0, size).map((content, index) => ({ content, customId: `note-${index + 1}` }));
    const batch = { containerTag: `store-${size}`, documents, dreaming: 'instant' };
    const { results } = await call(daemon, 'POST', '/v3/documents/batch', batch);
    stored.push(...results.map(({ id }: { id: string }) => id));
  }
}, 120_000);
afterAll(() => daemon.stop());

async function isRemembered(id: string): Promise<boolean> {
  const { status, dreamingStatus } = await call(daemon, 'GET', `/v3/documents/${id}`);
  return status === 'done' && dreamingStatus === 'done';
}

test.each(sizes)(
  'in a store of %i notes each question has an answer, mostly the right one first',
  async (size, most) => {
    // What was remembered of a note changes its rank.
    await expect.poll(async () => (await Promise.all(stored.map(isRemembered))).every(Boolean)).toBe(true);
    const asked = set.questions.filter(({ note }) => note <= size);
    const missed: string[] = [];
    for (const { question, note } of asked) {
      const body = { q: question, containerTag: `store-${size}`, include: { documents: true } };
      const { results } = await call(daemon, 'POST', '/v4/search', body);
      expect(results, question).not.toEqual([]);
      if (results[0].documents[0].customId !== `note-${note}`) missed.push(question);
    }
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(most);
  },
);
