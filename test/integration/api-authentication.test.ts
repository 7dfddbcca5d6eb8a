import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureFirstKey, ensureOrganization } from '../../src/account/organization.ts';
import { createKeys } from '../../src/account/keys.ts';
import { silentLogger } from '../../src/base/log.ts';
import { deleteApiKey, findApiKeyByHash, listApiKeys, toggleApiKey } from '../../src/store/api-keys.ts';
import { fullKey, localToken, startTestApi, type TestApi } from '../support/api.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';

let test: TestApi;
beforeAll(async () => {
  test = await startTestApi();
});
afterAll(() => test.close());

const probe = (headers: Record<string, string>, url = '/v3/session') => test.api.inject({ url, headers });

describe('the bearer credential', () => {
  it.each([
    ['no header', {}],
    ['another scheme', { authorization: `Basic ${fullKey}` }],
    ['no key', { authorization: 'Bearer ' }],
    ['an unknown key', { authorization: 'Bearer sm_x_unknown' }],
    ['two spaces and an unknown key', { authorization: 'Bearer  x' }],
    ['x-api-key', { 'x-api-key': fullKey }],
    ['x-supermemory-api-key', { 'x-supermemory-api-key': fullKey }],
    ['x-sm-user-id', { 'x-sm-user-id': 'me' }],
    ['a cookie', { cookie: `authorization=${fullKey}` }],
  ])('is refused with %s', async (_, headers) => {
    const response = await probe(headers);
    expect(response.statusCode).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(response.json()).toEqual({ error: expect.any(String) });
  });

  it('is not read from the query', async () => {
    expect((await probe({}, `/v3/session?api_key=${fullKey}&authorization=Bearer%20${fullKey}`)).statusCode).toBe(401);
  });

  it.each(['Bearer', 'bearer', 'BEARER'])('is accepted with the scheme written %s, trimmed', async (scheme) => {
    expect((await probe({ authorization: `${scheme} ${fullKey} ` })).statusCode).toBe(200);
  });

  it('may be a key with spaces', async () => {
    const { database, clock, organization } = test;
    await ensureFirstKey({ database, clock, organization }, 'My API Key');
    expect((await probe({ authorization: 'Bearer My API Key' })).statusCode).toBe(200);
    await ensureFirstKey({ database, clock, organization }, fullKey);
  });

  it('may be the local token, which is a full key', async () => {
    const { status, body } = await test.call('GET', '/v3/session', undefined, localToken);
    expect({ status, access: body.accessType, role: body.role }).toEqual({
      status: 200,
      access: 'full',
      role: 'owner',
    });
  });

  it('may come as x-api-key when the operator allows it', async () => {
    const lenient = await startTestApi({ config: { compat: ['api-key-header'] } });
    const status = async (key: string) =>
      (await lenient.api.inject({ url: '/v3/session', headers: { 'x-api-key': key } })).statusCode;
    expect([await status(fullKey), await status('wrong')]).toEqual([200, 401]);
    await lenient.close();
  });

  it('comes before everything else: unknown and removed paths, bodies', async () => {
    for (const url of ['/_stainless_unknown_path', '/v1/add', '/v3/search']) {
      expect((await probe({}, url)).statusCode).toBe(401);
    }
    const wrongBody = await test.api.inject({ method: 'POST', url: '/v4/search', payload: 'not json' });
    expect(wrongBody.statusCode).toBe(401);
  });

  it.each(['/', '/health', '/ready', '/openapi.json', '/v3/openapi', '/v4/openapi'])(
    'is not asked for at %s',
    async (url) => {
      expect((await probe({}, url)).statusCode).toBe(200);
    },
  );
});

