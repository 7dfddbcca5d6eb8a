import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defineConnector, type AuthSpec, type Connector, type ConnectorSpec } from '../../src/connector/contract.ts';
import { findConnection } from '../../src/store/connections.ts';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Takes signed JWTs for tokens, and shows the headers of other requests. */
async function startTokenServer() {
  const state = { assertions: [] as Record<string, any>[], answers: [] as [number, object][], paths: [] as string[] };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    state.paths.push(request.url!);
    const jwt = new URLSearchParams(body).get('assertion') ?? request.headers.authorization!.slice('Bearer '.length);
    state.assertions.push(verified(jwt, publicKey));
    const [status, content] = state.answers.shift() ?? [200, { access_token: 'minted-1', expires_in: 600 }];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
  }

  return Object.assign(state, { url, close: () => new Promise((resolve) => server.close(resolve)) });
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) text += String(part);
  return text;
}

function verified(jwt: string, key: KeyObject): Record<string, any> {
  const [header = '', claims = '', signature = ''] = jwt.split('.');
  const text = Buffer.from(`${header}.${claims}`);
  if (
    !verify(
      'sha256',
      text,
      createPublicKey(key.export({ type: 'spki', format: 'pem' })),
      Buffer.from(signature, 'base64url'),
    )
  ) {
    throw new Error('wrong signature');
  }
  const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object;
  return { header: parse(header), ...parse(claims) };
}

const secretField = { type: 'string', 'x-secret': true };
const fieldsOf = (...names: string[]) => ({
  type: 'object',
  required: names,
  properties: Object.fromEntries(names.map((name) => [name, name === 'user' ? { type: 'string' } : secretField])),
});

/** Its `check` tells what it was given; `fails` makes it tell secrets, as a careless connector might. */
function createNosy(auth: AuthSpec[], more: Partial<ConnectorSpec> = {}): Connector<any, any> & { seen: any[] } {
  const seen: any[] = [];
  const connector = defineConnector<any, any>({
    spec: {
      name: 'nosy',
      version: '1.0.0',
      title: 'Nosy',
      kind: 'other',
      description: 'Looks at what it is given.',
      config: {
        type: 'object',
        properties: { base: { type: 'string' }, pin: secretField },
        additionalProperties: false,
      },
      auth,
      ...more,
    },
    async check(ctx) {
      const secret = async (name: string) => ctx.secret(name).catch(() => undefined);
      seen.push({
        config: ctx.config,
        token: await ctx.token().catch((error: Error) => error.message),
        key: await secret('key'),
      });
      if (ctx.config.base !== 'refuse') return [];
      return [{ name: 'key', title: 'The key opens', status: 'failed', detail: `not ${await ctx.secret('key')}` }];
    },
    partitions: async () => [{ id: 'all' }],
    list: async () => ({ refs: [], done: true }),
    fetch: async () => ({ gone: true }),
  });
  return Object.assign(connector, { seen });
}

