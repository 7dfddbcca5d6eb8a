import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createConsoleSessions } from '../../src/account/console-sessions.ts';
import { ensureFirstKey, ensureOrganization } from '../../src/account/organization.ts';
import { createKeys, configuredKeyId } from '../../src/account/keys.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createCleanUp } from '../../src/schedule/scheduler.ts';
import { sql } from '../../src/store/sql.ts';
import { fullKey, localToken, startTestApi, type TestApi } from '../support/api.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';

let test: TestApi;
beforeAll(async () => {
  test = await startTestApi();
});
afterAll(() => test.close());

type Headers = Record<string, string>;
const host = 'localhost:6767';

async function signIn(credential: object, headers: Headers = {}, on: TestApi = test) {
  const response = await on.api.inject({
    method: 'POST',
    url: '/console/session',
    headers: { host, ...headers },
    payload: credential,
  });
  const cookie = String(response.headers['set-cookie'] ?? '');
  return { response, cookie, sent: cookie.split(';')[0]!, csrf: response.json().csrf as string };
}

/** What a page sends: the cookie, and the token where it changes something. */
function browse(method: 'GET' | 'POST' | 'DELETE', url: string, headers: Headers, payload?: object) {
  return test.api.inject({ method, url, headers: { host, ...headers }, ...(payload && { payload }) });
}

const note = { content: 'Said in the console.', containerTag: 'mine' };

describe('signing in', () => {
  it('with a key gives a cookie that scripts and other sites do not get', async () => {
    const { response, cookie } = await signIn({ key: fullKey });
    expect(response.statusCode).toBe(200);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(cookie).toMatch(/^memoryd_session_[\da-f]{8}=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    const { body: session } = await test.call('GET', '/v3/session');
    const expiresAt = new Date(test.clock.now().getTime() + 12 * 3_600_000).toISOString();
    expect(response.json()).toEqual({ csrf: expect.stringMatching(/^[\w-]{43}$/), expiresAt, session });
  });

  it('by https asks browsers to keep the cookie to https and to this host', async () => {
    const https = { 'x-forwarded-proto': 'https' };
    const { cookie, sent } = await signIn({ key: fullKey }, https);
    expect(cookie).toMatch(/^__Host-memoryd_session_[\da-f]{8}=.*; Secure$/);
    expect((await browse('GET', '/console/session', { cookie: sent, ...https })).statusCode).toBe(200);
    // A neighbour of the domain can set a cookie without the prefix.
    const plain = sent.replace('__Host-', '');
    expect((await browse('GET', '/console/session', { cookie: plain, ...https })).statusCode).toBe(401);
  });

  it('leaves the cookies of other daemons on the host alone', async () => {
    const own = await startTestApi();
    const [one, other] = [await signIn({ key: fullKey }), await signIn({ key: fullKey }, {}, own)];
    expect(other.sent.split('=')[0]).not.toBe(one.sent.split('=')[0]);
    const both = { host, cookie: `${one.sent}; ${other.sent}` };
    for (const { api } of [test, own]) {
      expect((await api.inject({ url: '/console/session', headers: both })).statusCode).toBe(200);
    }
    await own.close();
  });

  it('stores neither the secret nor the token of changes', async () => {
    const { sent, csrf } = await signIn({ key: fullKey });
    const [row] = await test.database.query<{ all: string }>(
      sql`select string_agg(s::text, ' ') as all from console_sessions s`,
    );
    expect(row!.all).not.toContain(sent.split('=')[1]);
    expect(row!.all).not.toContain(csrf);
    expect(test.logged()).not.toContain(sent.split('=')[1]);
  });

  it('is refused to a page of another site, before the key is looked at', async () => {
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }] as Headers[]) {
      const { response } = await signIn({ key: fullKey }, headers);
      expect([response.statusCode, response.headers['set-cookie']]).toEqual([403, undefined]);
    }
  });

  it('needs a key or a link, and not both', async () => {
    for (const body of [{}, { key: fullKey, link: 'x' }]) expect((await signIn(body)).response.statusCode).toBe(400);
  });

  it('with wrong keys costs growing pauses, and a right one is taken at any time', async () => {
    const own = await startTestApi();
    const wrong = async () => (await signIn({ key: 'wrong' }, {}, own)).response;
    for (let attempt = 0; attempt < 10; attempt++) expect((await wrong()).statusCode).toBe(401);
    const refused = await wrong();
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
    // Counted with those of the API.
    expect((await own.call('GET', '/v3/session', undefined, 'wrong')).headers['retry-after']).toBe('2');
    expect((await signIn({ key: fullKey }, {}, own)).response.statusCode).toBe(200);
    await own.close();
  });
});

