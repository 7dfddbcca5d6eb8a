import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import type { MemorydError } from '../../../src/base/errors.ts';
import type { Embedder } from '../../../src/models/embedder.ts';
import { createHttpEmbedder, type HttpEmbedderOptions } from '../../../src/models/http/http-embedder.ts';
import { cosine } from '../../../src/models/vector.ts';
import { startEmbeddingServer, type EmbeddingServer, type ServerSettings } from '../../support/embedding-server.ts';

const now = new Date('2026-03-01T09:00:00.000Z');
const apiKey = 'sk-canary-4711';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** Sleeping takes no time and is written down. */
function createRecordingClock(): { clock: Clock; pauses: number[] } {
  const pauses: number[] = [];
  return { pauses, clock: { now: () => now, sleep: async (ms) => void pauses.push(ms) } };
}

interface Setup {
  server: EmbeddingServer;
  embedder: Embedder;
  pauses: number[];
}

async function connect(
  options: Partial<HttpEmbedderOptions> = {},
  settings: Partial<ServerSettings> = {},
): Promise<Setup> {
  const server = await startEmbeddingServer(settings);
  cleanUps.push(() => server.close());
  const { clock, pauses } = createRecordingClock();
  const known = { dimensions: settings.dimensions ?? 128, relatedAt: 0.4 };
  const embedder = await createHttpEmbedder({
    ...{ baseUrl: server.baseUrl, model: 'words', clock, random: () => 0.5 },
    ...known,
    ...options,
  });
  cleanUps.push(() => embedder.close());
  return { server, embedder, pauses };
}

function failureOf(call: Promise<unknown>): Promise<MemorydError> {
  return call.then(
    () => expect.fail('It was expected to fail.'),
    (error: MemorydError) => error,
  );
}

