import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import type { DocumentInput } from '../../src/engine/document.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

const authorization = `Bearer ${fullKey}`;
const json = { authorization, 'content-type': 'application/json' };
/** Stands in content, metadata, names and queries; no log line may have it. */
const canary = 'canary-7f3a';

let test: TestApi;
/** What the service for documents does next, instead of working. */
let failure: (() => unknown) | null = null;

beforeAll(async () => {
  test = await startTestApi({
    config: { limits: { maxTextBytes: 1000, maxBodyBytes: 2000, maxBatchBodyBytes: 4000, maxFileBytes: 3000 } },
    services: ({ documents }) => ({
      documents: {
        ...documents,
        add: async (inputs: readonly DocumentInput[]) => {
          if (failure) throw failure();
          return documents.add(inputs);
        },
      },
    }),
  });
});
afterAll(() => test.close());

async function failWith(make: () => unknown) {
  failure = make;
  const response = await test.call('POST', '/v3/documents', { content: canary });
  failure = null;
  return response;
}

it('no message has the control characters and reversals of what was sent', async () => {
  const nasty = 'a\u001b[31m\u202eb\n';
  for (const [path, body] of [
    ['/v3/documents', { content: 'x', metadata: { [nasty]: 1 } }],
    [`/v3/connections/${encodeURIComponent(nasty)}`, {}],
  ] as const) {
    const { status, body: answer } = await test.call('POST', path, body);
    expect(status, path).toBe(400);
    expect(JSON.stringify(answer.error[0].message), path).toContain('a\ufffd[31m\ufffdb\ufffd');
  }
});

describe('paths', () => {
  it.each(['/_stainless_unknown_path', '/', '/v3', '/v3/documents', '/v9/x'])(
    'POST or PUT %s that is not routed is 404',
    async (path) => {
      const method = path === '/v3/documents' ? 'PUT' : 'POST';
      expect(await test.call(method, path, {})).toMatchObject({ status: 404, body: { error: 'Not found' } });
    },
  );

  it.each([
    ['GET', '/v1', 'The v1 API was removed; use /v3/documents and /v4/search', '/v3/documents'],
    ['POST', '/v1/add', 'The v1 API was removed; use /v3/documents and /v4/search', '/v3/documents'],
    ['POST', '/v3/memories', 'use /v3/documents', '/v3/documents'],
    ['DELETE', '/v3/memories/abc?x=1', 'use /v3/documents', '/v3/documents'],
    ['POST', '/v3/search', 'use POST /v4/search with searchMode "documents"', '/v4/search'],
  ] as const)('%s %s was removed', async (method, url, details, successor) => {
    const { status, body, headers } = await test.call(method, url);
    expect({ status, body }).toEqual({ status: 404, body: { error: 'Not found', details } });
    expect(headers['deprecation']).toBe('true');
    expect(headers['link']).toBe(`<${successor}>; rel="successor-version"`);
  });

  it('are removed before their body is looked at', async () => {
    const response = await test.api.inject({
      method: 'POST',
      url: '/v3/search',
      headers: { authorization, 'content-type': 'text/csv' },
      payload: 'x'.repeat(5000),
    });
    expect(response.statusCode).toBe(404);
  });

  it('may end with a slash', async () => {
    expect((await test.call('POST', '/v4/search/', { q: 'hello' })).status).toBe(200);
    expect((await test.call('GET', '/v3/session/')).status).toBe(200);
  });

  it('are percent-decoded once', async () => {
    const customId = 'folder/a%2Fb ä.txt';
    const added = await test.call('POST', '/v3/documents', { content: 'x', customId });
    const found = await test.call('GET', `/v3/documents/${encodeURIComponent(customId)}`);
    expect(found).toMatchObject({ status: 200, body: { id: added.body.id, customId } });
    expect((await test.call('GET', `/v3/documents/${encodeURIComponent(encodeURIComponent(customId))}`)).status).toBe(
      404,
    );
  });

  it.each([
    ['GET', '/v3/connections/a%00'],
    ['GET', '/v3/connections/a/sync-runs?before=%00'],
    ['GET', '/v3/container-tags/merge/a%00'],
    ['POST', '/v3/container-tags/a/inferred/%00/review'],
    ['DELETE', '/v3/auth/scoped-key/a%00'],
    ['DELETE', '/v3/connections/a%00b'],
  ] as const)('that hold what cannot be stored are 400: %s %s', async (method, url) => {
    const { status, body } = await test.call(method, url, method === 'GET' ? undefined : { action: 'undo' });
    expect([status, body.error[0].message]).toEqual([400, expect.stringContaining('must not contain')]);
  });

  it('that are no percent-encoding are 400, with a request id', async () => {
    const { status, body, headers } = await test.call('GET', '/v3/documents/%E0%A4%A');
    expect({ status, body }).toEqual({ status: 400, body: { error: 'The path is not valid percent-encoding' } });
    expect(headers['x-request-id']).toMatch(/^\S+$/);
  });
});