describe('authorization by fields', () => {
  let tokens: Awaited<ReturnType<typeof startTokenServer>>;
  let test: TestApi;
  const nosy = createNosy([]);
  beforeAll(async () => {
    tokens = await startTokenServer();
    test = await startTestApi({ connectors: { nosy } });
  });
  afterAll(async () => {
    await test.close();
    await tokens.close();
  });
  beforeEach(() => {
    nosy.seen.length = 0;
    tokens.assertions.length = 0;
    tokens.answers.length = 0;
    tokens.paths.length = 0;
    test.clock.advance(1_000);
  });

  const use = (...auth: AuthSpec[]) => (nosy.spec.auth = auth);
  const post = (metadata: object, more: object = {}) =>
    test.call('POST', '/v3/connections/nosy', { metadata, ...more });
  async function authorizationOf(id: string) {
    const connection = (await findConnection(test.database, id))!;
    const opened = await test.authorizing.credentials.open(connection, nosy.spec, new AbortController().signal);
    return opened!.authorization;
  }

  it('an API key goes into the header that the connector names', async () => {
    const cases: [Partial<Extract<AuthSpec, { type: 'apiKey' }>>, Record<string, string>][] = [
      [{}, { authorization: 'Bearer the-secret-key' }],
      [{ prefix: 'token ' }, { authorization: 'token the-secret-key' }],
      [{ header: 'X-Api-Key' }, { 'x-api-key': 'the-secret-key' }],
      [{ header: null }, {}],
    ];
    for (const [more, headers] of cases) {
      use({ type: 'apiKey', fields: fieldsOf('key'), ...more });
      const { body } = await post({ key: 'the-secret-key' });
      const authorization = await authorizationOf(body.id);
      expect(await authorization.headers()).toEqual(headers);
      expect(await authorization.token()).toBe('the-secret-key');
      expect(await authorization.secret('key')).toBe('the-secret-key');
      expect(await authorization.renew(headers)).toBe(false);
    }
  });

  it('user and password make a Basic header, or none', async () => {
    use({ type: 'basic', fields: fieldsOf('user', 'password') });
    const { id } = (await post({ user: 'mira', password: 'pässword' })).body;
    const authorization = await authorizationOf(id);
    expect(await authorization.headers()).toEqual({
      authorization: `Basic ${Buffer.from('mira:pässword').toString('base64')}`,
    });
    await expect(authorization.token()).rejects.toMatchObject({ kind: 'bad_config' });
    use({ type: 'basic', fields: fieldsOf('user', 'password'), header: null });
    expect(await (await authorizationOf(id)).headers()).toEqual({});
  });

  it('a service account signs for its tokens (RFC 7523)', async () => {
    use({ type: 'serviceAccount', fields: fieldsOf('key'), tokenUrl: `${tokens.url}/token`, scopes: ['read', 'list'] });
    const key = JSON.stringify({ client_email: 'robot@example.com', private_key: pem, private_key_id: 'k1' });
    const { status, body } = await post({ key });
    expect(status).toBe(200);
    expect(nosy.seen[0].token).toBe('minted-1');
    const now = Math.floor(test.clock.now().getTime() / 1000);
    expect(tokens.assertions[0]).toEqual({
      header: { alg: 'RS256', typ: 'JWT', kid: 'k1' },
      iss: 'robot@example.com',
      sub: 'robot@example.com',
      aud: `${tokens.url}/token`,
      iat: now,
      exp: now + 3_600,
      scope: 'read list',
    });
    tokens.assertions.length = 0;
    const calls = await Promise.all(Array.from({ length: 10 }, async () => (await authorizationOf(body.id)).headers()));
    expect(new Set(calls.map((headers) => headers['authorization']))).toEqual(new Set(['Bearer minted-1']));
    expect(tokens.assertions).toHaveLength(1);
    tokens.answers.push([200, { access_token: 'minted-2', expires_in: 600 }]);
    test.clock.advance(500_000);
    expect(await (await authorizationOf(body.id)).token()).toBe('minted-2');
    expect(tokens.assertions).toHaveLength(2);
  });

  it('a service account that may not act for a user is told so, and not to look at an OAuth client', async () => {
    use({
      type: 'serviceAccount',
      fields: fieldsOf('issuer', 'privateKey', 'subject'),
      tokenUrl: `${tokens.url}/token`,
    });
    const { id } = (await post({ issuer: 'robot', privateKey: pem, subject: 'ada@example.com' })).body;
    tokens.answers.push([401, { error: 'unauthorized_client' }]);
    await expect((await authorizationOf(id)).token()).rejects.toMatchObject({
      kind: 'bad_config',
      message: expect.stringContaining('unauthorized_client'),
      remedy: expect.stringContaining('delegate the scopes'),
    });
  });

  it('an app gets tokens of its installation', async () => {
    const tokenUrl = '{+base}/app/installations/{installationId}/access_tokens';
    use({ type: 'githubApp', fields: fieldsOf('appId', 'privateKey', 'installationId'), tokenUrl });
    const expiresAt = new Date(test.clock.now().getTime() + 3_600_000).toISOString();
    for (let answer = 0; answer < 2; answer++) tokens.answers.push([201, { token: 'ghs-1', expires_at: expiresAt }]);
    const fields = {
      base: tokens.url,
      appId: '17',
      privateKey: pem.replaceAll('\n', String.raw`\n`),
      installationId: '4 2',
    };
    const { status, body } = await post(fields);
    expect(status).toBe(200);
    expect(tokens.paths).toEqual(['/app/installations/4%202/access_tokens']);
    const now = Math.floor(test.clock.now().getTime() / 1000);
    expect(tokens.assertions[0]).toMatchObject({ iss: '17', iat: now - 60, exp: now + 540 });
    expect(await (await authorizationOf(body.id)).headers()).toEqual({ authorization: 'Bearer ghs-1' });
    expect((await test.call('GET', `/v3/connections/${body.id}`)).body).toMatchObject({ expiresAt });
  });

  it('a machine whose key is no longer accepted waits for another one', async () => {
    use({ type: 'serviceAccount', fields: fieldsOf('issuer', 'privateKey'), tokenUrl: `${tokens.url}/token` });
    const { id } = (await post({ issuer: 'robot', privateKey: pem })).body;
    tokens.answers.push([400, { error: 'invalid_grant', error_description: pem }]);
    await expect((await authorizationOf(id)).token()).rejects.toMatchObject({
      kind: 'auth_expired',
      message: expect.stringContaining('invalid_grant'),
    });
    await expect((await authorizationOf(id)).token()).rejects.toMatchObject({ kind: 'auth_expired' });
    expect(tokens.assertions).toHaveLength(2);
    expect((await post({ issuer: 'robot-2', privateKey: pem }, { connectionId: id })).body).toEqual({
      id,
      authLink: null,
      expiresIn: null,
    });
    expect(await (await authorizationOf(id)).token()).toBe('minted-1');
    expect(tokens.assertions.at(-1)).toMatchObject({ iss: 'robot-2' });
  });

  it('keys that are none are named as such, and never shown', async () => {
    use({ type: 'serviceAccount', fields: fieldsOf('key'), tokenUrl: `${tokens.url}/token` });
    for (const key of ['canary no json', '{"client_email": "a"}', '{"client_email":"a","private_key":"canary"}']) {
      nosy.seen.length = 0;
      await post({ key });
      expect(nosy.seen[0].token).toMatch(/key/i);
      expect(nosy.seen[0].token).not.toContain('canary');
    }
  });

  it('the way is taken whose fields are given, and what is missing is named', async () => {
    use(
      { type: 'oauth2', authorizeUrl: 'https://a.example/a', tokenUrl: 'https://a.example/t', scopes: [] },
      { type: 'apiKey', fields: fieldsOf('key') },
      { type: 'basic', fields: fieldsOf('user', 'password') },
    );
    const { status, body: refusal } = await post({});
    expect([status, refusal.error]).toEqual([400, 'Nosy needs an authorization, and none was given']);
    expect(refusal.details).toMatch(
      /^Give in metadata: key; or user, password \(.*--set-env key=VARIABLE.*OAuth instead: /,
    );
    expect(await post({ user: 'mira' })).toMatchObject({
      status: 400,
      body: { success: false, error: [{ message: expect.any(String), path: ['metadata', 'password'] }] },
    });
    const { body } = await post({ user: 'mira', password: 'pässword', department: 'ops' });
    expect((await test.call('GET', `/v3/connections/${body.id}`)).body.metadata).toEqual({ department: 'ops' });
    use({ type: 'apiKey', fields: fieldsOf('key') });
    expect(await post({})).toMatchObject({
      status: 400,
      body: { error: 'Nosy needs an authorization', details: 'Give in metadata: key' },
    });
  });

  it('secret settings come back to the connector, and to nobody else', async () => {
    use();
    const { body } = await post({
      base: 'b',
      pin: 'canary-pin-1',
      token: 'canary-token',
      apiKey: 'canary-api',
      team: 'x',
    });
    expect(nosy.seen[0].config).toEqual({ base: 'b', pin: 'canary-pin-1' });
    const shown = await test.call('GET', `/v3/connections/${body.id}`);
    expect(shown.body.metadata).toEqual({ base: 'b', team: 'x' });
    const rows = await test.database.query(sql`
      select to_jsonb(o)::text as connection, to_jsonb(c)::text as credentials from connections o
      join credentials c on c.connection_id = o.id where o.id = ${body.id}`);
    expect(JSON.stringify(rows)).not.toContain('canary');
    expect(await (await authorizationOf(body.id)).secret('token')).toBe('canary-token');
    await test.call('PATCH', `/v3/connections/${body.id}`, { metadata: { pin: 'canary-pin-2' } });
    expect(await (await authorizationOf(body.id)).secret('pin')).toBe('canary-pin-2');
    expect((await test.call('GET', `/v3/connections/${body.id}`)).body.metadata).toEqual({ base: 'b', team: 'x' });
  });

  it('a refusal of the source does not show what was refused', async () => {
    use({ type: 'apiKey', fields: fieldsOf('key') });
    const { status, body } = await post({ base: 'refuse', key: 'canary-of-a-key' });
    expect([status, body]).toEqual([400, { error: 'not ********' }]);
    expect(test.logged()).not.toContain('canary-of-a-key');
  });
});
