import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullKey, publicUrl, startTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
beforeAll(async () => {
  test = await startTestApi({ config: { publicUrl, allowedHosts: ['mem.lan.example', '*.team.example'] } });
});
afterAll(() => test.close());

const authorization = `Bearer ${fullKey}`;
const send = (key: string, remoteAddress = '192.0.2.7') =>
  test.api.inject({ url: '/v3/session', headers: { authorization: `Bearer ${key}` }, remoteAddress });

describe('the name by which the daemon is reached', () => {
  it.each([
    ['127.0.0.1:6767', 200],
    ['[::1]:6767', 200],
    ['192.168.1.20', 200],
    ['localhost', 200],
    ['memoryd:6767', 200],
    ['app.localhost:6767', 200],
    ['memory.example.com', 200],
    ['MEM.lan.example', 200],
    ['a.team.example', 200],
    ['team.example', 403],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['memory.example.com.evil.example', 403],
    ['localhost@evil.example', 403],
  ])('%s: %i', async (host, status) => {
    for (const url of ['/v3/session', '/health', '/docs/', '/mcp', '/nowhere']) {
      const answer = await test.api.inject({ url, headers: { host, authorization } });
      if (status === 403) expect([url, answer.statusCode]).toEqual([url, 403]);
      else expect(answer.statusCode, url).not.toBe(403);
    }
  });
});

describe('every answer', () => {
  it.each(['/health', '/docs/', '/openapi.json', '/v3/session', '/nowhere', '/v3/hooks/none'])(
    'of %s can be neither guessed at nor framed',
    async (url) => {
      const { headers } = await test.api.inject({ url, headers: { authorization } });
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      });
    },
  );
});

describe('MCP', () => {
  const ping = (origin?: string) =>
    test.api.inject({
      method: 'POST',
      url: '/mcp',
      headers: { authorization, host: 'localhost:6767', ...(origin === undefined ? {} : { origin }) },
      payload: { jsonrpc: '2.0', id: 1, method: 'ping' },
    });

  it('answers programs and its own pages, and no page of another origin', async () => {
    expect((await ping()).statusCode).toBe(200);
    expect((await ping('http://localhost:6767')).statusCode).toBe(200);
    for (const origin of ['https://evil.example', 'http://localhost:8080', 'null'])
      expect((await ping(origin)).statusCode, origin).toBe(403);
  });
});

