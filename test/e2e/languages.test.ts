import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { call } from '../support/memory-of.ts';

const sets = join(import.meta.dirname, '../../fixtures/languages');
const languages = ['german', 'french', 'japanese', 'chinese'] as const;

const read = async (language: string, file: string) =>
  (await readFile(join(sets, language, file), 'utf8')).trim().split('\n');
const textsOf = async (language: string, file: string) =>
  (await read(language, file)).map((line) => JSON.parse(line) as { _id: string; text: string });
const pairsOf = async (language: string, file: string) =>
  (await read(language, file)).slice(1).map((row) => row.split('\t').slice(0, 2) as [string, string]);

/** A model that tells nothing apart: what is found is found by its words. */
const model = createServer((request, response) => void embed(request, response));

async function embed(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { input } = (await json(request)) as { input: string[] };
  const data = input.map((_, index) => ({ object: 'embedding', index, embedding: [1, 0] }));
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data }));
}

let daemon: Daemon;
/** What is in a container, as a client sees it. */
const stored = new Map<string, string>();

beforeAll(async () => {
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve));
  daemon = await startDaemon({
    env: {
      MEMORYD_EMBEDDER_KIND: 'http',
      MEMORYD_EMBEDDER_BASE_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`,
      MEMORYD_EMBEDDER_MODEL: 'one',
    },
  });
  for (const language of languages) {
    const corpus = await textsOf(language, 'corpus.jsonl');
    const documents = corpus.map(({ _id, text }) => ({ customId: _id, content: text }));
    const { results } = await call(daemon, 'POST', '/v3/documents/batch', { containerTag: language, documents });
    for (const [place, { id }] of results.entries()) stored.set(id, corpus[place]!._id);
  }
});
afterAll(async () => {
  await daemon.stop();
  model.closeAllConnections();
  model.close();
});

const waiting = async () => (await call(daemon, 'GET', '/v3/documents/processing')).totalCount as number;

test('texts in four languages are processed', async () => {
  await expect.poll(waiting).toBe(0);
  expect(stored.size).toBeGreaterThanOrEqual(160);
});

/** The texts that hold words of the query, best first. */
async function found(containerTag: string, q: string, limit: number): Promise<string[]> {
  const asked = { q, limit, containerTag, searchMode: 'documents', threshold: 0, include: { scores: true } };
  const { results } = await call(daemon, 'POST', '/v4/search', asked);
  return (results as { sources: [{ documentId: string }]; scores: { words: number } }[])
    .filter(({ scores }) => scores.words > 0)
    .map(({ sources: [{ documentId }] }) => stored.get(documentId)!);
}

describe.each(languages)('by words alone over HTTP, in %s', (language) => {
  test('the answer to each question is among the first ten', async () => {
    const answers = new Map(await pairsOf(language, 'qrels.tsv'));
    const questions = await textsOf(language, 'queries.jsonl');
    const missed: string[] = [];
    for (const { _id, text } of questions) {
      if (!(await found(language, text, 10)).includes(answers.get(_id)!)) missed.push(text);
    }
    expect(questions.length).toBeGreaterThanOrEqual(40);
    expect(missed).toEqual([]);
  });

  test('each word that stands in a text finds it, alone and in another form', async () => {
    const missed: string[] = [];
    for (const [word, id] of await pairsOf(language, 'words.tsv')) {
      if (!(await found(language, word, 100)).includes(id)) missed.push(`${word} ${id}`);
    }
    expect(missed).toEqual([]);
  });
});