describe('a key', () => {
  it('stops working when it expires', async () => {
    const key = await test.newKey({ expiresAt: new Date(test.clock.now().getTime() + 60_000) });
    expect((await test.call('GET', '/v3/session', undefined, key)).status).toBe(200);
    test.clock.advance(60_000);
    expect((await test.call('GET', '/v3/session', undefined, key)).status).toBe(401);
  });

  it('stops working at once when it is turned off here, and works again when it is turned on', async () => {
    const key = await test.newKey();
    const { body: session } = await test.call('GET', '/v3/session', undefined, key);
    for (const [enabled, status] of [
      [false, 401],
      [true, 200],
    ] as const) {
      expect((await test.call('PUT', `/v3/auth/keys/${session.user.id}/toggle`)).body).toEqual({
        id: session.user.id,
        enabled,
      });
      expect((await test.call('GET', '/v3/session', undefined, key)).status).toBe(status);
    }
  });

  it('stops working within seconds when another process turns it off', async () => {
    const key = await test.newKey();
    const { body: session } = await test.call('GET', '/v3/session', undefined, key);
    await toggleApiKey(test.database, session.user.id);
    test.clock.advance(5_000);
    expect((await test.call('GET', '/v3/session', undefined, key)).status).toBe(401);
  });

  it('is read from the database once in a while, not at every request', async () => {
    const key = await test.newKey();
    const { body: session } = await test.call('GET', '/v3/session', undefined, key);
    await deleteApiKey(test.database, session.user.id);
    expect((await test.call('GET', '/v3/session', undefined, key)).status).toBe(200);
  });
});

describe('keys', () => {
  async function open() {
    const { database, close } = await openTestDatabase();
    const clock = createTestClock();
    const organization = await ensureOrganization({ database, clock }, 'Local Team');
    const keys = createKeys({ database, clock, log: silentLogger, organization });
    return { database, clock, organization, keys, close };
  }

  it('belong to an organization that is made once', async () => {
    const { database, clock, organization, close } = await open();
    expect(organization).toMatchObject({ slug: 'local-team', name: 'Local Team' });
    expect(await ensureOrganization({ database, clock }, 'Another')).toEqual(organization);
    await close();
  });

  it('are generated once, in the documented form, and stored as a hash', async () => {
    const { database, clock, organization, keys, close } = await open();
    const key = await ensureFirstKey({ database, clock, organization });
    expect(key).toMatch(new RegExp(`^sm_${organization.id}_[A-Za-z0-9_-]{43}$`));
    expect(await ensureFirstKey({ database, clock, organization })).toBeNull();
    const [row] = await listApiKeys(database);
    expect(row).toMatchObject({ kind: 'full', permission: 'write', prefix: key!.slice(0, 8), enabled: true });
    expect(row!.hash).toBe(createHash('sha256').update(key!).digest('hex'));
    expect(JSON.stringify(row)).not.toContain(key!.slice(-20));
    expect(await keys.authenticate(key!)).toMatchObject({ keyId: row!.id, kind: 'full', permission: 'write' });
    await close();
  });

  it('generate only one when several processes start together', async () => {
    const { database, clock, organization, close } = await open();
    const made = await Promise.all(Array.from({ length: 4 }, () => ensureFirstKey({ database, clock, organization })));
    expect(made.filter((key) => key !== null)).toHaveLength(1);
    expect(await listApiKeys(database)).toHaveLength(1);
    await close();
  });

  it('take the configured one, and only that one when it changes', async () => {
    const { database, clock, organization, keys, close } = await open();
    const dependencies = { database, clock, organization };
    expect(await ensureFirstKey(dependencies, 'first configured key')).toBeNull();
    await ensureFirstKey(dependencies, 'first configured key');
    await ensureFirstKey(dependencies, 'second configured key');
    expect(await keys.authenticate('second configured key')).toMatchObject({ kind: 'full' });
    expect(await keys.authenticate('first configured key')).toBeNull();
    expect(await listApiKeys(database)).toHaveLength(1);
    await close();
  });

  it('take a generated key that is configured later as it is', async () => {
    const { database, clock, organization, keys, close } = await open();
    const generated = await ensureFirstKey({ database, clock, organization });
    await ensureFirstKey({ database, clock, organization }, generated!);
    expect(await keys.authenticate(generated!)).toMatchObject({ kind: 'full' });
    expect(await listApiKeys(database)).toHaveLength(1);
    await close();
  });

  it('remember their last use, at most once a minute', async () => {
    const { database, clock, organization, keys, close } = await open();
    const key = (await ensureFirstKey({ database, clock, organization }))!;
    const hash = createHash('sha256').update(key).digest('hex');
    const lastUse = async () => (await findApiKeyByHash(database, hash))!.lastUsedAt;
    const firstUse = clock.now();
    await keys.authenticate(key);
    await keys.close();
    expect(await lastUse()).toEqual(firstUse);
    clock.advance(59_000);
    await keys.authenticate(key);
    await keys.close();
    expect(await lastUse()).toEqual(firstUse);
    clock.advance(1_000);
    await keys.authenticate(key);
    await keys.close();
    expect(await lastUse()).toEqual(clock.now());
    await close();
  });
});
