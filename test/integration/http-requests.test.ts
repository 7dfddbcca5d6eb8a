import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ConnectorError } from '../../src/connector/contract.ts';
import { answer, createImpatientClock } from '../support/http-source.ts';
import { useHttp } from '../support/http-stand.ts';

const { serve, open } = useHttp('pglite', { connectionId: null });

async function errorOf(call: Promise<unknown>): Promise<ConnectorError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!ConnectorError.is(error)) throw new Error(`No connector's error: ${String(error)}`, { cause: error });
  return error;
}

describe('a request', () => {
  it('carries query, headers and a JSON body, and gives the parsed answer', async () => {
    const source = await serve((_, response) => answer(response, 201, { id: 7 }, { 'X-Page': '2' }));
    const { http } = await open();
    const result = await http.post(`${source.url}/notes?a=1`, {
      query: { b: true, none: undefined, c: 'é&' },
      headers: { 'X-Own': 'yes' },
      json: { title: 'ä' },
    });
    expect(source.requests).toMatchObject([
      {
        method: 'POST',
        url: '/notes?a=1&b=true&c=%C3%A9%26',
        headers: { 'x-own': 'yes', 'content-type': 'application/json', 'user-agent': 'memoryd acme' },
        body: '{"title":"ä"}',
      },
    ]);
    expect(result).toMatchObject({ status: 201, json: { id: 7 }, headers: { 'x-page': '2' } });
    expect(result.text()).toBe('{"id":7}');
  });

  it('takes an answer without JSON as text and bytes, and says so when JSON is asked for', async () => {
    const source = await serve((_, response) => response.end('secret text'));
    const { http } = await open();
    const result = await http.get(`${source.url}/v1/notes/42`);
    expect(result.text()).toBe('secret text');
    expect(() => result.json).toThrow(/^GET 127\.0\.0\.1:\d+\/v1\/notes\/\* answered with something that is not JSON$/);
  });

  it.each([
    [400, 'transient'],
    [403, 'forbidden'],
    [404, 'gone'],
    [410, 'gone'],
    [409, 'transient'],
    [304, 'transient'],
  ])('throws for the status %i what it means', async (status, kind) => {
    const source = await serve((_, response) => response.writeHead(status).end());
    const { http } = await open();
    const error = await errorOf(http.get(`${source.url}/a`));
    expect(error).toMatchObject({ kind, message: `GET 127.0.0.1:${source.port}/a answered ${status}` });
    expect(source.requests).toHaveLength(1);
  });

  it('gives answers of the statuses that the connector accepts', async () => {
    const source = await serve((_, response) => answer(response, 404, { no: 1 }));
    const { http } = await open();
    expect(await http.get(`${source.url}/a`, { accept: [200, 404] })).toMatchObject({ status: 404, json: { no: 1 } });
  });

  it('lets the connector say what an answer means', async () => {
    const source = await serve((request, response) => answer(response, 400, { reason: request.url.slice(1) }));
    const { http } = await open({
      spec: {
        classify: ({ status, json }) => {
          if (json().reason === 'broken') throw new SyntaxError('quotes the body');
          return status === 400 && json().reason === 'expired'
            ? { kind: 'cursor_expired', remedy: 'Wait.' }
            : undefined;
        },
      },
    });
    expect(await errorOf(http.get(`${source.url}/expired`))).toMatchObject({ kind: 'cursor_expired', remedy: 'Wait.' });
    expect(await errorOf(http.get(`${source.url}/other`))).toMatchObject({ kind: 'transient' });
    expect(await errorOf(http.get(`${source.url}/broken`))).toMatchObject({ kind: 'transient' });
  });

  it('refuses what is no address, without showing it', async () => {
    const { http } = await open();
    const error = await errorOf(http.get('api.example.com/canary-1234567890'));
    expect(error.kind).toBe('bad_config');
    expect(error.message).not.toContain('canary');
  });
});

describe('a compressed answer', () => {
  const text = 'compressed '.repeat(1_000);
  it.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['identity', Buffer.from(text)],
  ])('in %s is read', async (coding, bytes) => {
    const source = await serve((_, response) => response.writeHead(200, { 'content-encoding': coding }).end(bytes));
    const { http } = await open();
    const result = await http.get(source.url);
    expect(result.text()).toBe(text);
    expect(result.headers['content-encoding']).toBeUndefined();
    expect(source.requests[0]!.headers['accept-encoding']).toBe('gzip, deflate, br');
  });

  it('in a coding that nobody asked for, or damaged, is an error', async () => {
    const source = await serve((request, response) =>
      response.writeHead(200, { 'content-encoding': request.url === '/a' ? 'zeta' : 'gzip' }).end('abc'),
    );
    const { http } = await open();
    expect((await errorOf(http.get(`${source.url}/a`))).message).toContain('the coding zeta');
    expect((await errorOf(http.get(`${source.url}/b`))).message).toContain('damaged gzip data');
  });
});

