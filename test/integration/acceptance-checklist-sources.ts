import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Supermemory from 'supermemory';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rateLimited } from '../../src/connector/contract.ts';
import { recoverAlone } from '../../src/open-engine.ts';
import { sql } from '../../src/store/sql.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { client, createShelf, startAuthorizationServer } from '../support/authorization-server.ts';
import { methodsOf, tourSteps } from '../support/client-tour.ts';
import { crashingAt } from '../support/crashing-at.ts';
import { createAnswerCheck, createWatchedFetch } from '../support/described-answers.ts';
import shelves from '../support/shelf-plugin-main.ts';
import { lastWrites } from '../support/status-history.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

/** Rows 10 to 14 of section 27 of the API's contract, by their words. */

const source = createSyntheticSource();
const synthetic = source.connector({ incremental: true });

let server: Awaited<ReturnType<typeof startAuthorizationServer>>;
let shelf: ReturnType<typeof createShelf>;
let test: TestApi;
beforeAll(async () => {
  server = await startAuthorizationServer();
  shelf = createShelf(server);
  const other = { ...shelf, spec: { ...shelf.spec, name: 'other' } };
  test = await startTestApi({
    connectors: { synthetic, shelf, other, shelves },
    clients: { oauthClients: { shelf: client, other: client } },
    redirectAllowlist: ['https://app.example.com/connected'],
  });
});
afterAll(async () => {
  await test.close();
  await server.close();
});
beforeEach(() => test.clock.advance(1_000));

async function create(provider: string, containerTag: string): Promise<string> {
  const { status, body } = await test.call('POST', `/v3/connections/${provider}`, { containerTag });
  expect(status).toBe(200);
  return body.id;
}

describe('10. Connector run: first sync, no-change sync (zero writes), change, rename, delete at source, user delete then no resurrection, token expiry, rate limit, crash between items and cursor save', () => {
  let id: string;
  const tag = 'row10';
  const texts = async (): Promise<Map<string, string>> => {
    const body = { containerTag: tag, includeContent: true, limit: 100 };
    const { memories } = (await test.call('POST', '/v3/documents/list', body)).body;
    return new Map(memories.map((one: any) => [one.customId.replace('synthetic:', ''), one.content]));
  };
  async function sync(database = test.database): Promise<void> {
    test.clock.advance(1_000);
    const { status } = await test.call('POST', `/v3/connections/${id}/sync`, {});
    expect(status).toBe(202);
    await runDueSync({ ...test, database }, synthetic, id);
    await test.process();
  }
  beforeAll(async () => {
    for (const name of ['a', 'b', 'c', 'd']) source.put(name, `Text of ${name}.`);
    id = await create('synthetic', tag);
    await runDueSync(test, synthetic, id);
    await test.process();
  });

  it('first sync', async () => {
    expect(await texts()).toEqual(source.texts());
  });

  it('no-change sync (zero writes)', async () => {
    await sync();
    const tables = ['documents', 'document_contents', 'chunks', 'memories', 'sync_items'];
    const before = await lastWrites(test.database, tables);
    source.requests.length = 0;
    await sync();
    expect(await lastWrites(test.database, tables)).toEqual(before);
    expect(source.requests.filter((one) => one.startsWith('fetch'))).toEqual([]);
  });

  it('change, rename, delete at source', async () => {
    const before = (await test.call('GET', '/ns/row10/document/synthetic:a')).body.id;
    source.put('a', 'Text of a, changed.');
    source.rename('b', 'b2');
    source.remove('c');
    await sync();
    expect(await texts()).toEqual(source.texts());
    expect((await test.call('GET', '/ns/row10/document/synthetic:a')).body.id).toBe(before);
  });

  it('user delete then no resurrection', async () => {
    const { body } = await test.call('GET', '/ns/row10/document/synthetic:d');
    expect((await test.call('DELETE', `/v3/documents/${body.id}`)).status).toBe(204);
    await sync();
    await test.call('POST', `/v3/connections/${id}/sync`, { mode: 'full' });
    await runDueSync(test, synthetic, id);
    expect([...(await texts()).keys()]).not.toContain('d');
    source.put('d', 'Text of d, new at the source.');
    await sync();
    expect((await texts()).get('d')).toBe('Text of d, new at the source.');
  });

  it('rate limit', async () => {
    source.put('e', 'Text of e.');
    const retryAt = new Date(test.clock.now().getTime() + 60_000);
    source.intercept(() => {
      throw rateLimited('too many requests', retryAt);
    });
    await sync();
    source.requests.length = 0;
    source.intercept(() => {});
    await sync();
    expect(source.requests).toEqual([]);
    test.clock.advance(60_000);
    await sync();
    expect(await texts()).toEqual(source.texts());
  });

  it('crash between items and cursor save', async () => {
    const known = new Set((await texts()).keys());
    let crashes = 0;
    for (let statement = 3; ; statement += 4) {
      source.put('f', `Version ${statement} of f.`);
      source.put(`g${statement}`, 'One more.');
      const over = await sync(crashingAt(test.database, statement)).then(
        () => true,
        () => false,
      );
      if (!over) crashes += 1;
      await recoverAlone(test.database, test.clock);
      await runDueSync(test, synthetic, id);
      await test.process();
      if (over || (await texts()).get('f') !== source.texts().get('f')) await sync();
      expect(await texts()).toEqual(source.texts());
      if (over) break;
    }
    expect(crashes).toBeGreaterThan(5);
    expect(known.size).toBeGreaterThan(0);
  });

  it('token expiry', async () => {
    const { id: connection, authLink } = (
      await test.call('POST', '/v3/connections/shelf', { containerTag: 'row10_shelf' })
    ).body;
    const { search } = await server.consent(authLink);
    await test.call('GET', `/v3/connections/auth/callback/shelf${search}`, undefined, null);
    await runDueSync(test, shelf, connection);
    server.seen.length = 0;
    server.items.set('second', 'text of the second');
    test.clock.advance(3_600_001);
    await test.call('POST', `/v3/connections/${connection}/sync`, {});
    await runDueSync(test, shelf, connection);
    expect(server.grants).toContain('refresh_token');
    const { memories } = (await test.call('POST', '/v3/documents/list', { containerTag: 'row10_shelf' })).body;
    expect(memories.map((one: any) => one.customId).sort()).toEqual(['shelf:first', 'shelf:second']);
  });
});

