import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createHttpEmbedder } from '../../src/models/http/http-embedder.ts';
import { createMinilmEmbedder } from '../../src/models/minilm/minilm-embedder.ts';
import { createOnnxFolderEmbedder } from '../../src/models/onnx-folder/onnx-folder-embedder.ts';
import { createTokenCounter } from '../../src/models/token-counting.ts';
import { cosine } from '../../src/models/vector.ts';
import { startEmbeddingServer } from '../support/embedding-server.ts';
import { writeModelFolder } from '../support/model-folder.ts';

interface Subject {
  name: string;
  /** Whether calls wait for one another, so that their order can be seen. */
  queues: boolean;
  /** `tearDown` removes what `create` made besides the embedder. */
  create(): Promise<{ embedder: Embedder; tearDown(): Promise<void> }>;
}

const nothing = async (): Promise<void> => undefined;
const topics = [
  ['cat', 'kitten', 'sofa', 'sleeps', 'the', 'on', 'a'],
  ['bank', 'interest', 'rate', 'raised', 'central'],
  ['sentence', 'number', 'text', 'and', 'of', 'word'],
];

const subjects: Subject[] = [
  {
    name: 'minilm on onnxruntime-node',
    queues: true,
    create: async () => ({ embedder: createMinilmEmbedder({ threads: 2 }), tearDown: nothing }),
  },
  {
    name: 'minilm on onnxruntime-web',
    queues: true,
    create: async () => ({
      embedder: createMinilmEmbedder({ threads: 1, runtime: 'onnxruntime-web' }),
      tearDown: nothing,
    }),
  },
  {
    name: 'an ONNX folder',
    queues: true,
    async create() {
      const folder = await writeModelFolder({ topics });
      const embedder = await createOnnxFolderEmbedder({ folder: folder.path, threads: 1 });
      return { embedder, tearDown: () => folder.remove() };
    },
  },
  {
    name: 'an HTTP server',
    queues: true,
    async create() {
      const server = await startEmbeddingServer({ reversed: true });
      const embedder = await createHttpEmbedder({ baseUrl: server.baseUrl, model: 'words', concurrency: 1 });
      return { embedder, tearDown: () => server.close() };
    },
  },
  {
    name: 'hashed words',
    queues: false,
    create: async () => ({ embedder: createHashingEmbedder(), tearDown: nothing }),
  },
];

const oddTexts = [
  '',
  ' \n\t ',
  '\0',
  'a\0b',
  '😀👩‍👩‍👧 party 🎉',
  '\ud800',
  'half \udc00 a pair',
  'مرحبا नमस्ते 你好 한국어',
  'e' + '\u0301\u0327'.repeat(5_000),
  '[CLS] [SEP] [PAD]',
];