describe('bodies', () => {
  const send = (payload: string | Buffer, headers: Record<string, string> = json, url = '/v4/search') =>
    test.api.inject({ method: 'POST', url, headers, payload });

  it('that are not JSON are 400', async () => {
    const response = await send('{"q": "hello"');
    expect([response.statusCode, response.json()]).toEqual([400, { error: 'The body is not valid JSON' }]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'nonsense'])(
    'of type %s are 415',
    async (type) => {
      const response = await send('{"q":"hello"}', { authorization, 'content-type': type });
      expect([response.statusCode, Object.keys(response.json())]).toEqual([415, ['error']]);
    },
  );

  it('without a type are 415', async () => {
    expect((await send('{"q":"hello"}', { authorization })).statusCode).toBe(415);
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'application/vnd.api+json', 'APPLICATION/JSON'])(
    'of type %s are read',
    async (type) => {
      expect((await send('{"q":"hello"}', { authorization, 'content-type': type })).statusCode).toBe(200);
    },
  );

  it('over the limit are 413, before their type and their JSON are looked at', async () => {
    for (const headers of [json, { authorization, 'content-type': 'text/plain' }]) {
      const response = await send('x'.repeat(2001), headers);
      expect([response.statusCode, response.json()]).toEqual([413, { error: 'The body is larger than 2000 bytes' }]);
    }
    expect((await send(JSON.stringify({ q: 'x', pad: 'x'.repeat(1970) }))).statusCode).toBe(200);
  });

  it('of batches have a limit of their own', async () => {
    const body = (pad: number) => JSON.stringify({ documents: ['hello'], pad: 'x'.repeat(pad) });
    expect((await send(body(3000), json, '/v3/documents/batch')).statusCode).toBe(200);
    expect((await send(body(4000), json, '/v3/documents/batch')).statusCode).toBe(413);
  });

  it.each([
    ['none', undefined, { authorization }],
    ['an empty one', '', json],
    ['an empty one of another type', '', { authorization, 'content-type': 'application/x-www-form-urlencoded' }],
    ['spaces', '  ', json],
    ['{}', '{}', json],
    ['null', 'null', json],
  ])('may be %s where every field is optional', async (_, payload, headers) => {
    for (const url of ['/v3/documents/list', '/v3/connections/list']) {
      const response = await test.api.inject({
        method: 'POST',
        url,
        headers,
        ...(payload !== undefined && { payload }),
      });
      expect([url, response.statusCode]).toEqual([url, 200]);
    }
  });

  it('keep no character that the database cannot store', async () => {
    const content = '{"content":"a\\u0000b \\ud800 \\ud83d\\ude00","metadata":{"k":"\\u0000\\udfff"},"customId":"nul"}';
    expect((await send(content, json, '/v3/documents')).statusCode).toBe(200);
    const { body } = await test.call('GET', '/v3/documents/nul');
    expect([body.content, body.metadata]).toEqual(['ab \ufffd 😀', { k: '\ufffd' }]);
  });

  it('may be nested 100 levels deep, and no deeper', async () => {
    const nested = (levels: number) => `{"q":"x","more":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect((await send(nested(100))).statusCode).toBe(200);
    const response = await send(nested(101));
    expect([response.statusCode, response.json()]).toEqual([
      400,
      { error: 'The body is nested deeper than 100 levels' },
    ]);
  });

  it.each([
    'documents/list',
    'documents/documents',
    'documents/documents/by-ids',
    'documents/retry-failed',
    'connections/list',
  ])('of %s have tags that are checked', async (path) => {
    for (const tags of [{ containerTag: {} }, { containerTags: 5 }, { containerTags: ['a b'] }]) {
      const { status, body } = await test.call('POST', `/v3/${path}`, { ids: ['a'], ...tags });
      expect([status, body.error[0].path[0]]).toEqual([400, Object.keys(tags)[0]]);
    }
  });

  it('may not smuggle prototypes', async () => {
    expect((await send('{"q":"x","__proto__":{"limit":1}}')).statusCode).toBe(400);
  });

  it.each(['userId', 'spaces'])('with %s are refused by name', async (field) => {
    const { status, body } = await test.call('POST', '/v4/search', { q: 'x', [field]: 'me' });
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: `${field} is not supported; use containerTag (a single string)` },
    });
  });
});

describe('validation errors', () => {
  it('name every mistake and where it is, and give the input back', async () => {
    const input = { threshold: 2, containerTags: ['ok', 'not ok'], include: { documents: 'yes' } };
    const { status, body } = await test.call('POST', '/v4/search', input);
    expect({ status, body }).toEqual({
      status: 400,
      body: {
        success: false,
        error: [
          { message: 'q is required', path: ['q'] },
          {
            message: 'containerTags[1] must be 1 to 100 letters, digits, underscores, colons and hyphens',
            path: ['containerTags', 1],
          },
          { message: 'threshold must be between 0 and 1', path: ['threshold'] },
          { message: 'include.documents must be a boolean', path: ['include', 'documents'] },
        ],
        data: input,
      },
    });
  });

  it('keep names that look like numbers apart from places in arrays', async () => {
    const { body } = await test.call('POST', '/v3/documents', { content: 'x', filterByMetadata: { '7': null } });
    expect(body.error[0].path).toEqual(['filterByMetadata', '7']);
  });

  it('do not give large inputs back', async () => {
    const large = await startTestApi();
    const { body } = await large.call('POST', '/v4/search', { q: 'x'.repeat(8193) });
    expect(Object.keys(body)).toEqual(['success', 'error']);
    await large.close();
  });

  it('do not give inputs back that may hold credentials', async () => {
    const secret = { metadata: { token: canary }, documentLimit: 0 };
    const { status, body } = await test.call('POST', '/v3/connections/notion', secret);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).not.toContain(canary);
  });
});

describe('failures', () => {
  it('that nobody expected are 500 with a generic text', async () => {
    const { status, body, headers } = await failWith(() => new Error(`cannot store ${canary}`));
    expect({ status, body }).toEqual({ status: 500, body: { error: 'Internal server error' } });
    const line = test
      .logged()
      .split('\n')
      .find((text) => text.includes(String(headers['x-request-id'])));
    expect(JSON.parse(line!)).toMatchObject({ level: 50, code: 'internal', route: '/v3/documents', method: 'POST' });
  });

  it('that are known keep their text below 500, and hide it at 500', async () => {
    const conflict = await failWith(
      () => new MemorydError('conflict', 'Busy', { details: 'Wait', shouldRetry: false }),
    );
    expect(conflict).toMatchObject({ status: 409, body: { error: 'Busy', details: 'Wait' } });
    expect(conflict.headers['x-should-retry']).toBe('false');
    const transient = await failWith(() => new MemorydError('conflict', 'Busy'));
    expect(transient.headers['x-should-retry']).toBeUndefined();
    const hidden = await failWith(() => new MemorydError('index_failed', canary));
    expect(hidden).toMatchObject({ status: 500, body: { error: 'Internal server error' } });
  });

  it('say when to try again', async () => {
    const { status, headers } = await failWith(() => new MemorydError('unavailable', 'Later', { retryAfterMs: 1500 }));
    expect([status, headers['retry-after'], headers['retry-after-ms']]).toEqual([503, '2', '1500']);
    const plain = await failWith(() => new MemorydError('database_unreachable', 'No database'));
    expect([plain.status, plain.headers['retry-after']]).toEqual([503, '5']);
  });

  it('that are not even errors are 500', async () => {
    expect((await failWith(() => canary)).status).toBe(500);
    expect((await failWith(() => undefined)).status).toBe(500);
  });

  it('of the database leave no value in the log', async () => {
    const error = Object.assign(new Error(`duplicate key (${canary})`), {
      code: '23505',
      routine: '_bt_check_unique',
      constraint: 'documents_by_custom_id',
      detail: canary,
    });
    await failWith(() => error);
    expect(test.logged()).toContain('_bt_check_unique');
    const lines = test
      .logged()
      .split('\n')
      .filter((line) => line.includes('23505'));
    expect(lines.join()).not.toContain(canary);
  });
});

describe('requests', () => {
  it('have the id of the caller, or one of ours', async () => {
    const id = async (given?: string) =>
      (await test.api.inject({ url: '/health', headers: given === undefined ? {} : { 'x-request-id': given } }))
        .headers['x-request-id'];
    expect(await id('my-request-1')).toBe('my-request-1');
    for (const given of [undefined, 'with space', 'x'.repeat(129), ''])
      expect(await id(given)).toMatch(/^[1-9A-HJ-NP-Za-km-z]{22}$/);
  });

  it('are one debug line each: no content, no key, no id of a document', async () => {
    const from = test.logged().length;
    await test.call('POST', '/v3/documents', { content: canary, customId: canary, metadata: { canary } });
    await test.call('GET', `/v3/documents/${canary}?include=${canary}`);
    await test.call('POST', '/v4/search', { q: canary, threshold: 7 });
    const lines = test
      .logged()
      .slice(from)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ level, method, route, status }) => [level, method, route, status])).toEqual([
      [20, 'POST', '/v3/documents', 200],
      [20, 'GET', '/v3/documents/:id', 200],
      [20, 'POST', '/v4/search', 400],
    ]);
    const text = test.logged().slice(from);
    expect(text).not.toContain(canary);
    expect(text).not.toContain(fullKey);
  });
});

describe('over a socket', () => {
  let url: URL;
  beforeAll(async () => {
    url = new URL(await test.api.listen({ port: 0, host: '127.0.0.1' }));
  });

  it.each(['with its length', 'in chunks'])(
    'a body that is too long, sent %s, is answered with 413 and the connection lives on',
    async (how) => {
      const body = Buffer.alloc(3 * 1024 * 1024, 0x20);
      const answers = await new Promise<string[]>((resolve, reject) => {
        const socket = connect(Number(url.port), '127.0.0.1');
        let text = '';
        socket.on('error', reject);
        socket.on('data', (data) => {
          text += data.toString();
          const statuses = text.match(/HTTP\/1\.1 \d+/g) ?? [];
          if (statuses.length === 2) socket.end(() => resolve(statuses));
        });
        const head = `POST /v4/search HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n`;
        if (how === 'in chunks') {
          socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
          for (let sent = 0; sent < body.length; sent += 65536)
            socket.write(`10000\r\n${body.subarray(0, 65536).toString()}\r\n`);
          socket.write('0\r\n\r\n');
        } else {
          socket.write(`${head}content-length: ${body.length}\r\n\r\n`);
          socket.write(body);
        }
        socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
      });
      expect(answers).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
    },
  );

  it('fetch gets the 413 of an upload that is much too long', async () => {
    const response = await fetch(`${url.origin}/v3/documents`, {
      method: 'POST',
      headers: json,
      body: Buffer.alloc(8 * 1024 * 1024, 0x20),
    });
    expect([response.status, await response.json()]).toEqual([413, { error: 'The body is larger than 2000 bytes' }]);
  });

  it('DELETE takes a body', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { ...json, 'content-length': 30 };
      const sent = httpRequest(`${url.origin}/v3/connections/none`, { method: 'DELETE', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on('error', reject);
      sent.end('{"containerTags":["user_mira"]}'.slice(0, 30).padEnd(30));
    });
    expect(status).toBe(400);
    const response = await fetch(`${url.origin}/v3/connections/none`, {
      method: 'DELETE',
      headers: json,
      body: '{"containerTags":["a"]}',
    });
    expect([response.status, await response.json()]).toEqual([404, { error: 'Connection not found' }]);
  });
});
