import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawSql } from '../../src/store/sql.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
beforeAll(async () => {
  test = await startTestApi();
});
afterAll(() => test.close());

describe('POST /v3/auth/scoped-key', () => {
  it('makes a key that is shown once and works in its container', async () => {
    const { status, body } = await test.call('POST', '/v3/auth/scoped-key', {
      containerTag: 'user_mira',
      expiresInDays: 30,
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      key: expect.stringMatching(new RegExp(`^sm_${test.organization.id}_[\\w-]{43}$`)),
      id: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/),
      name: 'scoped_user_mira',
      containerTag: 'user_mira',
      containerTags: ['user_mira'],
      permission: 'write',
      expiresAt: new Date(test.clock.now().getTime() + 30 * 24 * 60 * 60 * 1000).toISOString(),
      allowedEndpoints: expect.arrayContaining(['/v3/documents', '/v4/search', '/ns', '/mcp']),
    });
    const added = await test.call('POST', '/v3/documents', { content: 'hello' }, body.key);
    expect(added.status).toBe(200);
    const stored = JSON.stringify(await test.database.query(rawSql('select * from api_keys')));
    expect(stored).not.toContain(body.key.slice(-30));
    expect(JSON.stringify((await test.call('GET', '/v3/auth/keys')).body)).not.toContain(body.key.slice(-30));
  });

  it('takes several containers, a permission, a name and a rate limit', async () => {
    const { body } = await test.call('POST', '/v3/auth/scoped-key', {
      containerTags: ['a', 'b', 'a'],
      permission: 'read',
      name: 'reports',
      rateLimitMax: 7,
      rateLimitTimeWindow: 1000,
    });
    expect(body).toMatchObject({
      containerTags: ['a', 'b'],
      containerTag: 'a',
      permission: 'read',
      name: 'reports',
      expiresAt: null,
    });
    const session = await test.call('GET', '/v3/session', undefined, body.key);
    expect(session.body).toMatchObject({
      role: 'member',
      accessType: 'restricted',
      containerTags: [
        { containerTag: 'a', permission: 'read' },
        { containerTag: 'b', permission: 'read' },
      ],
      scope: { type: 'scoped', permission: 'read', tags: ['a', 'b'], rateLimit: { max: 7, timeWindow: 1000 } },
    });
  });

  it('needs a container and never sends the input back', async () => {
    const { status, body } = await test.call('POST', '/v3/auth/scoped-key', { name: 'x' });
    expect({ status, body }).toEqual({
      status: 400,
      body: { success: false, error: [{ message: 'containerTag is required', path: ['containerTag'] }] },
    });
  });
});

describe('POST /v3/auth/agent-key', () => {
  it('makes a full key without containers', async () => {
    const { body } = await test.call('POST', '/v3/auth/agent-key', { name: 'agent' });
    expect(body).toEqual({
      id: expect.any(String),
      name: 'agent',
      key: expect.stringMatching(/^sm_/),
      permission: 'write',
    });
    expect((await test.call('GET', '/v3/auth/keys', undefined, body.key)).status).toBe(200);
  });

  it('makes a scoped key with containers', async () => {
    const { body } = await test.call('POST', '/v3/auth/agent-key', {
      name: 'agent',
      containerTags: ['a'],
      permission: 'read',
    });
    expect(body).toMatchObject({ containerTags: ['a'], permission: 'read' });
    expect((await test.call('POST', '/v3/documents', { content: 'x' }, body.key)).status).toBe(403);
  });
});

describe('GET /v3/auth/keys', () => {
  it('lists what is known of each, newest first', async () => {
    test.clock.advance(1_000);
    await test.newKey({ name: 'second', containerTags: ['a'], permission: 'read' });
    const { body } = await test.call('GET', '/v3/auth/keys');
    expect(body.keys.at(-1).name).toBe('configured key');
    expect(body.keys[0]).toEqual({
      id: expect.any(String),
      name: 'second',
      start: expect.stringMatching(/^sm_.{5}$/),
      kind: 'scoped',
      permission: 'read',
      containerTags: ['a'],
      enabled: true,
      createdAt: test.clock.now().toISOString(),
      lastUsedAt: null,
      expiresAt: null,
      rateLimitMax: 500,
      rateLimitTimeWindow: 60_000,
      quota: { documents: null, bytes: null },
      usage: null,
    });
  });
});

describe('DELETE /v3/auth/scoped-key/{id}', () => {
  it('ends a key of any kind', async () => {
    const key = await test.newKey();
    const { id } = (await test.call('GET', '/v3/session', undefined, key)).body.user;
    expect(await test.call('DELETE', `/v3/auth/scoped-key/${id}`)).toMatchObject({
      status: 200,
      body: { success: true, id },
    });
    expect((await test.call('GET', '/v3/session', undefined, key)).status).toBe(401);
    expect((await test.call('DELETE', `/v3/auth/scoped-key/${id}`)).status).toBe(404);
  });

  it('does not end the one in use', async () => {
    const { id } = (await test.call('GET', '/v3/session')).body.user;
    const { status, headers } = await test.call('DELETE', `/v3/auth/scoped-key/${id}`);
    expect({ status, retry: headers['x-should-retry'] }).toEqual({ status: 409, retry: 'false' });
    expect((await test.call('GET', '/v3/session', undefined, fullKey)).status).toBe(200);
  });
});

describe('the key routes', () => {
  const routes = [
    ['POST', '/v3/auth/scoped-key', { containerTag: 'a' }],
    ['POST', '/v3/auth/agent-key', { name: 'x' }],
    ['GET', '/v3/auth/keys', undefined],
    ['DELETE', '/v3/auth/scoped-key/x', undefined],
    ['PUT', '/v3/auth/keys/x/toggle', undefined],
  ] as const;

  it.each(routes)('%s %s is for full keys that may write', async (method, url, body) => {
    const scoped = await test.newKey({ containerTags: ['a'] });
    const readOnly = await test.newKey({ permission: 'read' });
    for (const key of [scoped, readOnly]) {
      const response = await test.call(method, url, body, key);
      expect(response).toMatchObject({ status: 403, body: { error: expect.any(String) } });
    }
  });

  it.each(['PUT /v3/auth/keys/none/toggle', 'DELETE /v3/auth/scoped-key/none'])('%s is 404', async (route) => {
    const [method, url] = route.split(' ') as ['PUT', string];
    expect(await test.call(method, url)).toMatchObject({ status: 404, body: { error: 'Key not found' } });
  });
});
