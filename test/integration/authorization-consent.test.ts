import { hash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOAuthClient } from '../../src/auth/oauth-client.ts';
import { sql } from '../../src/store/sql.ts';
import { publicUrl, startTestApi, type TestApi } from '../support/api.ts';
import {
  client,
  createShelf,
  publicClient,
  startAuthorizationServer,
  type AuthorizationServer,
} from '../support/authorization-server.ts';

const callbackPath = '/v3/connections/auth/callback/shelf';

describe('authorization by consent', () => {
  let server: AuthorizationServer;
  let test: TestApi;
  let tag = 0;
  beforeAll(async () => {
    server = await startAuthorizationServer();
    const shelf = createShelf(server);
    const other = { ...shelf, spec: { ...shelf.spec, name: 'other' } };
    const unset = { ...shelf, spec: { ...shelf.spec, name: 'gmail' } };
    test = await startTestApi({
      connectors: { shelf, other, gmail: unset },
      clients: { oauthClients: { shelf: client, other: client } },
      redirectAllowlist: ['https://app.example.com/connected', 'http://127.0.0.1:9999'],
    });
  });
  afterAll(async () => {
    await test.close();
    await server.close();
  });
  beforeEach(() => {
    test.clock.advance(1_000);
    Object.assign(server, { account: 'mira', consents: true, grants: [], interceptToken: null });
    tag += 1;
  });

  const begin = async (body: object = {}) =>
    (await test.call('POST', '/v3/connections/shelf', { containerTag: `tag${tag}`, ...body })).body as {
      id: string;
      authLink: string;
    };
  const callback = (url: URL, path = callbackPath) => test.call('GET', `${path}${url.search}`, undefined, null);
  const show = (id: string) => test.call('GET', `/v3/connections/${id}`);
  const standing = async (id: string) => (await test.call('GET', `/v3/connections/${id}/authorization`)).body.status;

  async function connected(body: object = {}): Promise<string> {
    const { id, authLink } = await begin(body);
    expect(await callback(await server.consent(authLink))).toMatchObject({
      status: expect.toSatisfy((one) => one < 400),
    });
    return id;
  }

  it('makes the connection under the promised id when the browser comes back', async () => {
    const redirectUrl = 'https://app.example.com/connected?from=test';
    const started = await test.call('POST', '/v3/connections/shelf', {
      containerTag: 'mira',
      documentLimit: 2000,
      metadata: { department: 'product' },
      redirectUrl,
    });
    expect(started).toMatchObject({ status: 200, body: { expiresIn: '1 hour', redirectsTo: redirectUrl } });
    const { id, authLink } = started.body;
    const link = new URL(authLink);
    expect(Object.fromEntries(link.searchParams)).toEqual({
      response_type: 'code',
      client_id: client.clientId,
      redirect_uri: `${publicUrl}${callbackPath}`,
      scope: 'openid offline_access items',
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      prompt: 'consent',
    });
    expect(await show(id)).toMatchObject({ status: 404 });
    expect((await test.call('POST', '/v3/connections/list', { containerTags: ['mira'] })).body).toEqual([]);
    expect(await standing(id)).toBe('pending');

    const answer = await callback(await server.consent(authLink));
    expect(answer.status).toBe(302);
    const location = new URL(String(answer.headers['location']));
    expect(Object.fromEntries(location.searchParams)).toEqual({
      from: 'test',
      connectionId: id,
      provider: 'shelf',
      status: 'connected',
    });
    expect((await show(id)).body).toMatchObject({
      id,
      provider: 'shelf',
      email: 'mira@example.com',
      expiresAt: new Date(test.clock.now().getTime() + 3_600_000).toISOString(),
      documentLimit: 2000,
      metadata: { department: 'product' },
      containerTag: 'mira',
      status: 'active',
      lastSyncRun: { status: 'running' },
    });
    expect(await standing(id)).toBe('connected');
    expect(server.grants).toEqual(['authorization_code']);
  });

  it('shows a small page without a redirectUrl, also at the second form of the address', async () => {
    const { authLink } = await begin();
    const page = await callback(await server.consent(authLink), '/v3/connections/shelf/callback');
    expect(page.status).toBe(200);
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    expect(page.body).toContain('<h1>Connected</h1>');
    // It ends the window that was opened for it, and runs nothing else.
    const [, script = '', ...more] = page.body.split(/<script>(.*?)<\/script>/);
    expect([script, more.length]).toEqual(['close()', 1]);
    const digest = hash('sha256', script, 'base64');
    expect(page.headers['content-security-policy']).toContain(`script-src 'sha256-${digest}'`);
  });

  it('answers programs in JSON', async () => {
    const { id, authLink } = await begin();
    const { search } = await server.consent(authLink);
    const headers = { accept: 'application/json' };
    const first = await test.api.inject({ url: `${callbackPath}${search}`, headers });
    expect([first.statusCode, first.json()]).toEqual([
      200,
      { connectionId: id, provider: 'shelf', status: 'connected' },
    ]);
    const second = await test.api.inject({ url: `${callbackPath}${search}`, headers });
    expect([second.statusCode, second.json()]).toEqual([400, { error: 'invalid_state', details: expect.any(String) }]);
  });

  it('takes a state once', async () => {
    const { id, authLink } = await begin({ redirectUrl: 'http://127.0.0.1:9999/done' });
    const url = await server.consent(authLink);
    await callback(url);
    const replayed = await callback(url);
    expect(replayed).toMatchObject({
      status: 302,
      headers: { location: 'http://127.0.0.1:9999/done?provider=shelf&error=invalid_state' },
    });
    expect(await standing(id)).toBe('connected');
    expect(server.grants).toEqual(['authorization_code']);
  });

  it('takes a state for an hour', async () => {
    const { id, authLink } = await begin();
    const url = await server.consent(authLink);
    test.clock.advance(3_600_001);
    expect(await standing(id)).toBe('expired');
    expect(await callback(url)).toMatchObject({ status: 400, body: expect.stringContaining('has expired') });
    expect(await show(id)).toMatchObject({ status: 404 });
    expect(server.grants).toEqual([]);
  });

  it('takes a state only for its own provider, and a HEAD request does not use it up', async () => {
    const { id, authLink } = await begin();
    const url = await server.consent(authLink);
    const elsewhere = await callback(url, '/v3/connections/auth/callback/other');
    expect(elsewhere).toMatchObject({ status: 400, body: expect.stringContaining('not known') });
    expect((await test.api.inject({ method: 'HEAD', url: `${callbackPath}${url.search}` })).statusCode).not.toBe(200);
    expect((await callback(url)).status).toBe(200);
    expect(await show(id)).toMatchObject({ status: 200 });
  });

  it.each([
    ['nothing', ''],
    ['a state that nobody made', '?state=unknown&code=x'],
    ['two states', '?state=a&state=b&code=x'],
    ['a very long state', `?state=${'x'.repeat(5_000)}`],
    ['an error without a state', '?error=access_denied'],
    ['markup', '?error=<script>alert(1)</script>&state=%00'],
  ])('sends nobody anywhere for %s', async (_, search) => {
    const { status, headers, body } = await test.call('GET', `${callbackPath}${search}`, undefined, null);
    expect([status, headers['location'], headers['content-type']]).toEqual([
      400,
      undefined,
      'text/html; charset=utf-8',
    ]);
    expect(body).not.toContain('alert');
  });

  it('says when the user did not want it', async () => {
    server.consents = false;
    const { id, authLink } = await begin({ redirectUrl: 'https://app.example.com/connected' });
    expect(await callback(await server.consent(authLink))).toMatchObject({
      status: 302,
      headers: { location: 'https://app.example.com/connected?provider=shelf&error=access_denied' },
    });
    expect(await standing(id)).toBe('access_denied');
    expect(await show(id)).toMatchObject({ status: 404 });
  });

  it('says when the code is refused, or the source is not there', async () => {
    const first = await begin();
    const url = await server.consent(first.authLink);
    url.searchParams.set('code', 'not-a-code');
    expect(await callback(url)).toMatchObject({ status: 400, body: expect.stringContaining('Not connected') });
    expect(await standing(first.id)).toBe('exchange_failed');
    const second = await begin({ redirectUrl: 'https://app.example.com/connected' });
    const later = await server.consent(second.authLink);
    server.interceptToken = (response) => response.destroy();
    expect((await callback(later)).headers['location']).toContain('error=exchange_failed');
    expect(test.logged()).not.toContain(later.searchParams.get('code'));
  });

  it('sends browsers only where the operator allows it', async () => {
    const refused = [
      'https://evil.example.com/connected',
      'https://app.example.com/other',
      'https://app.example.com.evil.example/connected',
      'https://app.example.com@evil.example/connected',
      'http://app.example.com/connected',
    ];
    for (const redirectUrl of refused) {
      const answer = await test.call('POST', '/v3/connections/shelf', { containerTag: 'x', redirectUrl });
      expect(answer, redirectUrl).toMatchObject({ status: 400, body: { error: 'redirectUrl is not allowed' } });
    }
    const below = { containerTag: 'x', redirectUrl: 'https://app.example.com/connected/here?a=1' };
    expect((await test.call('POST', '/v3/connections/shelf', below)).status).toBe(200);
  });

  it('says how to register a client when there is none', async () => {
    expect(await test.call('POST', '/v3/connections/gmail', {})).toMatchObject({
      status: 400,
      body: {
        error: 'OAuth is not configured for gmail',
        details:
          'Set GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET, or PATCH /v3/settings with googleDriveCustomKeyEnabled, googleDriveClientId and googleDriveClientSecret',
      },
    });
    const configured = async () =>
      (await test.call('GET', '/v3/connectors')).body.find((one: any) => one.provider === 'gmail').configured;
    expect(await configured()).toBe(false);
    const { clients } = test.authorizing;
    await clients.setCustom('googleDrive', client);
    expect(await configured()).toBe(false);
    await clients.setCustom('googleDrive', { enabled: true });
    expect(await configured()).toBe(true);
    expect(await clients.custom('googleDrive')).toEqual({
      enabled: true,
      clientId: client.clientId,
      hasClientSecret: true,
    });
    const stored = await test.database.query(sql`select value::text from settings`);
    expect(JSON.stringify(stored)).not.toContain(client.clientSecret);
    const { authLink } = (await test.call('POST', '/v3/connections/gmail', {})).body;
    expect(new URL(authLink).searchParams.get('client_id')).toBe(client.clientId);
    await clients.setCustom('googleDrive', { enabled: null, clientId: null, clientSecret: null });
    expect(await clients.custom('googleDrive')).toEqual({ enabled: false, clientId: null, hasClientSecret: false });
  });

  it('gets, renews and ends a grant as a client that has no secret', async () => {
    const auth = server.auth({ clientAuthentication: 'header' });
    const oauth = createOAuthClient({ auth, client: publicClient, clock: test.clock });
    const [verifier, redirectUri] = ['v'.repeat(43), `${publicUrl}${callbackPath}`];
    const challenge = hash('sha256', verifier, 'base64url');
    const answer = await server.consent(oauth.consentLink({ state: 'state', redirectUri, challenge }));
    const token = await oauth.exchange({ code: answer.searchParams.get('code')!, redirectUri, verifier });
    const renewed = await oauth.refresh(token.refreshToken!);
    expect(renewed.accessToken).not.toBe(token.accessToken);
    await oauth.revoke(renewed);
    expect(server.grants).toEqual(['authorization_code', 'refresh_token', 'revocation', 'revocation']);
  });

  it('authorizes a connection again, which then goes on', async () => {
    const id = await connected();
    const now = test.clock.now();
    await test.database.execute(sql`
      update connections set status = 'needs_reauth', requested_sync = null, metadata = '{"kept": true}' where id = ${id}`);
    await test.database.execute(
      sql`update credentials set denied = true, failure = 'gone' where connection_id = ${id}`,
    );
    const again = await begin({ connectionId: id });
    expect(again.id).toBe(id);
    expect((await callback(await server.consent(again.authLink))).status).toBe(200);
    expect((await show(id)).body).toMatchObject({ status: 'active', statusReason: null, metadata: { kept: true } });
    const [row] = await test.database.query(sql`
      select c.denied, c.failure, o.requested_sync is not null as asked from credentials c
      join connections o on o.id = c.connection_id where o.id = ${id}`);
    expect(row).toEqual({ denied: false, failure: null, asked: true });
    expect(now).toEqual(test.clock.now());
  });

  it('does not let a connection become that of another account', async () => {
    const id = await connected();
    server.account = 'somebody-else';
    const { authLink } = await begin({ connectionId: id });
    const answer = await callback(await server.consent(authLink));
    expect(answer).toMatchObject({ status: 400, body: expect.stringContaining('another account') });
    expect((await show(id)).body.email).toBe('mira@example.com');
    expect(server.grants.filter((one) => one === 'revocation')).not.toEqual([]);
  });

  it('refuses what cannot be authorized again', async () => {
    const id = await connected();
    const post = (provider: string, body: object) => test.call('POST', `/v3/connections/${provider}`, body);
    expect(await post('shelf', { connectionId: 'none' })).toMatchObject({ status: 404 });
    expect(await post('other', { connectionId: id })).toMatchObject({ status: 404 });
    expect(await post('shelf', { connectionId: id, containerTag: 'elsewhere' })).toMatchObject({ status: 400 });
    expect(await post('shelf', { connectionId: id, metadata: { department: 'ops' } })).toMatchObject({ status: 400 });
    const scoped = await test.newKey({ containerTags: [`tag${tag}`] });
    expect((await test.call('POST', '/v3/connections/shelf', { connectionId: id }, scoped)).status).toBe(403);
  });

  it('ends the grant at the source when the connection goes, and goes without it', async () => {
    const id = await connected();
    const [row] = await test.database.query<{ token: string }>(
      sql`select token from credentials where connection_id = ${id}`,
    );
    expect(row!.token).toMatch(/^v1\./);
    server.account = 'lonely';
    const lonely = await connected();
    server.grants.length = 0;
    expect((await test.call('DELETE', `/v3/connections/${lonely}`)).status).toBe(200);
    await expect.poll(() => server.grants.filter((one) => one === 'revocation')).toHaveLength(2);
    expect(await test.database.query(sql`select 1 from credentials where connection_id = ${lonely}`)).toEqual([]);
    server.account = 'unreachable';
    const unreachable = await connected();
    await server.close();
    expect((await test.call('DELETE', `/v3/connections/${unreachable}`)).status).toBe(200);
    await expect.poll(() => test.logged()).toContain('could not be revoked');
    server = await startAuthorizationServer();
  });
});