it('11. import with no body, empty JSON body, {}: 202 text each time; two at once make at most one extra run', async () => {
  const id = await create('synthetic', 'row11');
  await runDueSync(test, synthetic, id);
  const runs = async () => (await test.call('GET', `/v3/connections/${id}/sync-runs`)).body.length as number;
  const before = await runs();
  const json = { 'content-type': 'application/json' };
  const send = (options: object) =>
    test.api.inject({
      method: 'POST',
      url: '/v3/connections/synthetic/import',
      ...options,
      headers: { authorization: `Bearer ${fullKey}`, ...(options as { headers?: object }).headers },
    });
  for (const options of [{}, { headers: json, payload: '' }, { headers: json, payload: '{}' }]) {
    const answer = await send(options);
    expect([answer.statusCode, answer.body]).toEqual([202, 'Importing connections...']);
    expect(answer.headers['content-type']).toContain('text/plain');
  }
  await Promise.all([send({}), send({})]);
  await runDueSync(test, synthetic, id);
  await runDueSync(test, synthetic, id);
  expect((await runs()) - before).toBeLessThanOrEqual(2);
});

describe('12. OAuth: state replay, expired state, foreign state, denied consent, redirect not on the allow-list', () => {
  const redirectUrl = 'https://app.example.com/connected';
  const begin = async (body: object = {}) =>
    (await test.call('POST', '/v3/connections/shelf', { containerTag: 'row12', redirectUrl, ...body })).body;
  const callback = (url: URL, provider = 'shelf') =>
    test.call('GET', `/v3/connections/auth/callback/${provider}${url.search}`, undefined, null);
  const show = async (id: string) => (await test.call('GET', `/v3/connections/${id}`)).status;

  it('state replay', async () => {
    const { id, authLink } = await begin();
    const url = await server.consent(authLink);
    expect((await callback(url)).headers['location']).toContain('status=connected');
    expect((await callback(url)).headers['location']).toBe(`${redirectUrl}?provider=shelf&error=invalid_state`);
    expect(await show(id)).toBe(200);
  });

  it('expired state, foreign state', async () => {
    const { id, authLink } = await begin();
    const url = await server.consent(authLink);
    expect((await callback(url, 'other')).status).toBe(400);
    expect((await callback(new URL('https://x.example/?state=of-nobody&code=x'))).status).toBe(400);
    test.clock.advance(3_600_001);
    expect((await callback(url)).headers['location'] ?? '').not.toContain('connected&');
    expect(await show(id)).toBe(404);
  });

  it('denied consent', async () => {
    server.consents = false;
    const { id, authLink } = await begin();
    const answer = await callback(await server.consent(authLink));
    expect(answer.headers['location']).toBe(`${redirectUrl}?provider=shelf&error=access_denied`);
    expect(await show(id)).toBe(404);
    server.consents = true;
  });

  it('redirect not on the allow-list', async () => {
    const body = { containerTag: 'row12', redirectUrl: 'https://evil.example.com/connected' };
    expect(await test.call('POST', '/v3/connections/shelf', body)).toMatchObject({
      status: 400,
      body: { error: 'redirectUrl is not allowed' },
    });
  });
});