describe('wrong keys', () => {
  it('cost growing pauses by address, and never lock out a right one', async () => {
    for (let count = 0; count < 10; count++) expect((await send(`wrong ${count}`)).statusCode).toBe(401);
    const pauses: number[] = [];
    for (let count = 0; count < 8; count++) {
      const answer = await send(`wrong again ${count}`);
      expect(answer.statusCode).toBe(429);
      pauses.push(Number(answer.headers['retry-after']));
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect((await send(fullKey)).statusCode).toBe(200);
    expect((await send('wrong', '192.0.2.8')).statusCode).toBe(401);
  });

  it('are counted by network where an address has 2^64 of them', async () => {
    for (let host = 1; host <= 10; host++) await send('wrong', `2001:db8::1:${host}`);
    expect((await send('wrong', '2001:db8::99')).statusCode).toBe(429);
    expect((await send('wrong', '2001:db8:0:1::1')).statusCode).toBe(401);
  });

  it('are forgiven in quiet times', async () => {
    for (let count = 0; count < 12; count++) await send('wrong', '192.0.2.9');
    expect((await send('wrong', '192.0.2.9')).statusCode).toBe(429);
    test.clock.advance(20 * 60_000);
    expect((await send('wrong', '192.0.2.9')).statusCode).toBe(401);
  });
});

describe('the security log', () => {
  /** Events are noted when an answer has gone out, and stored some time later. */
  const events = async (query: string, least = 1) => {
    let found: any[] = [];
    await expect
      .poll(async () => {
        test.clock.advance(2_000);
        found = (await test.call('GET', `/v3/audit?${query}`)).body.events;
        return found.length;
      })
      .toBeGreaterThanOrEqual(least);
    return found;
  };

  it('says who made, rotated and ended which key', async () => {
    const made = await test.call('POST', '/v3/auth/scoped-key', { containerTag: 'audited', name: 'for a test' });
    const rotated = await test.call('POST', `/v3/auth/keys/${made.body.id}/rotate`, { overlapHours: 1 });
    await test.call('DELETE', `/v3/auth/scoped-key/${rotated.body.id}`);
    await events('action=key.delete');
    const found = (await events('limit=100')).filter(({ action }) => action.startsWith('key.'));
    expect(found.slice(0, 3)).toMatchObject([
      { action: 'key.delete', outcome: 'done', target: rotated.body.id, keyName: 'configured key' },
      { action: 'key.rotate', outcome: 'done', target: `${made.body.id} ${rotated.body.id}` },
      { action: 'key.create', outcome: 'done', target: made.body.id, address: '127.0.0.1' },
    ]);
    for (const { body } of [made, rotated]) {
      expect(JSON.stringify(found)).not.toContain(body.key);
      expect(test.logged()).not.toContain(body.key);
    }
  });

  it('says who changed what a container may hold, and who had content erased', async () => {
    await test.call('PATCH', '/v3/container-tags/audited', { quota: { documents: 5 } });
    const erased = await test.call('POST', '/v3/erasures', { containerTag: 'audited', rewrite: false });
    expect(await events('action=container.change')).toMatchObject([{ outcome: 'done', target: 'audited' }]);
    expect(await events('action=erasure')).toMatchObject([{ outcome: 'done', target: erased.body.id }]);
  });

  it('loses no event beside a request that names what cannot be stored', async () => {
    const long = encodeURIComponent(`${'x'.repeat(199)}🦊`);
    await test.call('DELETE', '/v3/documents/nul%00here');
    await test.call('DELETE', `/v3/documents/${long}`);
    await test.call('PATCH', '/v3/container-tags/beside', { quota: { documents: 5 } });
    const deleted = await events('action=document.delete&limit=2', 2);
    expect(deleted.map(({ target }) => target)).toEqual([`${'x'.repeat(199)}\ufffd`, 'nulhere']);
    const changed = await events('action=container.change');
    expect(changed.map(({ target }) => target)).toContain('beside');
  });

  it('says which keys were nobody’s, whatever was asked with them', async () => {
    await test.call('POST', '/v3/auth/scoped-key', { containerTag: 'audited' }, 'wrong');
    await test.call('GET', '/v3/session', undefined, 'wrong');
    await test.call('POST', '/console/session', { key: 'wrong' });
    const refused = { outcome: 'denied', status: 401, keyId: null, address: '127.0.0.1', count: 1 };
    const found = () => events('action=key.wrong&limit=2');
    await expect.poll(found).toMatchObject([
      { ...refused, target: 'GET /v3/session' },
      { ...refused, target: 'POST /v3/auth/scoped-key' },
    ]);
    expect(await events('action=console.sign-in&outcome=denied')).toMatchObject([refused]);
  });

  it('says what was denied, and counts what comes again', async () => {
    const reader = await test.newKey({ permission: 'read', containerTags: ['audited'] });
    for (let count = 0; count < 5; count++) await test.call('GET', '/v3/audit', undefined, reader);
    await test.call('DELETE', '/v3/container-tags/audited', undefined, reader);
    await events('action=container.delete&outcome=denied');
    // At once, not when the next one comes.
    await expect
      .poll(() => events('outcome=denied&limit=2'))
      .toMatchObject([{ action: 'container.delete' }, { target: 'GET /v3/audit', count: 5 }]);
    test.clock.advance(61_000);
    await test.call('GET', '/v3/audit', undefined, reader);
    await expect
      .poll(() => events('outcome=denied&limit=3'))
      .toMatchObject([
        { target: 'GET /v3/audit', status: 403, count: 1 },
        { action: 'container.delete', target: 'audited', outcome: 'denied', status: 403 },
        { target: 'GET /v3/audit', status: 403, count: 5 },
      ]);
  });

  it('counts wrong keys of the last day, however many other requests were denied', async () => {
    test.clock.advance(25 * 60 * 60_000);
    const count = async (query = '') => (await test.call('GET', `/v3/audit/wrong-keys${query}`)).body;
    expect(await count()).toEqual({ count: 0, addresses: [], addressCount: 0 });
    const since = test.clock.now().toISOString();
    test.clock.advance(1_000);
    for (let given = 0; given < 3; given++) await test.call('GET', '/v3/session', undefined, 'wrong');
    await test.call('POST', '/console/session', { key: 'wrong' });
    const reader = await test.newKey({ permission: 'read', containerTags: ['audited'] });
    await test.call('GET', '/v3/audit/wrong-keys', undefined, reader);
    const all = { count: 4, addresses: ['127.0.0.1'], addressCount: 1 };
    await expect
      .poll(async () => {
        test.clock.advance(2_000);
        return count();
      })
      .toEqual(all);
    expect(await count(`?since=${since}`)).toEqual(all);
    expect(await count(`?since=${test.clock.now().toISOString()}`)).toMatchObject({ count: 0 });
    expect(await test.call('GET', '/v3/audit/wrong-keys?since=soon')).toMatchObject({ status: 400 });
    expect(await test.call('GET', '/v3/audit/wrong-keys', undefined, reader)).toMatchObject({ status: 403 });
  });

  it('has pages', async () => {
    const first = (await test.call('GET', '/v3/audit?limit=2')).body;
    const second = (await test.call('GET', `/v3/audit?limit=2&cursor=${first.next}`)).body;
    expect(first.events).toHaveLength(2);
    expect(second.events[0].id < first.events[1].id).toBe(true);
  });
});

describe('a key that is rotated', () => {
  it('works on until the overlap is over, and the new one may do the same', async () => {
    const { body: made } = await test.call('POST', '/v3/auth/scoped-key', { containerTag: 'turned' });
    const { body: rotated } = await test.call('POST', `/v3/auth/keys/${made.id}/rotate`, { overlapHours: 2 });
    const session = async (key: string) => (await test.call('GET', '/v3/session', undefined, key)).status;
    expect([await session(made.key), await session(rotated.key)]).toEqual([200, 200]);
    expect(rotated.containerTags).toEqual(['turned']);
    test.clock.advance(2 * 60 * 60_000 + 1);
    expect([await session(made.key), await session(rotated.key)]).toEqual([401, 200]);
  });

  it('is not the one of the configuration', async () => {
    const { body } = await test.call('GET', '/v3/auth/keys');
    const configured = body.keys.find((key: { name: string }) => key.name === 'configured key');
    expect((await test.call('POST', `/v3/auth/keys/${configured.id}/rotate`, {})).status).toBe(409);
  });
});