describe.each(subjects)('embedder: $name', ({ create, queues }) => {
  let embedder: Embedder;
  let tearDown: () => Promise<void>;
  beforeAll(async () => {
    ({ embedder, tearDown } = await create());
  });
  afterAll(async () => {
    await embedder.close();
    await tearDown();
  });

  const embedOne = async (text: string): Promise<Float32Array> => (await embedder.embed([text]))[0]!;

  it('states what it is', () => {
    expect(embedder.id).toMatch(/^[\w.-]+(:[\w.-]+)*$/);
    for (const count of [embedder.dimensions, embedder.maxTokens, embedder.maxInputs]) {
      expect(Number.isInteger(count) && count > 0).toBe(true);
    }
    expect(embedder.relatedAt).toBeGreaterThan(0);
    expect(embedder.relatedAt).toBeLessThan(1);
  });

  it('answers one unit-length vector per text, in order', async () => {
    const texts = ['a cat sleeps', 'the central bank', 'number of sentence', 'the kitten on a sofa'];
    const together = await embedder.embed(texts);
    expect(together).toHaveLength(texts.length);
    for (const [index, text] of texts.entries()) {
      expect(together[index]).toBeInstanceOf(Float32Array);
      expect(together[index]).toHaveLength(embedder.dimensions);
      expect(Math.hypot(...together[index]!)).toBeCloseTo(1, 5);
      expect(cosine(together[index]!, await embedOne(text))).toBeGreaterThan(0.99999);
    }
    expect(cosine(together[0]!, together[1]!)).toBeLessThan(0.99);
  });

  it('gives a text the same vector whatever else is embedded with it', async () => {
    const alone = await embedOne('a cat sleeps');
    const among = await embedder.embed(['the bank', 'a cat sleeps', 'x '.repeat(2_000)], { kind: 'document' });
    expect(among[1]).toEqual(alone);
  });

  it('takes more texts than one request holds', async () => {
    const texts = Array.from({ length: embedder.maxInputs * 2 + 3 }, (_, index) => `text number ${index % 7}`);
    const vectors = await embedder.embed(texts);
    expect(vectors).toHaveLength(texts.length);
    expect(vectors.at(-1)).toEqual(vectors[(texts.length - 1) % 7]);
    expect(vectors.every((vector) => vector.length === embedder.dimensions)).toBe(true);
  });

  it('takes no texts', async () => {
    expect(await embedder.embed([])).toEqual([]);
  });

  it('finds a direction for empty, broken and foreign text', async () => {
    const vectors = await embedder.embed(oddTexts);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    for (const text of oddTexts) expect(createTokenCounter(embedder.tokens)(text)).toBeGreaterThanOrEqual(0);
  });

  it('reads the start of a very long text', async () => {
    const long = 'the central bank raised the interest rate '.repeat(25_000);
    const [vector, start] = await embedder.embed([long, long.slice(0, 60_000)]);
    expect(vector).toEqual(start);
    expect(createTokenCounter(embedder.tokens)(long)).toBeGreaterThan(25_000 * 6);
    expect(createTokenCounter(embedder.tokens)('x'.repeat(1_000_000))).toBeGreaterThan(embedder.maxTokens * 10);
  });

  it('counts no tokens in nothing, and the more the longer a text is', () => {
    expect(createTokenCounter(embedder.tokens)('')).toBe(0);
    expect(createTokenCounter(embedder.tokens)('a cat sleeps')).toBeGreaterThanOrEqual(3);
    expect(createTokenCounter(embedder.tokens)('a cat sleeps on the sofa')).toBe(
      createTokenCounter(embedder.tokens)('a cat sleeps') + createTokenCounter(embedder.tokens)('on the sofa'),
    );
  });

  it('serves calls at the same time without mixing them up', async () => {
    const texts = ['a cat sleeps', 'the central bank', 'number of sentence'];
    const expected = await embedder.embed(texts);
    const calls = Array.from({ length: 24 }, (_, index) =>
      embedder.embed([texts[index % 3]!], { kind: index % 2 === 0 ? 'query' : 'document' }),
    );
    for (const [index, [vector]] of (await Promise.all(calls)).entries()) expect(vector).toEqual(expected[index % 3]);
  });

  it('scores related texts above unrelated ones', async () => {
    const [cat, kitten, bank] = await embedder.embed([
      'the cat sleeps on a sofa',
      'a kitten on the sofa',
      'central bank raised interest rate',
    ]);
    expect(cosine(cat!, kitten!)).toBeGreaterThan(cosine(cat!, bank!) + 0.2);
  });

  it('refuses a signal that is aborted already, with its reason', async () => {
    const reason = new Error('no longer needed');
    await expect(embedder.embed(['a cat'], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  if (queues) {
    it('serves a query before documents that came earlier', async () => {
      const finished: string[] = [];
      const documents = embedder
        .embed(new Array<string>(embedder.maxInputs * 6).fill('the central bank raised the interest rate'))
        .then(() => finished.push('documents'));
      const query = embedder.embed(['a cat'], { kind: 'query' }).then(() => finished.push('query'));
      await Promise.all([documents, query]);
      expect(finished).toEqual(['query', 'documents']);
    });

    it('rejects with the reason of a signal that aborts meanwhile, and goes on', async () => {
      const reason = new Error('no longer needed');
      const controller = new AbortController();
      const dropped = embedder.embed(new Array<string>(500).fill('the central bank'), { signal: controller.signal });
      controller.abort(reason);
      await expect(dropped).rejects.toBe(reason);
      expect(await embedOne('a cat')).toHaveLength(embedder.dimensions);
    });
  }

  it('tests itself', async () => {
    const report = await embedder.verify();
    expect(report.id).toBe(embedder.id);
    expect(report.checks.length).toBeGreaterThanOrEqual(3);
    for (const check of report.checks) expect(check.detail).not.toBe('');
    expect(report.checks.filter((check) => check.name === 'vectors' && check.ok)).toHaveLength(1);
  });

  it('refuses work once it is closed, what waits included', async () => {
    const subject = await create();
    const waiting = subject.embedder.embed(new Array<string>(2_000).fill('the central bank raised the interest rate'));
    const outcome = waiting.catch((error: unknown) => error);
    await subject.embedder.close();
    await subject.embedder.close();
    if (queues) expect(await outcome).toMatchObject({ code: 'embed_failed', retryAfterMs: 1_000 });
    const refused = await subject.embedder.embed(['a cat']).catch((error: unknown) => error);
    expect(MemorydError.is(refused)).toBe(true);
    expect(refused).toMatchObject({ code: 'embed_failed', retryAfterMs: 1_000 });
    await subject.tearDown();
  });
});