it('13. No response, log line or error ever contains a stored secret', async () => {
  const clientSecret = 'secret-of-a-client-row13';
  const refused = await test.call('PATCH', '/v3/settings', { notionClientSecret: clientSecret, chunkSize: 'no' });
  const answers: unknown[] = [refused.body];
  const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: object) =>
    answers.push((await test.call(method, url, body)).body);
  const made = await test.call('POST', '/v3/auth/scoped-key', { containerTag: 'row13', name: 'thirteen' });
  await ask('PATCH', '/v3/settings', {
    notionCustomKeyEnabled: true,
    notionClientId: 'n',
    notionClientSecret: clientSecret,
  });
  await ask('GET', '/v3/settings');
  await ask('GET', '/v3/auth/keys');
  await ask('GET', '/v3/session');
  const { authLink, id } = (await test.call('POST', '/v3/connections/shelf', { containerTag: 'row13' })).body;
  const back = await server.consent(authLink);
  await ask('GET', `/v3/connections/auth/callback/shelf${back.search}`);
  await runDueSync(test, shelf, id);
  server.items.set('poison', 'x');
  for (const token of server.seen) server.ended.add(token);
  server.interceptToken = (response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: 'invalid_grant' }));
  await ask('POST', `/v3/connections/${id}/sync`, {});
  await runDueSync(test, shelf, id).catch(() => {});
  server.interceptToken = null;
  for (const url of ['', '/sync-runs', '/items', '/progress']) await ask('GET', `/v3/connections/${id}${url}`);
  await ask('POST', '/v3/connections/list', {});
  const stored = await test.database.query(
    sql`select value::text from settings union all select c::text from credentials c`,
  );
  const secrets = [clientSecret, made.body.key, client.clientSecret, ...server.seen];
  expect(secrets.length).toBeGreaterThan(3);
  const everything = JSON.stringify([answers, stored]) + test.logged();
  expect(secrets.filter((secret) => secret !== '' && everything.includes(secret))).toEqual([]);
});

describe('14. The official clients run against us: every method of section 25.1 with the answer listed there', () => {
  const watched = createWatchedFetch();
  let folder: string;
  let official: Supermemory;
  let problemsOf: ReturnType<typeof createAnswerCheck>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'memoryd-row14-'));
    const baseURL = await test.api.listen({ host: '127.0.0.1', port: 0 });
    official = new Supermemory({ baseURL, apiKey: fullKey, maxRetries: 0, fetch: watched.fetch });
    problemsOf = createAnswerCheck((await test.call('GET', '/openapi.json', undefined, null)).body);
    for (const { id } of (await test.call('POST', '/v3/connections/list')).body)
      await test.call('DELETE', `/v3/connections/${id}`);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const tour = {
    get client() {
      return official;
    },
    async shelve(content: object) {
      await writeFile(join(folder, 'shelves.json'), JSON.stringify(content));
      return join(folder, 'shelves.json');
    },
    async settle() {
      for (const { id } of (await test.call('POST', '/v3/connections/list')).body) await runDueSync(test, shelves, id);
      await test.process();
    },
  };

  it.each(tourSteps)('%s', async (_, step) => {
    watched.answers.length = 0;
    await step(tour);
    expect(watched.answers.flatMap(problemsOf)).toEqual([]);
  });

  it('and there is no other method', () => {
    expect(tourSteps.map(([name]) => name).sort()).toEqual(methodsOf(official));
  });
});