describe('a session', () => {
  it('opens the API, and says who is signed in', async () => {
    const { response, sent } = await signIn({ key: fullKey });
    expect((await browse('GET', '/v3/status', { cookie: `theme=dark; ${sent}; x=y` })).statusCode).toBe(200);
    const current = await browse('GET', '/console/session', { cookie: sent });
    expect([current.statusCode, current.json()]).toEqual([200, response.json()]);
    expect((await browse('GET', '/console/session', {})).statusCode).toBe(401);
    expect((await browse('GET', '/console/session', { authorization: `Bearer ${fullKey}` })).statusCode).toBe(401);
  });

  it('changes nothing without the token that only its page knows', async () => {
    const { sent, csrf } = await signIn({ key: fullKey });
    const other = await signIn({ key: fullKey });
    for (const headers of [{}, { 'x-csrf-token': '' }, { 'x-csrf-token': other.csrf }] as Headers[]) {
      const response = await browse('POST', '/v3/documents', { cookie: sent, ...headers }, note);
      expect([response.statusCode, response.json().error]).toEqual([403, 'The CSRF token is missing or wrong']);
    }
    const right = { cookie: sent, 'x-csrf-token': csrf };
    expect((await browse('POST', '/v3/documents', right, note)).statusCode).toBe(200);
  });

  it.each<Headers>([
    { origin: 'https://evil.example' },
    { origin: 'http://localhost:3000' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('does not count in a request from elsewhere: %j', async (headers) => {
    const { sent, csrf } = await signIn({ key: fullKey });
    const answers = [
      await browse('GET', '/v3/session', { cookie: sent, ...headers }),
      await browse('POST', '/v3/documents', { cookie: sent, 'x-csrf-token': csrf, ...headers }, note),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([403, 403]);
  });

  it.each<Headers>([{ origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }])(
    'counts in a request of its own page: %j',
    async (headers) => {
      const { sent } = await signIn({ key: fullKey });
      expect((await browse('GET', '/v3/session', { cookie: sent, ...headers })).statusCode).toBe(200);
    },
  );

  it('gives way to a key in the same request', async () => {
    const { sent } = await signIn({ key: fullKey });
    const reader = await test.newKey({ permission: 'read' });
    const response = await browse('GET', '/v3/session', { cookie: sent, authorization: `Bearer ${reader}` });
    expect(response.json().scope.permission).toBe('read');
  });

  it('may do what its key may do', async () => {
    const key = await test.newKey({ permission: 'read', containerTags: ['mine'] });
    const { sent, csrf } = await signIn({ key });
    const headers = { cookie: sent, 'x-csrf-token': csrf };
    expect((await browse('POST', '/v3/documents', headers, note)).json()).toEqual({ error: 'This key may only read' });
    expect((await browse('GET', '/v3/status', headers)).statusCode).toBe(403);
    expect((await browse('POST', '/v3/documents/list', headers, { containerTag: 'mine' })).statusCode).toBe(200);
    expect((await browse('POST', '/v3/documents/list', headers, { containerTag: 'other' })).statusCode).toBe(403);
  });

  it('ends after twelve hours, and with its key', async () => {
    const { sent } = await signIn({ key: fullKey });
    const expiresAt = new Date(test.clock.now().getTime() + 60_000);
    const short = await signIn({ key: await test.newKey({ expiresAt }) });
    expect(short.response.json().expiresAt).toBe(expiresAt.toISOString());
    expect(short.cookie).toContain('Max-Age=60;');
    test.clock.advance(60_000);
    expect((await browse('GET', '/v3/session', { cookie: short.sent })).statusCode).toBe(401);
    expect((await browse('GET', '/v3/session', { cookie: sent })).statusCode).toBe(200);
    test.clock.advance(12 * 3_600_000 - 60_000);
    expect((await browse('GET', '/v3/session', { cookie: sent })).statusCode).toBe(401);
  });

  it('ends when somebody signs out, at once', async () => {
    const { sent, csrf } = await signIn({ key: fullKey });
    const headers = { cookie: sent, 'x-csrf-token': csrf };
    expect((await browse('DELETE', '/console/session', { cookie: sent })).statusCode).toBe(403);
    const response = await browse('DELETE', '/console/session', headers);
    expect(response.statusCode).toBe(204);
    expect(response.headers['set-cookie']).toMatch(/^memoryd_session_[\da-f]{8}=; Path=\/; Max-Age=0;/);
    expect((await browse('GET', '/v3/session', headers)).statusCode).toBe(401);
  });
});

describe('signing out everywhere', () => {
  it('ends all sessions of the key and its links, and no others', async () => {
    const key = await test.newKey();
    const [here, there, other] = [await signIn({ key }), await signIn({ key }), await signIn({ key: fullKey })];
    const { url } = (await test.call('POST', '/console/links', undefined, key)).body;
    const end = (headers: Headers) => browse('DELETE', '/console/sessions', headers);
    expect((await end({ cookie: here.sent })).statusCode).toBe(403);
    expect((await end({ authorization: `Bearer ${key}` })).statusCode).toBe(401);
    const response = await end({ cookie: here.sent, 'x-csrf-token': here.csrf });
    expect(response.statusCode).toBe(204);
    expect(response.headers['set-cookie']).toMatch(/^memoryd_session_[\da-f]{8}=; Path=\/; Max-Age=0;/);
    const open = ({ sent }: typeof here) => browse('GET', '/v3/session', { cookie: sent });
    const statuses = await Promise.all([here, there, other].map(async (each) => (await open(each)).statusCode));
    expect(statuses).toEqual([401, 401, 200]);
    expect((await signIn({ link: url.split('/').at(-1) })).response.statusCode).toBe(401);
  });
});

describe('a link', () => {
  const linkFrom = async (key: string) => {
    const { status, body } = await test.call('POST', '/console/links', undefined, key);
    expect(status).toBe(200);
    return { url: body.url as string, link: (body.url as string).split('/').at(-1)!, expiresAt: body.expiresAt };
  };

  it('signs in once, as the key that made it', async () => {
    const { url, link, expiresAt } = await linkFrom(localToken);
    expect(url).toMatch(/^http:\/\/localhost(:80)?\/#\/sign-in\/[\w-]{43}$/);
    expect(expiresAt).toBe(new Date(test.clock.now().getTime() + 5 * 60_000).toISOString());
    const { response } = await signIn({ link });
    expect(response.json().session.user).toEqual({ id: 'local' });
    expect((await signIn({ link })).response.statusCode).toBe(401);
  });

  it('works for five minutes, and not when its key has been turned off', async () => {
    const { link } = await linkFrom(fullKey);
    test.clock.advance(5 * 60_000);
    expect((await signIn({ link })).response.statusCode).toBe(401);
    const key = await test.newKey();
    const { user } = (await test.call('GET', '/v3/session', undefined, key)).body;
    const second = await linkFrom(key);
    await test.call('PUT', `/v3/auth/keys/${user.id}/toggle`);
    expect((await signIn({ link: second.link })).response.statusCode).toBe(401);
  });

  it('is made with a key, not in the console, where it would make a session endless', async () => {
    const { sent, csrf } = await signIn({ key: fullKey });
    expect((await browse('POST', '/console/links', { cookie: sent, 'x-csrf-token': csrf })).statusCode).toBe(403);
  });

  it('names the public address where that was used', async () => {
    const own = await startTestApi({ config: { publicUrl: 'https://memory.example.com/base/' } });
    const headers = { host: 'memory.example.com', authorization: `Bearer ${fullKey}` };
    const response = await own.api.inject({ method: 'POST', url: '/console/links', headers });
    expect(response.json().url).toMatch(/^https:\/\/memory\.example\.com\/base\/#\/sign-in\//);
    await own.close();
  });
});

it('the security log has who signed in and out, and who could not', async () => {
  const own = await startTestApi();
  const { sent, csrf } = await signIn({ key: fullKey }, {}, own);
  await signIn({ key: 'wrong' }, {}, own);
  await own.api.inject({ url: '/console/session', headers: { host } });
  await own.call('POST', '/console/links');
  const again = await signIn({ key: fullKey }, {}, own);
  await own.api.inject({
    method: 'DELETE',
    url: '/console/session',
    headers: { host, cookie: sent, 'x-csrf-token': csrf },
  });
  await own.api.inject({
    method: 'DELETE',
    url: '/console/sessions',
    headers: { host, cookie: again.sent, 'x-csrf-token': again.csrf },
  });
  const events = async () => {
    own.clock.advance(1_000);
    return (await own.services.audit.list({ limit: 10 })).map(({ action, outcome, keyName }) => ({
      ...{ action, outcome, keyName },
    }));
  };
  const keyName = 'configured key';
  await expect.poll(events).toEqual([
    { action: 'console.sign-out-everywhere', outcome: 'done', keyName },
    { action: 'console.sign-out', outcome: 'done', keyName },
    { action: 'console.sign-in', outcome: 'done', keyName },
    { action: 'console.link', outcome: 'done', keyName },
    { action: 'console.sign-in', outcome: 'denied', keyName: null },
    { action: 'console.sign-in', outcome: 'done', keyName },
  ]);
  await own.close();
});

describe('sessions', () => {
  async function open() {
    const { database, close } = await openTestDatabase();
    const clock = createTestClock();
    const organization = await ensureOrganization({ database, clock });
    const dependencies = { database, clock, organization };
    await ensureFirstKey(dependencies, fullKey);
    const process = () => {
      const keys = createKeys({ ...dependencies, log: silentLogger });
      return { keys, sessions: createConsoleSessions({ database, clock, keys }) };
    };
    return { ...dependencies, dependencies, close, one: process(), other: process() };
  }
  const rows = async (database: Awaited<ReturnType<typeof open>>['database']) =>
    (
      await database.query<{ n: number }>(
        sql`select ((select count(*) from console_sessions) + (select count(*) from console_links))::integer as n`,
      )
    )[0]!.n;

  it('hold in every process, and what a key loses they lose in all of them at once', async () => {
    const { one, other, database, close } = await open();
    const { secret: key, key: made } = await one.keys.create({ name: 'x', permission: 'write', containerTags: [] });
    const { secret } = (await one.sessions.signIn({ key }))!;
    expect((await other.sessions.find(secret))?.caller).toMatchObject({ keyId: made.id, permission: 'write' });
    await other.keys.toggle(made.id);
    expect(await one.sessions.find(secret)).toBeNull();
    await other.keys.toggle(made.id);
    await database.execute(sql`update api_keys set permission = 'read' where id = ${made.id}`);
    expect((await one.sessions.find(secret))?.caller.permission).toBe('read');
    const { caller } = (await other.sessions.find(secret))!;
    await other.sessions.createLink(caller, 'http://localhost');
    expect(await rows(database)).toBe(2);
    await other.keys.remove(made.id, { ...caller, keyId: configuredKeyId });
    expect(await one.sessions.find(secret)).toBeNull();
    expect(await rows(database)).toBe(0);
    await close();
  });

  it('are given once for a link, whichever process is asked first', async () => {
    const { one, other, close } = await open();
    const caller = (await one.keys.authenticate(fullKey))!;
    const { url } = await one.sessions.createLink(caller, 'http://localhost');
    const link = { link: url.split('/').at(-1)! };
    const made = await Promise.all([one, other, one, other].map(({ sessions }) => sessions.signIn(link)));
    expect(made.filter((session) => session !== null)).toHaveLength(1);
    await close();
  });

  it('end when the configured key is replaced', async () => {
    const { one, dependencies, close } = await open();
    const { secret } = (await one.sessions.signIn({ key: fullKey }))!;
    await ensureFirstKey(dependencies, fullKey);
    expect(await one.sessions.find(secret)).not.toBeNull();
    await ensureFirstKey(dependencies, 'another configured key');
    expect(await one.sessions.find(secret)).toBeNull();
    await close();
  });

  it('of the machine itself end together, and those of keys stay', async () => {
    const { one, other, close } = await open();
    const local = one.keys.holderOf(null)!;
    const byLink = async () => {
      const { url } = await one.sessions.createLink(local, 'http://localhost');
      return (await one.sessions.signIn({ link: url.split('/').at(-1)! }))!;
    };
    const [here, there, byKey] = [await byLink(), await byLink(), (await one.sessions.signIn({ key: fullKey }))!];
    await other.sessions.signOutEverywhere(here.caller);
    const found = await Promise.all([here, there, byKey].map(({ secret }) => one.sessions.find(secret)));
    expect(found.map((session) => session !== null)).toEqual([false, false, true]);
    await close();
  });

  it('are cleaned up when they are over', async () => {
    const { one, database, clock, close } = await open();
    const { caller } = (await one.sessions.signIn({ key: fullKey }))!;
    await one.sessions.createLink(caller, 'http://localhost');
    const cleanUp = createCleanUp({ database, clock, log: silentLogger });
    const { signal } = new AbortController();
    for (const [ms, left] of [
      [0, 2],
      [5 * 60_000, 1],
      [12 * 3_600_000, 0],
    ] as const) {
      clock.advance(ms);
      await cleanUp(signal);
      expect(await rows(database)).toBe(left);
    }
    await close();
  });
});
