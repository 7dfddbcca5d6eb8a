import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import {
  createHttpLanguageModel,
  type HttpLanguageModelOptions,
} from '../../../src/models/http/http-language-model.ts';
import type { Completion, LanguageModel, Prompt } from '../../../src/models/language-model.ts';
import {
  json,
  startLanguageModelServer,
  textOf,
  type LanguageModelServer,
} from '../../support/language-model-server.ts';

const apiKey = 'sk-canary-4712';
const schema = {
  type: 'object',
  properties: { colour: { type: 'string' } },
  required: ['colour'],
  additionalProperties: false,
};
const prompt: Prompt = {
  name: 'colour',
  instructions: 'Name the colour.',
  content: 'The sky is blue.',
  schema,
  maxAnswerTokens: 50,
};

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

interface Setup {
  server: LanguageModelServer;
  model: LanguageModel;
  pauses: number[];
  ask(signal?: AbortSignal): Promise<Completion>;
}

async function connect(options: Partial<HttpLanguageModelOptions> = {}): Promise<Setup> {
  const server = await startLanguageModelServer();
  cleanUps.push(() => server.close());
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => new Date('2026-03-01T09:00:00Z'),
    sleep: async (ms) => void pauses.push(ms),
  };
  const model = createHttpLanguageModel({
    ...{ baseUrl: `${server.baseUrl}/`, model: 'small', clock, random: () => 0.5 },
    ...options,
  });
  cleanUps.push(() => model.close());
  const ask = (signal = new AbortController().signal) => model.complete(prompt, { kind: 'document', signal });
  return { server, model, pauses, ask };
}

async function connectToOdd(answer: unknown): Promise<Setup> {
  const server = await startLanguageModelServer();
  cleanUps.push(() => server.close());
  return connect({ baseUrl: server.odd((response) => response.end(JSON.stringify(answer))) });
}

