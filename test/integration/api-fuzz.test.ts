import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pushConnector from '../../connectors/push/index.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { createAnswerCheck } from '../support/described-answers.ts';
import {
  addressOf,
  generated,
  mutated,
  operationsOf,
  storable,
  type Operation,
} from '../support/generated-requests.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

/** Requests are made from the description that the daemon gives of itself, by every route of it. */

const source = createSyntheticSource();
const connector = source.connector({ incremental: true });
const test: TestApi = await startTestApi({
  engine: 'pglite',
  connectors: { synthetic: connector, push: pushConnector },
  config: {
    compat: ['plural-tags', 'search-v3'],
    limits: { maxTextBytes: 50_000, maxBodyBytes: 200_000, maxBatchBodyBytes: 400_000, maxFileBytes: 50_000 },
  },
});
const document = (await test.call('GET', '/openapi.json', undefined, null)).body;
/** Without the stream of events, which ends when the run does. */
const operations = operationsOf(document).filter(({ path }) => !path.endsWith('/events'));
const problemsOf = createAnswerCheck(document);
let known: Record<string, string[]>;

beforeAll(async () => {
  const post = async (url: string, body: object) => (await test.call('POST', url, body)).body;
  const content = 'My name is Mira. I live in Porto.';
  const added = { content, containerTag: 'known', customId: 'mira', dreaming: 'instant' };
  const { id } = await post('/v3/documents', added);
  const { memories } = await post('/v4/memories', { containerTag: 'known', memories: [{ content: 'Mira sings.' }] });
  source.put('a', 'Text of a source.');
  const { id: synthetic } = await post('/v3/connections/synthetic', { containerTag: 'known' });
  const { id: push } = await post('/v3/connections/push', { containerTag: 'known' });
  await runDueSync(test, connector, synthetic);
  await test.process();
  const [run] = (await test.call('GET', `/v3/connections/${synthetic}/sync-runs`)).body;
  const [item] = (await test.call('GET', `/v3/connections/${synthetic}/items`)).body.items;
  known = {
    id: [id, 'mira', 'none'],
    connection: [synthetic, push, 'synthetic', 'none'],
    connectionId: [synthetic, push, 'none'],
    provider: ['synthetic', 'push', 'none'],
    name: ['synthetic', 'none'],
    runId: [run.id, 'none'],
    itemId: [item.id, 'none'],
    memoryId: [memories[0].id, 'none'],
    namespace: ['known', 'none'],
    containerTag: ['known', 'none'],
  };
});
afterAll(() => test.close());

interface Sent {
  url: string;
  payload?: string | Buffer;
  type?: string;
}

async function send({ method }: Operation, { url, payload, type = 'application/json' }: Sent) {
  const response = await test.api.inject({
    method: method as 'POST',
    url,
    headers: {
      authorization: `Bearer ${fullKey}`,
      ...(payload === undefined ? {} : { 'content-type': type }),
      ...(url.startsWith('/mcp') && { accept: 'application/json, text/event-stream' }),
    },
    ...(payload === undefined ? {} : { payload }),
  });
  const contentType = String(response.headers['content-type'] ?? '');
  return { method, url, status: response.statusCode, contentType, text: response.body };
}

type Answered = Awaited<ReturnType<typeof send>>;

/** 501 and 503 of the description are answers; 500 never is. */
function expectDescribed(answer: Answered): void {
  const isExpected = answer.status < 500 || answer.status === 501;
  expect(isExpected ? [] : [`${answer.method} ${answer.url} ${answer.status}`]).toEqual([]);
  // Errors of the protocol that is spoken there have a form of their own.
  if (answer.url !== '/mcp') expect(problemsOf(answer)).toEqual([]);
}

const seeds = fc.nat({ max: 2 ** 30 });
const asText = (value: unknown) => JSON.stringify(value) ?? '';

describe.each(operations)('$name', (operation) => {
  const { body, form } = operation;

  it('answers what is valid', async () => {
    const property = fc.asyncProperty(seeds, async (seed) => {
      const url = addressOf(operation, seed, known);
      if (form) return expectDescribed(await send(operation, { url, ...asForm(generated(form, seed)) }));
      const payload = body ? { payload: asText(generated(body, seed, seed % 3 === 0)) } : {};
      expectDescribed(await send(operation, { url, ...payload }));
    });
    await fc.assert(property, { numRuns: body || form ? 8 : 4 });
  });
});

describe.each(operations.filter(({ body, form }) => body ?? form))('the body of $name', (operation) => {
  const { body, form } = operation;

  it('is refused when it is not valid', async () => {
    const property = fc.asyncProperty(seeds, fc.nat({ max: 500 }), fc.nat({ max: 500 }), async (seed, where, what) => {
      const url = addressOf(operation, seed * 4 + 1, known).split('?')[0]!;
      if (form)
        return expectDescribed(
          await send(operation, { url, ...asForm(mutated(generated(form, seed, true), where, what)) }),
        );
      const value = mutated(generated(body!, seed, true), where, what);
      const answer = await send(operation, { url, payload: asText(value) });
      expectDescribed(answer);
      if (!operation.isValid(storable(value) ?? {}))
        expect([asText(value).slice(0, 300), answer.status]).toEqual([expect.any(String), 400]);
    });
    await fc.assert(property, { numRuns: 25 });
  });

  it('is refused when it is no JSON, of another type, or too large', async () => {
    const url = addressOf(operation, 1, known);
    const limit = /batch$|push$/.test(operation.path) ? 400_001 : 200_001;
    const cases: [Partial<Sent>, number][] = [
      [{ payload: '{' }, 400],
      [{ payload: '{"a":1}}' }, 400],
      [{ payload: '{"__proto__":{"a":1}}' }, 400],
      [{ payload: '[1,]' }, 400],
      [{ payload: Buffer.from([0x7b, 0xff, 0x00, 0x7d]) }, 400],
      [{ payload: 'a: 1', type: 'text/yaml' }, 415],
      [{ payload: `"${'x'.repeat(limit)}"` }, 413],
    ];
    for (const [sent, status] of form ? [] : cases) {
      const answer = await send(operation, { url, ...sent });
      expectDescribed(answer);
      expect([String(sent.payload).slice(0, 30), answer.status]).toEqual([expect.any(String), status]);
    }
  });
});

function asForm(value: unknown): { payload: string; type: string } {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [['file', String(value)]];
  const parts = fields.map(([name, part]) => {
    const disposition =
      name === 'file' ? 'name="file"; filename="a.txt"' : `name="${String(name).replaceAll(/["\r\n]/g, '')}"`;
    return `--edge\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${typeof part === 'string' ? part : asText(part)}\r\n`;
  });
  return { payload: `${parts.join('')}--edge--\r\n`, type: 'multipart/form-data; boundary=edge' };
}