describe('an answer that is too large', () => {
  it('is not read when it says so', async () => {
    let closed = false;
    const source = await serve((_, response) => {
      response.on('close', () => (closed = true));
      response.writeHead(200, { 'content-length': '5000' }).write('x');
    });
    const { http } = await open();
    const error = await errorOf(http.get(source.url, { maxBytes: 1_000 }));
    expect(error).toMatchObject({ kind: 'skip', skip: 'too_large' });
    await expect.poll(() => closed).toBe(true);
  });

  it('is left at the first byte too many when it does not say so', async () => {
    let written = 0;
    const source = await serve((_, response) => {
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1_000))) written += 1_000;
      };
      response.on('drain', write);
      write();
    });
    const { http } = await open();
    expect(await errorOf(http.get(source.url, { maxBytes: 10_000 }))).toMatchObject({ skip: 'too_large' });
    expect(written).toBeLessThan(50_000_000);
  });

  it('is found when only its decoded form is', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    const source = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    const { http } = await open();
    expect(bomb.length).toBeLessThan(10_000);
    expect(await errorOf(http.get(source.url, { maxBytes: 10_000 }))).toMatchObject({ skip: 'too_large' });
  });

  it('is no matter when it is an error', async () => {
    const source = await serve((_, response) => response.writeHead(404).end('x'.repeat(5_000)));
    const { http } = await open();
    expect(await errorOf(http.get(source.url, { maxBytes: 10 }))).toMatchObject({ kind: 'gone' });
  });

  it('may be exactly as large as allowed', async () => {
    const source = await serve((_, response) => response.end('x'.repeat(100)));
    const { http } = await open();
    expect((await http.get(source.url, { maxBytes: 100 })).bytes).toHaveLength(100);
  });
});

describe('a failing source', () => {
  it('is asked again at most three times, after growing pauses', async () => {
    const source = await serve((_, response) => response.writeHead(500).end());
    const { http, clock, metrics } = await open();
    expect(await errorOf(http.get(source.url))).toMatchObject({ kind: 'transient' });
    expect(source.requests).toHaveLength(4);
    expect(clock.slept).toEqual([375, 750, 1_500]);
    expect(metrics.read('memoryd_source_repeats_total', { provider: 'acme', reason: 'status' })).toBe(3);
  });

  it.each([0, 0.999])('pauses by chance (%d)', async (chance) => {
    const source = await serve((_, response, count) => answer(response, count === 1 ? 503 : 200));
    const { http, clock } = await open({ random: () => chance });
    await http.get(source.url);
    expect(clock.slept[0]).toBeGreaterThanOrEqual(250);
    expect(clock.slept[0]).toBeLessThan(500);
    expect(clock.slept[0]! < 260).toBe(chance === 0);
  });

  it('that recovers is served', async () => {
    const source = await serve((request, response, count) => {
      if (count === 1) return response.destroy();
      if (count === 2) return response.writeHead(502).end();
      if (count === 3)
        return void response.writeHead(200, { 'content-length': '10' }).write('1', () => response.destroy());
      return answer(response, 200, { method: request.method });
    });
    const { http } = await open();
    expect(await http.get(source.url)).toMatchObject({ json: { method: 'GET' } });
  });

  it('is not asked twice what may not be done twice', async () => {
    const source = await serve((request, response) =>
      request.url === '/reset' ? response.destroy() : response.writeHead(500).end(),
    );
    const { http } = await open();
    for (const path of ['/reset', '/fail']) {
      source.requests.length = 0;
      expect(await errorOf(http.post(source.url + path, { json: {} }))).toMatchObject({ kind: 'transient' });
      expect(source.requests).toHaveLength(1);
    }
    source.requests.length = 0;
    await errorOf(http.post(`${source.url}/fail`, { json: {}, idempotent: true }));
    expect(source.requests).toHaveLength(4);
  });

  it('that is not there at all is tried again for every method', async () => {
    const source = await serve(() => {});
    await source.close();
    const { http, clock } = await open();
    const error = await errorOf(http.post(source.url, { json: {} }));
    expect(error).toMatchObject({ kind: 'transient', message: `POST 127.0.0.1:${source.port}/ failed: ECONNREFUSED` });
    expect(clock.slept).toHaveLength(3);
  });

  it('that does not answer is given up', async () => {
    const source = await serve(() => {});
    const { http } = await open();
    const error = await errorOf(http.get(source.url, { timeoutMs: 50, idempotent: false }));
    expect(error).toMatchObject({ kind: 'transient', message: expect.stringContaining('did not answer within 50 ms') });
  });

  it('that falls silent in the middle is given up', async () => {
    const source = await serve((_, response) => void response.writeHead(200).write('begin'));
    const { http } = await open();
    const error = await errorOf(http.get(source.url, { idleTimeoutMs: 50, idempotent: false }));
    expect(error).toMatchObject({ kind: 'transient', message: expect.stringContaining('UND_ERR_BODY_TIMEOUT') });
  });
});