describe('HTTP embedder', () => {
  it('asks nothing at creation when it knows all, and the server when it does not', async () => {
    const { server, embedder } = await connect();
    expect(server.requests).toEqual([]);
    expect(embedder).toMatchObject({ id: 'openai-compatible:words:128', dimensions: 128, relatedAt: 0.4 });
    const asking = await createHttpEmbedder({ baseUrl: `${server.baseUrl}/`, model: 'words' });
    expect(asking.dimensions).toBe(128);
    expect(asking.relatedAt).toBeGreaterThan(0);
    expect(server.requests.length).toBe(3);
  });

  it('sends the model, the key and the texts', async () => {
    const { server, embedder } = await connect({ apiKey }, { apiKey });
    await embedder.embed(['one', 'two']);
    expect(server.requests).toEqual([
      {
        authorization: `Bearer ${apiKey}`,
        body: { model: 'words', input: ['one', 'two'], encoding_format: 'float' },
      },
    ]);
  });

  it('asks for shorter vectors only when told to', async () => {
    const { server, embedder } = await connect({ requestDimensions: true });
    await embedder.embed(['one']);
    expect(server.requests[0]!.body.dimensions).toBe(128);
  });

  it('reads numbers and base64, in any order, and makes them unit length', async () => {
    const texts = ['the cat', 'a bank', 'three words here'];
    const { embedder, server } = await connect();
    const expected = await embedder.embed(texts);
    for (const changes of [
      { reversed: true },
      { encoding: 'base64' },
      { encoding: 'base64', reversed: true },
    ] as const) {
      Object.assign(server.settings, { reversed: false, encoding: 'float' }, changes);
      const vectors = await embedder.embed(texts);
      for (const [index, vector] of vectors.entries()) {
        expect(Math.hypot(...vector)).toBeCloseTo(1, 6);
        expect(cosine(vector, expected[index]!)).toBeGreaterThan(0.999999);
      }
    }
  });

  it('splits calls into requests, of which only so many run at once', async () => {
    const { embedder, server } = await connect({ maxInputs: 5, concurrency: 3 }, { together: 3 });
    const texts = Array.from({ length: 42 }, (_, index) => `text ${index}`);
    const vectors = await embedder.embed(texts);
    const sizes = server.requests.map((request) => request.body.input.length);
    expect(sizes.toSorted((left, right) => left - right)).toEqual([2, 5, 5, 5, 5, 5, 5, 5, 5]);
    expect(server.mostAtOnce()).toBe(3);
    server.settings.together = 1;
    expect(vectors[41]).toEqual((await embedder.embed(['text 41']))[0]);
  });

  it('keeps a request under the size that servers take', async () => {
    const { embedder, server } = await connect({ maxTokens: 8_000, maxInputs: 64 });
    await embedder.embed(new Array<string>(30).fill('word '));
    expect(server.requests.map((request) => request.body.input.length)).toEqual([25, 5]);
  });

  it('sends no empty, broken or overlong text', async () => {
    const { embedder, server } = await connect({ maxTokens: 4 });
    await embedder.embed(['', ' \n', 'a\0b', '\ud800x', 'one two three four five', 'x'.repeat(1_000), '漢字漢字漢字']);
    const sent = ['.', '.', 'a b', '\ufffdx', 'one two three ', 'x'.repeat(4), '漢字漢字'];
    expect(server.requests[0]!.body.input).toEqual(sent);
  });

  it('puts prefixes before the texts', async () => {
    const { embedder, server } = await connect({ prefixes: { query: 'query: ', document: 'passage: ' } });
    await embedder.embed(['one'], { kind: 'query' });
    await embedder.embed(['one']);
    expect(server.requests.map((request) => request.body.input[0])).toEqual(['query: one', 'passage: one']);
  });

  it.each([
    [500, undefined, [375, 750]],
    [503, '0', [375, 750]],
    [429, '2', [2_000, 2_000]],
    [429, 'Sun, 01 Mar 2026 09:00:03 GMT', [3_000, 3_000]],
    [429, 'soon', [375, 750]],
    [408, undefined, [375, 750]],
  ])('tries again after HTTP %s with Retry-After %s', async (status, retryAfter, expected) => {
    const { embedder, server, pauses } = await connect();
    const date = 'Sun, 01 Mar 2026 09:00:00 GMT';
    const headers = retryAfter === undefined ? { date } : { 'retry-after': retryAfter, date };
    server.plan({ status, headers }, { status, headers });
    expect(await embedder.embed(['one'])).toHaveLength(1);
    expect(pauses).toEqual(expected);
  });

  it('gives up after its attempts and says when to come back', async () => {
    const { embedder, server, pauses } = await connect({ attempts: 3 });
    server.plan({ status: 502 }, { status: 502 }, { status: 502 });
    const error = await failureOf(embedder.embed(['one']));
    expect(error).toMatchObject({ code: 'embed_failed', retryAfterMs: 1_500 });
    expect(error.message).toContain('HTTP 502');
    expect([server.requests.length, pauses]).toEqual([3, [375, 750]]);
  });

  it('leaves a long wait to the caller', async () => {
    const { embedder, server, pauses } = await connect({ maxPauseMs: 5_000 });
    server.plan({ status: 429, headers: { 'retry-after': '60' } });
    expect(await failureOf(embedder.embed(['one']))).toMatchObject({ code: 'embed_failed', retryAfterMs: 60_000 });
    expect([server.requests.length, pauses]).toEqual([1, []]);
  });

  it.each([
    [401, undefined, 'Set MEMORYD_EMBEDDER_API_KEY'],
    [401, apiKey, 'Correct MEMORYD_EMBEDDER_API_KEY'],
    [403, apiKey, 'Correct MEMORYD_EMBEDDER_API_KEY'],
    [404, apiKey, 'does not know /embeddings or the model "words"'],
    [400, apiKey, 'HTTP 400'],
  ])('does not try again after HTTP %s', async (status, key, message) => {
    const { embedder, server } = await connect(key === undefined ? {} : { apiKey: key });
    server.plan({ status, body: { error: { message: `${apiKey} one` } } });
    const error = await failureOf(embedder.embed(['one secret text']));
    expect(error).toMatchObject({ code: 'embed_failed', message: expect.stringContaining(message) });
    expect(error.retryAfterMs).toBeUndefined();
    expect(server.requests).toHaveLength(1);
    for (const text of [error.message, error.stack, JSON.stringify(error)]) {
      expect(text).not.toContain(apiKey);
      expect(text).not.toContain('secret text');
    }
  });

  it.each([
    ['too few vectors', { data: [] }, 'holds 0 vectors for 1 texts'],
    ['no data', { object: 'list' }, 'no list `data`'],
    ['a strange embedding', { data: [{ index: 0, embedding: 7 }] }, 'neither a list of numbers nor base64'],
    ['an index out of range', { data: [{ index: 1, embedding: [1] }] }, 'index 1 is out of range'],
    ['vectors of another length', { data: [{ index: 0, embedding: [1, 2] }] }, 'vectors of 2 dimensions; 128'],
    ['a vector without direction', { data: [{ embedding: new Array(128).fill(0) }] }, 'zero or not made of numbers'],
    [
      'a vector that is not numbers',
      { data: [{ embedding: new Array(128).fill('x') }] },
      'zero or not made of numbers',
    ],
  ])('refuses %s', async (_, body, message) => {
    const { embedder, server } = await connect();
    server.plan({ status: 200, body });
    expect(await failureOf(embedder.embed(['one']))).toMatchObject({
      code: 'embed_failed',
      message: expect.stringContaining(message),
    });
  });

  it('tries again when the answer is not JSON', async () => {
    const { embedder, server, pauses } = await connect({ attempts: 2 });
    server.plan({ status: 200, body: '<html>' }, { status: 200, body: '<html>' });
    const error = await failureOf(embedder.embed(['one']));
    expect(error.message).toContain('answered something that is not JSON');
    expect([pauses, error.retryAfterMs]).toEqual([[375], 750]);
  });

  it('says which server cannot be reached, and tries again', async () => {
    const { embedder, server, pauses } = await connect({ attempts: 2 });
    await server.close();
    const error = await failureOf(embedder.embed(['one']));
    expect(error.message).toBe(`The embedding server ${server.baseUrl} could not be reached (ECONNREFUSED).`);
    expect([pauses, error.retryAfterMs]).toEqual([[375], 750]);
  });

  it('does not wait for ever', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`;
    const embedder = await createHttpEmbedder({
      ...{ baseUrl, model: 'words', dimensions: 8, relatedAt: 0.4, attempts: 1, timeoutMs: 50 },
    });
    const error = await failureOf(embedder.embed(['one']));
    expect(error).toMatchObject({ code: 'embed_failed', message: expect.stringContaining('within 50 ms') });
    expect(error.retryAfterMs).toBeGreaterThan(0);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });

  it('sends queries before waiting documents, and drops what is aborted', async () => {
    const { embedder, server } = await connect({ maxInputs: 1, concurrency: 1 });
    const controller = new AbortController();
    const dropped = failureOf(embedder.embed(['d1', 'd2', 'd3', 'd4'], { signal: controller.signal }));
    const query = embedder.embed(['q'], { kind: 'query' });
    const document = embedder.embed(['d5']);
    await query;
    controller.abort(new Error('enough'));
    expect((await dropped).message).toBe('enough');
    await document;
    const sent = server.requests.map((request) => request.body.input[0]);
    expect(sent.slice(0, 2)).toEqual(['d1', 'q']);
    expect(sent.at(-1)).toBe('d5');
    for (const text of ['d3', 'd4']) expect(sent).not.toContain(text);
  });

  it('stops the other requests of a call when one fails', async () => {
    const { embedder, server } = await connect({ maxInputs: 1, concurrency: 1 });
    server.plan({ status: 400 });
    await failureOf(embedder.embed(['one', 'two', 'three']));
    await embedder.embed(['four']);
    expect(server.requests.map((request) => request.body.input[0])).toEqual(['one', 'four']);
  });

  it.each(['not an address', 'ftp://host/v1', 'http://name:word@host/v1', 'http://host/v1?key=1'])(
    'refuses the address %s',
    async (baseUrl) => {
      const error = await failureOf(createHttpEmbedder({ baseUrl, model: 'words' }));
      expect(error.code).toBe('config_invalid');
      expect(error.message).not.toContain('word@');
    },
  );

  it('tests itself', async () => {
    const { embedder, server } = await connect({ relatedAt: 0.05 });
    const report = await embedder.verify();
    expect(report).toMatchObject({ id: embedder.id, runtime: 'http' });
    expect(report.checks.map((check) => check.name)).toEqual(['vectors', 'meaning', 'throughput']);
    server.plan({ status: 401 });
    expect(await embedder.verify()).toMatchObject({
      ok: false,
      checks: [{ name: 'vectors', ok: false, detail: expect.stringContaining('MEMORYD_EMBEDDER_API_KEY') }],
    });
  });
});
