import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refreshIdle } from '../../src/auth/credentials.ts';
import { defaultRunSettings } from '../../src/sync/run.ts';
import { runSync } from '../../src/sync/runner.ts';
import { findConnection, requestSync } from '../../src/store/connections.ts';
import { findCredentials, releaseAllRenewals } from '../../src/store/credentials.ts';
import { sql } from '../../src/store/sql.ts';
import { listRuns } from '../../src/store/sync-runs.ts';
import {
  createShelf,
  startAuthorizationServer,
  type AuthorizationServer,
  type AuthorizationServerOptions,
} from '../support/authorization-server.ts';
import { connect, startProcess, type Process } from '../support/authorized.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createCrashingDatabase } from '../support/crashing-database.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

const lifeMs = 3_600_000;

describe('renewal of tokens', () => {
  let store: TestDatabase;
  let server: AuthorizationServer;
  let clock: TestClock & { waiting: number };
  let one: Process;
  let id: string;

  async function start(options: AuthorizationServerOptions = {}): Promise<void> {
    server = await startAuthorizationServer(options);
    one = process();
    id = await connect(one, server);
    server.grants.length = 0;
  }

  const process = (database = store.database) => startProcess({ database, clock, connector: createShelf(server) });
  const renewals = () => server.grants.filter((grant) => grant === 'refresh_token').length;
  const row = async () => (await findCredentials(store.database, id))!;
  const refuse = (status: number, body: object) => {
    server.interceptToken = (response) => {
      server.grants.push('refused');
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
  };

  beforeEach(async () => {
    store = await openTestDatabase();
    const inner = createTestClock();
    clock = Object.assign(inner, {
      waiting: 0,
      sleep: ((sleep) => async (ms: number, signal?: AbortSignal) => {
        clock.waiting += 1;
        await sleep(ms, signal);
        clock.waiting -= 1;
      })(inner.sleep.bind(inner)),
    });
  });
  afterEach(async () => {
    await one.close();
    await server.close();
    await store.close();
  });

  it('asks once for ten calls with an expired token', async () => {
    await start();
    clock.advance(lifeMs + 1);
    const shared = await one.open(id);
    const own = await Promise.all(Array.from({ length: 5 }, () => one.open(id)));
    const calls = [...Array.from({ length: 5 }, () => shared), ...own];
    const sent = new Set(await Promise.all(calls.map(async (each) => (await each.headers())['authorization'])));
    expect(sent.size).toBe(1);
    expect(server.grants).toEqual(['refresh_token']);
    expect((await row()).version).toBe(2);
  });

  it('asks once for ten calls whose token was refused', async () => {
    await start();
    const authorization = await one.open(id);
    const refused = await authorization.headers();
    const answers = await Promise.all(Array.from({ length: 10 }, () => authorization.renew(refused)));
    expect(answers).toEqual(Array.from({ length: 10 }, () => true));
    expect(server.grants).toEqual(['refresh_token']);
    const renewed = await authorization.headers();
    expect(renewed).not.toEqual(refused);
    // Somebody who is late still holds the old one.
    expect(await authorization.renew(refused)).toBe(true);
    const late = await one.open(id);
    expect(await late.renew(refused)).toBe(true);
    expect(server.grants).toEqual(['refresh_token']);
  });

  it('asks once for two processes', async () => {
    await start();
    const two = process();
    clock.advance(lifeMs + 1);
    const gate = Promise.withResolvers<void>();
    server.held = 0;
    server.hold = gate.promise;
    const first = (await one.open(id)).token();
    await expect.poll(() => server.held).toBe(1);
    const second = (await two.open(id)).token();
    await expect.poll(() => clock.waiting).toBe(1);
    gate.resolve();
    const token = await first;
    clock.advance(1_000);
    expect(await second).toBe(token);
    expect(server.grants).toEqual(['refresh_token']);
  });

  it('a waiting process can be stopped', async () => {
    await start();
    clock.advance(lifeMs + 1);
    const now = clock.now();
    await store.database.execute(sql`
      update credentials set lock_owner = 'another', lock_until = ${new Date(now.getTime() + 60_000)}, renewing_since = ${now}`);
    const stop = new AbortController();
    const waiting = (await one.open(id, stop.signal)).token();
    await expect.poll(() => clock.waiting).toBe(1);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    expect(server.grants).toEqual([]);
  });

  it('renews when four fifths of its life are over, and not before', async () => {
    await start();
    const authorization = await one.open(id);
    const first = await authorization.token();
    clock.advance(lifeMs * 0.8 - 1);
    expect(await authorization.token()).toBe(first);
    expect(renewals()).toBe(0);
    clock.advance(1);
    const second = await authorization.token();
    expect(second).not.toBe(first);
    expect(renewals()).toBe(1);
    clock.advance(lifeMs * 0.8);
    expect(await authorization.token()).not.toBe(second);
    expect(renewals()).toBe(2);
  });

  it('survives a process that dies between the renewal and the storing, if the source lets it', async () => {
    await start({ rotates: false });
    await dieWhileRenewing();
    const survivor = process();
    const waiting = (await survivor.open(id)).token();
    await expect.poll(() => clock.waiting).toBeGreaterThan(0);
    expect(renewals()).toBe(1);
    clock.advance(60_001);
    expect(await waiting).toMatch(/^[\w-]{20,}$/);
    expect(renewals()).toBe(2);
    expect(await row()).toMatchObject({ version: 2, renewingSince: null, denied: false });
  });

  it('says so when the token is lost with that process, and asks no more', async () => {
    await start();
    await dieWhileRenewing();
    // The only process there is frees what its predecessor held.
    await releaseAllRenewals(store.database);
    const survivor = await process().open(id);
    await expect(survivor.token()).rejects.toMatchObject({
      kind: 'auth_expired',
      message: expect.stringContaining('interrupted before its token was stored'),
    });
    expect(server.grants).toEqual(['refresh_token', 'failed refresh_token']);
    clock.advance(lifeMs);
    await expect(survivor.token()).rejects.toMatchObject({ kind: 'auth_expired' });
    await expect((await one.open(id)).headers()).rejects.toMatchObject({ kind: 'auth_expired' });
    expect(server.grants).toHaveLength(2);
  });

  async function dieWhileRenewing(): Promise<void> {
    clock.advance(lifeMs + 1);
    const dying = createCrashingDatabase(store.database);
    server.onGrant = () => dying.crash();
    void (await process(dying).open(id)).token().catch(() => {});
    await expect.poll(renewals).toBe(1);
    await expect.poll(async () => (await row()).renewingSince).not.toBeNull();
    server.onGrant = () => {};
  }

  it('keeps the refresh token when the answer has none', async () => {
    await start({ rotates: false, omitsRefreshToken: true });
    const authorization = await one.open(id);
    for (let renewal = 1; renewal <= 3; renewal++) {
      clock.advance(lifeMs + 1);
      await authorization.token();
      expect(renewals()).toBe(renewal);
    }
  });

  it('goes on with the old token while the source cannot renew, and asks again every half a minute', async () => {
    await start();
    const authorization = await one.open(id);
    const first = await authorization.token();
    clock.advance(lifeMs * 0.8);
    refuse(503, { error: 'temporarily_unavailable' });
    for (let call = 0; call < 5; call++) expect(await authorization.token()).toBe(first);
    expect(await (await one.open(id)).token()).toBe(first);
    expect(server.grants).toEqual(['refused']);
    clock.advance(30_000);
    expect(await authorization.token()).toBe(first);
    expect(server.grants).toEqual(['refused', 'refused']);
    clock.advance(lifeMs * 0.2);
    await expect(authorization.token()).rejects.toMatchObject({ kind: 'transient', retryAt: expect.any(Date) });
    await expect(authorization.token()).rejects.toMatchObject({ kind: 'transient' });
    expect(server.grants).toHaveLength(3);
    server.interceptToken = null;
    clock.advance(30_000);
    expect(await authorization.token()).not.toBe(first);
    expect(await row()).toMatchObject({ failure: null, coolDownUntil: null });
  });

  it('takes no answer for an interrupted renewal, which may have spent the token', async () => {
    await start();
    clock.advance(lifeMs + 1);
    const authorization = await one.open(id);
    server.interceptToken = (response) => response.destroy();
    await expect(authorization.token()).rejects.toMatchObject({ kind: 'transient' });
    expect((await row()).renewingSince).not.toBeNull();
    clock.advance(30_000);
    refuse(400, { error: 'invalid_grant' });
    await expect(authorization.token()).rejects.toMatchObject({ message: expect.stringContaining('interrupted') });
  });

  it('a client that is refused is a matter of the configuration', async () => {
    await start();
    clock.advance(lifeMs + 1);
    refuse(401, { error: 'invalid_client', error_description: 'canary-in-a-description' });
    const authorization = await one.open(id);
    await expect(authorization.token()).rejects.toMatchObject({
      kind: 'bad_config',
      message: expect.not.stringContaining('canary'),
      remedy: expect.stringContaining('OAuth client'),
    });
    expect((await row()).denied).toBe(false);
  });

  it('a grant of a client that is gone needs a new authorization', async () => {
    await start();
    clock.advance(lifeMs + 1);
    const authorization = await one.open(id);
    const other = startProcess({ database: store.database, clock, connector: renamed() });
    await expect((await other.open(id)).token()).rejects.toMatchObject({ kind: 'auth_expired' });
    await expect(authorization.token()).rejects.toMatchObject({
      message: expect.stringContaining('no longer configured'),
    });
    expect(server.grants).toEqual([]);
  });

  /** Its client is configured under another name than the connection has. */
  function renamed() {
    const shelf = createShelf(server);
    return { ...shelf, spec: { ...shelf.spec, name: 'renamed' } };
  }

  describe('in a sync', () => {
    async function sync(): Promise<Awaited<ReturnType<typeof listRuns>>[number]> {
      const { database } = store;
      await database.transaction((tx) =>
        requestSync(tx, id, { mode: 'full', trigger: 'manual' }, { now: clock.now() }),
      );
      const { credentials, connector, log } = one;
      const options = { database, clock, log, credentials, connector: async () => connector, wake: async () => {} };
      await runSync({ ...options, settings: defaultRunSettings }, id, new AbortController().signal);
      return (await listRuns(database, id, { limit: 1 }))[0]!;
    }

    it('a token that the source refuses is renewed, and the sync goes on', async () => {
      await start();
      for (let item = 0; item < 10; item++) server.items.set(`item${item}`, `text ${item}`);
      server.ended.add(await (await one.open(id)).token());
      expect(await sync()).toMatchObject({ status: 'completed', error: null, itemsAdded: 11 });
      expect(renewals()).toBe(1);
    });

    it('a grant that is gone stops the connection, and nobody asks again until it is authorized', async () => {
      await start();
      server.ended.add(await (await one.open(id)).token());
      refuse(400, { error: 'invalid_grant' });
      expect(await sync()).toMatchObject({ status: 'failed', errorCode: 'auth_expired' });
      expect(await findConnection(store.database, id)).toMatchObject({
        status: 'needs_reauth',
        statusReason: expect.stringContaining('invalid_grant'),
      });
      expect(server.grants).toEqual(['refused']);
      await expect((await one.open(id)).headers()).resolves.toBeDefined();
      await expect((await one.open(id)).renew(await (await one.open(id)).headers())).rejects.toMatchObject({
        kind: 'auth_expired',
      });
      expect(server.grants).toEqual(['refused']);
    });
  });

  it('grants that nobody used for a day are renewed', async () => {
    await start();
    const options = { ...one, connector: async () => one.connector };
    const { signal } = new AbortController();
    clock.advance(23 * lifeMs);
    expect(await refreshIdle(options, signal)).toEqual({ renewed: 0, failed: 0 });
    clock.advance(2 * lifeMs);
    await store.database.execute(sql`update connections set status = 'paused'`);
    expect(await refreshIdle(options, signal)).toEqual({ renewed: 1, failed: 0 });
    expect(await refreshIdle(options, signal)).toEqual({ renewed: 0, failed: 0 });
    expect(renewals()).toBe(1);
    clock.advance(25 * lifeMs);
    refuse(400, { error: 'invalid_grant' });
    expect(await refreshIdle(options, signal)).toEqual({ renewed: 0, failed: 1 });
    expect((await findConnection(store.database, id))!.status).toBe('needs_reauth');
    expect(await refreshIdle(options, signal)).toEqual({ renewed: 0, failed: 0 });
  });

  it('a token of a connection that is removed meanwhile is ended', async () => {
    await start();
    clock.advance(lifeMs + 1);
    const authorization = await one.open(id);
    server.onGrant = () => {
      server.onGrant = () => {};
      return store.database.execute(sql`delete from connections where id = ${id}`);
    };
    await expect(authorization.token()).rejects.toMatchObject({ kind: 'auth_expired' });
    expect(server.grants).toContain('revocation');
  });
});
