import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { call, storedFiles } from '../support/memory-of.ts';
import { makeQuestionFolder, readQuestions } from '../support/question-folder.ts';

let folder: string;
let daemon: Daemon;

beforeAll(async () => {
  folder = await makeQuestionFolder();
  daemon = await startDaemon({ args: [folder] });
}, 60_000);
afterAll(async () => {
  await daemon.stop();
  await rm(folder, { recursive: true });
});

async function results(question: string): Promise<{ filepath: string; saidAt: string }[]> {
  return (await call(daemon, 'POST', '/v4/search', { q: question })).results;
}

it(
  'puts the wanted file first for nine of ten questions, and a mail under its own date',
  { timeout: 120_000 },
  async () => {
    const questions = await readQuestions();
    const ready = async () => {
      const files = await storedFiles(daemon);
      return questions.every(({ path }) => files.get(path)?.status === 'done');
    };
    await expect.poll(ready, { timeout: 60_000 }).toBe(true);
    const missed: string[] = [];
    for (const { question, path } of questions) {
      const [first] = await results(question);
      if (first?.filepath !== path) missed.push(`${question} → ${first?.filepath ?? 'nothing'}`);
    }
    expect(questions).toHaveLength(54);
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(5);
    expect((await results('when is there no hot water'))[0]).toMatchObject({ saidAt: '2026-03-02T07:12:00.000Z' });
  },
);