describe('an abort', () => {
  it('ends a request that waits for its answer', async () => {
    const stop = new AbortController();
    const source = await serve(() => stop.abort(new Error('the run is over')));
    const { http } = await open({ signal: stop.signal });
    await expect(http.get(source.url)).rejects.toThrow('the run is over');
    await expect(http.get(source.url)).rejects.toThrow('the run is over');
    expect(source.requests).toHaveLength(1);
  });

  it('ends the pause before a repetition', async () => {
    const stop = new AbortController();
    const source = await serve((_, response) => response.writeHead(500).end());
    const clock = createImpatientClock();
    clock.sleep = async () => stop.abort(new Error('the run is over'));
    const { http } = await open({ signal: stop.signal, clock });
    await expect(http.get(source.url)).rejects.toThrow('the run is over');
    expect(source.requests).toHaveLength(1);
  });

  it('leaves nothing on the signal of the run', async () => {
    const stop = new AbortController();
    const source = await serve((_, response) => answer(response, 200));
    const { http } = await open({ signal: stop.signal });
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    await Promise.all(Array.from({ length: 60 }, () => http.get(source.url)));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });
});

describe('a redirect', () => {
  it('is followed, with the method that the status asks for', async () => {
    const source = await serve((request, response) => {
      const [, status] = /^\/from\/(\d+)/.exec(request.url) ?? [];
      if (status === undefined) return answer(response, 200, { method: request.method, body: request.body });
      return response.writeHead(Number(status), { location: '/to?x=1' }).end();
    });
    const { http } = await open();
    const post = async (status: number) => (await http.post(`${source.url}/from/${status}`, { json: { a: 1 } })).json;
    expect(await post(302)).toEqual({ method: 'GET', body: '' });
    expect(await post(303)).toEqual({ method: 'GET', body: '' });
    expect(await post(307)).toEqual({ method: 'POST', body: '{"a":1}' });
    expect(await post(308)).toEqual({ method: 'POST', body: '{"a":1}' });
    expect(source.requests.filter(({ url }) => url === '/to?x=1')).toHaveLength(4);
  });

  it('is followed no more than five times', async () => {
    const source = await serve((_, response, count) => response.writeHead(302, { location: `/${count}` }).end());
    const { http } = await open();
    expect((await errorOf(http.get(source.url))).message).toContain('redirected more than 5 times');
    expect(source.requests).toHaveLength(6);
  });

  it('to another host does not take a body along', async () => {
    const other = await serve((_, response) => answer(response, 200));
    const source = await serve((_, response) => response.writeHead(307, { location: other.url }).end());
    const { http } = await open();
    expect((await errorOf(http.post(source.url, { json: {} }))).message).toContain('another host');
    expect(other.requests).toEqual([]);
  });

  it('to something that is not HTTP is refused', async () => {
    const source = await serve((_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());
    const { http } = await open();
    expect(await errorOf(http.get(source.url))).toMatchObject({ kind: 'forbidden' });
  });

  it('without a location is an answer', async () => {
    const source = await serve((_, response) => response.writeHead(302).end());
    const { http } = await open();
    expect(await errorOf(http.get(source.url))).toMatchObject({ kind: 'transient' });
  });
});

describe('connections', () => {
  it('are kept, and only so many are open to one host', async () => {
    let inside = 0;
    let most = 0;
    const sockets = new Set<unknown>();
    const waiting: (() => void)[] = [];
    const source = await serve(async (_, response) => {
      sockets.add(response.socket);
      most = Math.max(most, ++inside);
      // Nobody is answered before three ask at once.
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 3) for (const wake of waiting.splice(0)) setImmediate(wake);
      });
      inside -= 1;
      answer(response, 200);
    });
    const { http } = await open({ connectionsPerHost: 3 });
    await Promise.all(Array.from({ length: 30 }, () => http.get(source.url)));
    expect(most).toBe(3);
    expect(sockets.size).toBe(3);
  });
});