describe('HTTP language model', () => {
  it('sends instructions, content, schema and bounds', async () => {
    const { server, ask, model } = await connect();
    server.answer('colour', json({ colour: 'blue' }, 321));
    expect(model.id).toBe('openai-compatible:small');
    expect(await ask()).toEqual({ text: '{"colour":"blue"}', tokens: 321 });
    expect(server.asked()[0]).toMatchObject({
      model: 'small',
      messages: [
        { role: 'system', content: 'Name the colour.' },
        { role: 'user', content: 'The sky is blue.' },
      ],
      temperature: 0,
      max_tokens: 50,
      response_format: { type: 'json_schema', json_schema: { name: 'colour', strict: true, schema } },
    });
  });

  it('sends the key', async () => {
    const server = await startLanguageModelServer();
    cleanUps.push(() => server.close());
    const sent: (string | undefined)[] = [];
    const baseUrl = server.odd((response, request) => {
      sent.push(request.headers.authorization);
      response.end('{}');
    });
    await (await connect({ baseUrl, apiKey })).ask();
    await (await connect({ baseUrl })).ask();
    expect(sent).toEqual([`Bearer ${apiKey}`, undefined]);
  });

  it('estimates what an endpoint does not count', async () => {
    const { ask } = await connectToOdd({ choices: [{ message: { content: '{"colour":"blue"}' } }] });
    expect(await ask()).toEqual({ text: '{"colour":"blue"}', tokens: 20 });
  });

  it.each([
    ['without choices', {}],
    ['that is null', null],
    ['without text', { choices: [{ message: { content: null, refusal: 'I will not.' } }] }],
  ])('takes an answer %s for an empty one', async (_, answer) => {
    const { ask } = await connectToOdd(answer);
    expect(await ask()).toMatchObject({ text: '' });
  });

  it('steps down where an endpoint refuses the format, and keeps to what it took', async () => {
    const { server, ask } = await connect();
    server.answer(null, json({ colour: 'blue' }));
    server.answer(
      null,
      { error: { message: 'response_format is not supported' }, status: 400 },
      {
        when: ({ response_format: format }) => format !== undefined,
      },
    );
    expect(await ask()).toMatchObject({ text: '{"colour":"blue"}' });
    const tried = server.asked().map((request) => request.response_format?.type ?? 'none');
    expect(tried).toEqual(['json_schema', 'json_schema', 'json_object', 'json_object', 'none']);
    const last = server.asked().at(-1)!;
    expect(textOf(last)).toContain(JSON.stringify(schema));
    await ask();
    expect(
      server
        .asked()
        .slice(5)
        .map((request) => request.response_format),
    ).toEqual([undefined]);
  });

  it('asks models that reason without a temperature', async () => {
    const { server, ask } = await connect();
    server.answer(null, json({ colour: 'blue' }));
    server.answer(
      null,
      { error: { message: 'Unsupported parameter: temperature' }, status: 400 },
      {
        when: ({ temperature }) => temperature !== undefined,
      },
    );
    await ask();
    const request = server.asked().at(-1)!;
    expect(request.response_format?.type).toBe('json_schema');
    expect(request.max_completion_tokens).toBe(50);
    expect(request).not.toHaveProperty('max_tokens');
  });

  it('says what was refused first when nothing is taken, and looks no further than once', async () => {
    const { server, ask } = await connect();
    server.answer(null, { error: { message: 'The context is too long' }, status: 400 });
    expect(await ask()).toEqual({
      lost: false,
      failure: expect.objectContaining({
        code: 'language_model_failed',
        message: expect.stringMatching(/^The language model server .+ answered HTTP 400 for the model "small"\.$/),
      }),
    });
    server.answer(null, json({ colour: 'blue' }), { times: 1 });
    await ask();
    const before = server.asked().length;
    await ask();
    expect(server.asked().length).toBe(before + 1);
  });

  it('waits as long as Retry-After says', async () => {
    const { server, ask, pauses } = await connect();
    server.answer(null, json({ colour: 'blue' }));
    server.answer(null, { error: { message: 'slow down' }, status: 429, retryAfter: 3 }, { times: 2 });
    expect(await ask()).toMatchObject({ text: '{"colour":"blue"}' });
    expect(pauses).toEqual([3_000, 3_000]);
  });

  it('leaves a long wait to the caller', async () => {
    const { server, ask, pauses } = await connect();
    server.answer(null, { error: { message: 'slow down' }, status: 429, retryAfter: 600 });
    expect(await ask()).toMatchObject({ lost: false, failure: { retryAfterMs: 600_000 } });
    expect(pauses).toEqual([]);
  });

  it('tries again after HTTP 500, so often', async () => {
    const { server, ask, pauses } = await connect();
    server.answer(null, { error: { message: 'broken' }, status: 500 });
    expect(await ask()).toMatchObject({ lost: false, failure: { code: 'language_model_failed' } });
    expect(server.asked().length).toBe(4);
    expect(pauses).toEqual([375, 750, 1_500]);
  });

  it('tries again when the answer is not JSON, or the connection is cut', async () => {
    const { server, ask, pauses } = await connect();
    server.answer(null, json({ colour: 'blue' }));
    server.answer(null, json({}), { times: 1, chaos: { disconnectRate: 1 } });
    server.answer(null, json({}), { times: 1, chaos: { malformedRate: 1 } });
    expect(await ask()).toMatchObject({ text: '{"colour":"blue"}' });
    expect(pauses).toEqual([375, 750]);
  });

  it('does not take the beginning of an answer for the answer', async () => {
    const server = await startLanguageModelServer();
    cleanUps.push(() => server.close());
    const baseUrl = server.odd((response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"choices":[', () => response.destroy());
    });
    const { ask, pauses } = await connect({ baseUrl });
    expect(await ask()).toMatchObject({ lost: true, failure: { code: 'language_model_failed' } });
    expect(pauses.length).toBe(3);
  });

  it('asks a model that is too slow only once, and says that it may have worked', async () => {
    const { server, ask } = await connect({ timeoutMs: 50 });
    server.answer(null, json({ colour: 'blue' }), { chaos: { latencyMs: 5_000 } });
    expect(await ask()).toMatchObject({
      lost: true,
      failure: { message: expect.stringContaining('did not answer within 50 ms') },
    });
  });

  it('reads no endless answer', async () => {
    const { server, ask } = await connect({ maxAnswerBytes: 1_000 });
    server.answer(null, json({ colour: 'blue'.repeat(1_000) }));
    expect(await ask()).toMatchObject({
      lost: true,
      failure: { message: expect.stringContaining('answered more than 1000 bytes') },
    });
  });

  it.each([401, 403])('names the setting of the key after HTTP %s, and never the key', async (status) => {
    const { server, ask } = await connect({ apiKey });
    server.answer(null, { error: { message: `wrong key ${apiKey}` }, status });
    const completion = (await ask()) as { failure: Error };
    expect(completion.failure.message).toContain('Correct MEMORYD_LLM_API_KEY.');
    expect(JSON.stringify([completion, String(completion.failure), completion.failure.stack])).not.toContain(apiKey);
  });

  it('stops when the signal aborts or it is closed', async () => {
    const { server, ask, model } = await connect();
    server.answer(null, json({ colour: 'blue' }), { chaos: { latencyMs: 5_000 } });
    await expect(ask(AbortSignal.timeout(20))).rejects.toMatchObject({ name: 'TimeoutError' });
    const asking = ask();
    await model.close();
    await expect(asking).rejects.toMatchObject({ message: expect.stringContaining('shutting down') });
  });

  it('takes no address with a password or a query', () => {
    for (const baseUrl of ['ftp://host', 'http://user:pass@host', 'http://host/v1?key=1', 'host']) {
      expect(() => createHttpLanguageModel({ baseUrl, model: 'small' })).toThrow(/must be http\(s\)/);
    }
  });
});
