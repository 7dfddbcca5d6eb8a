import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { Connector } from '../../src/connector/contract.ts';
import { defaultRunSettings } from '../../src/sync/run.ts';
import { runSync } from '../../src/sync/runner.ts';
import { findConnection } from '../../src/store/connections.ts';
import { holdLease } from '../../src/store/leases.ts';
import { sql } from '../../src/store/sql.ts';
import { publicUrl, startTestApi, type TestApi } from '../support/api.ts';
import { mainEngine } from '../support/databases.ts';
import { signed, withHooks } from '../support/hooked-connector.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const never = new AbortController().signal;
const day = 24 * 60 * 60_000;

describe('hooks', () => {
  let test: TestApi;
  let synthetic: ReturnType<typeof createSyntheticSource>;
  let hooked: ReturnType<typeof withHooks>;
  let connector: Connector<any, any>;

  async function open(options: Parameters<typeof withHooks>[1] = {}, lookup = true) {
    synthetic = createSyntheticSource();
    hooked = withHooks(synthetic.connector({ lookup }), options);
    connector = hooked.connector;
    test = await startTestApi({
      connectors: {
        synthetic: connector,
        plain: { ...synthetic.connector(), spec: { ...connector.spec, name: 'plain' } },
      },
      sharedSecrets: { synthetic: 'the secret of all' },
    });
    hooked.source.now = () => test.clock.now();
  }
  const reconcileHooks = async () => test.hooks.subscriptions.reconcile(never, await lead('this process'));
  /** Makes a process the leader; one that led before is taken to have been stopped for an hour. */
  async function lead(holder: string) {
    const now = new Date(test.clock.now().getTime() + 60 * 60_000);
    return (await holdLease(test.database, 'scheduler', { holder, until: test.clock.now(), now }))!;
  }

  /** A connection that has subscribed, and the secret that its source signs with. */
  async function connect(account?: string) {
    const { body } = await test.call('POST', '/v3/connections/synthetic', {
      containerTag: `c${Math.random()}`.replace('.', ''),
    });
    const id: string = body.id;
    if (account !== undefined) {
      await test.database.execute(sql`update connections set account_id = ${account} where id = ${id}`);
    }
    await reconcileHooks();
    const secret = hooked.source.subscribed.at(-1)!.secret;
    // As after the first sync.
    await test.database.execute(
      sql`update connections set requested_sync = null, next_sync_at = null where id = ${id}`,
    );
    return { id, secret };
  }

  const send = (path: string, request: { payload: string; headers: Record<string, string> }) =>
    test.api.inject({ method: 'POST', url: `/v3/hooks/${path}`, ...request });

  const requested = async (id: string) => (await findConnection(test.database, id))!.requestedSync;
  const event = (fields: object) => JSON.stringify(fields);

  describe('of a connection', () => {
    beforeAll(() => open());
    beforeEach(() => void (hooked.source.onReceive = async () => {}));
    afterAll(() => test.close());

    it('ask for a sync of just what they name, a moment later', async () => {
      const { id, secret } = await connect();
      const body = event({ delivery: 'd1', hints: [{ partition: 'all', ids: ['a', 'b'] }] });
      const answer = await send(`synthetic/${id}`, signed(body, secret));
      expect([answer.statusCode, answer.json()]).toEqual([202, { received: true }]);
      const row = (await findConnection(test.database, id))!;
      expect(row.requestedSync).toEqual({ mode: 'incremental', trigger: 'event', hints: { all: ['a', 'b'] } });
      expect(row.nextSyncAt!.getTime() - test.clock.now().getTime()).toBe(3_000);
    });

    it('that arrive together are served by one sync, whatever their order', async () => {
      const { id, secret } = await connect();
      const first = signed(event({ delivery: 'd2', hints: [{ partition: 'all', ids: ['b', 'c'] }] }), secret);
      const second = signed(event({ delivery: 'd1', hints: [{ partition: 'all', ids: ['a', 'b'] }] }), secret);
      await send(`synthetic/${id}`, first);
      const dueAt = (await findConnection(test.database, id))!.nextSyncAt;
      test.clock.advance(2_000);
      await send(`synthetic/${id}`, second);
      const row = (await findConnection(test.database, id))!;
      expect(row.requestedSync!.hints!['all']!.toSorted()).toEqual(['a', 'b', 'c']);
      // Hints that keep coming do not put the sync off for ever.
      expect(row.nextSyncAt).toEqual(dueAt);
    });

    it('are forgotten when they come again, by their delivery id or by being the same', async () => {
      const { id, secret } = await connect();
      const named = signed(event({ delivery: 'd1', hints: [{}] }), secret);
      const nameless = signed(event({ hints: [{}] }), secret, { 'x-number': '1' });
      for (const request of [named, nameless]) {
        await send(`synthetic/${id}`, request);
        expect(await requested(id)).toEqual({ mode: 'incremental', trigger: 'event' });
        await test.database.execute(sql`update connections set requested_sync = null where id = ${id}`);
        const again = { ...request, headers: { ...request.headers, 'x-forwarded-for': '192.0.2.7' } };
        expect((await send(`synthetic/${id}`, again)).statusCode).toBe(202);
        expect(await requested(id)).toBeNull();
      }
      await send(`synthetic/${id}`, signed(event({ hints: [{}] }), secret, { 'x-number': '2' }));
      expect(await requested(id)).not.toBeNull();
    });

    it('are refused with a wrong signature, one of another connection, or none', async () => {
      const { id, secret } = await connect();
      const other = await connect();
      const body = event({ hints: [{}] });
      for (const request of [
        signed(body, 'another secret'),
        signed(body, other.secret),
        { payload: body, headers: { 'content-type': 'application/json' } },
        { ...signed(body, secret), payload: `${body} ` },
        signed(body, 'the secret of all'),
      ]) {
        expect((await send(`synthetic/${id}`, request)).statusCode).toBe(401);
      }
      expect(await requested(id)).toBeNull();
    });

    it('look alike for connections that never were, are of another provider, or have gone', async () => {
      const { id, secret } = await connect();
      const plain = (await test.call('POST', '/v3/connections/plain')).body.id;
      const gone = await connect();
      await test.call('DELETE', `/v3/connections/${gone.id}`);
      const request = signed(event({ hints: [{}] }), secret);
      const paths = [
        `synthetic/${'1'.repeat(22)}`,
        `plain/${id}`,
        `plain/${plain}`,
        `synthetic/${plain}`,
        `synthetic/${gone.id}`,
        `nobody/${id}`,
        'plain',
        '../x',
        `synthetic/%00`,
      ];
      const answers = await Promise.all(paths.map((path) => send(path, request)));
      expect(new Set(answers.slice(0, 7).map(({ statusCode, body }) => `${statusCode} ${body}`))).toEqual(
        new Set(['404 {"error":"There is no hook at this address"}']),
      );
      expect(answers.slice(7).map(({ statusCode }) => statusCode)).not.toContain(500);
    });

    it('are read as they arrived, byte by byte, and refused when the connector cannot read them', async () => {
      const { id, secret } = await connect();
      const odd = '{ "hints" : [ { } ],\r\n "delivery":"\\u00e9 \u00e9"}';
      for (const type of [
        'application/json',
        'application/x-www-form-urlencoded',
        'text/plain',
        'application/octet-stream',
      ]) {
        expect((await send(`synthetic/${id}`, signed(odd, secret, { 'content-type': type }))).statusCode).toBe(202);
      }
      const unreadable = await send(`synthetic/${id}`, signed('{', secret));
      expect([unreadable.statusCode, unreadable.json()]).toEqual([400, { error: 'The hook cannot be read' }]);
      expect(test.logged()).not.toContain('"level":50');
    });

    it('are refused above the size that their connector takes, 256 KiB when it does not say', async () => {
      const { id, secret } = await connect();
      const padded = `${event({ hints: [] })}${' '.repeat(256 * 1024 - event({ hints: [] }).length)}`;
      expect((await send(`synthetic/${id}`, signed(padded, secret))).statusCode).toBe(202);
      expect((await send(`synthetic/${id}`, signed(`${padded} `, secret))).statusCode).toBe(413);
    });

    it('are taken at the path of the published interface, too', async () => {
      const { id, secret } = await connect();
      const sent = (path: string, request: ReturnType<typeof signed>) =>
        test.api.inject({ method: 'POST', url: `/v3/webhooks/${path}`, ...request });
      const body = event({ delivery: 'w1', hints: [{ partition: 'all', ids: ['w'] }] });
      expect((await sent(`synthetic/${id}`, signed(body, secret))).statusCode).toBe(202);
      expect((await requested(id))?.hints).toEqual({ all: ['w'] });
      expect((await sent(`synthetic/${id}`, signed(body, 'not the secret'))).statusCode).toBe(401);
      expect((await sent('synthetic/unknown', signed(body, secret))).statusCode).toBe(404);
    });

    it('of handshakes get the answer of the connector, as nothing that a browser would run', async () => {
      const { id } = await connect();
      const answer = await test.api.inject({ method: 'GET', url: `/v3/hooks/synthetic/${id}?challenge=%3Cscript%3E` });
      expect([answer.statusCode, answer.body]).toEqual([200, '<script>']);
      expect(answer.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'x-hook-secret': 'echo',
      });
    });

    it('are answered when checking them takes too long', async () => {
      const { id, secret } = await connect();
      const stuck = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      hooked.source.onReceive = async () => {
        begun.resolve();
        await stuck.promise;
      };
      const answer = send(`synthetic/${id}`, signed(event({ hints: [{}] }), secret));
      await begun.promise;
      test.clock.advance(500);
      expect((await answer).statusCode).toBe(503);
      stuck.resolve();
    });

    // The embedded database has one writer at a time, which would wait for the other one.
    if (mainEngine === 'postgres') {
      it('are answered while their connection is locked, and stored when it is free', async () => {
        const { id, secret } = await connect();
        const locked = Promise.withResolvers<void>();
        const done = Promise.withResolvers<void>();
        const holder = test.database.transaction(async (tx) => {
          await tx.query(sql`select 1 from connections where id = ${id} for update`);
          locked.resolve();
          await done.promise;
        });
        await locked.promise;
        const answer = send(`synthetic/${id}`, signed(event({ hints: [{}] }), secret));
        const waiting = () =>
          test.database.query(sql`
            select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
        await expect.poll(async () => (await waiting()).length, { timeout: 20_000 }).toBeGreaterThan(0);
        test.clock.advance(500);
        expect((await answer).statusCode).toBe(202);
        done.resolve();
        await holder;
        await expect.poll(() => requested(id), { timeout: 20_000 }).not.toBeNull();
      });
    }

    it('name so many items that looking at everything is cheaper', async () => {
      const { id, secret } = await connect();
      const ids = Array.from({ length: 5_001 }, (_, index) => `item ${index}`);
      await send(`synthetic/${id}`, signed(event({ delivery: 'many', hints: [{ partition: 'all', ids }] }), secret));
      expect(await requested(id)).toEqual({ mode: 'incremental', trigger: 'event' });
    });

    it('do no harm to a connection that is paused', async () => {
      const { id, secret } = await connect();
      await test.call('PATCH', `/v3/connections/${id}`, { paused: true });
      expect((await send(`synthetic/${id}`, signed(event({ hints: [{}] }), secret))).statusCode).toBe(202);
      expect((await findConnection(test.database, id))!.status).toBe('paused');
    });

    it('bring the change into memory, however they were repeated and reordered', async () => {
      const { id, secret } = await connect();
      const sync = async () => {
        // As long as hooks are gathered.
        test.clock.advance(10_000);
        await runSync(
          {
            database: test.database,
            clock: test.clock,
            log: silentLogger,
            settings: defaultRunSettings,
            connector: async () => connector,
            wake: async () => {},
          },
          id,
          never,
        );
      };
      synthetic.put('a', 'first');
      synthetic.put('b', 'kept');
      await test.database.execute(sql`update connections set next_sync_at = ${test.clock.now()} where id = ${id}`);
      await sync();
      synthetic.put('a', 'edited');
      synthetic.put('a', 'edited again');
      synthetic.remove('b');
      const events = ['b', 'a', 'a'].map((item, index) =>
        signed(event({ delivery: `d${index}`, hints: [{ partition: 'all', ids: [item] }] }), secret),
      );
      for (const one of [events[2]!, events[0]!, events[2]!, events[1]!]) await send(`synthetic/${id}`, one);
      synthetic.requests.length = 0;
      await sync();
      const rows = await test.database.query<{ raw: string }>(sql`
        select c.raw from documents d join document_contents c on c.document_id = d.id
        where d.connection_id = ${id} and d.deleted_at is null`);
      expect(rows).toEqual([{ raw: 'edited again' }]);
      expect(synthetic.requests.filter((one) => one === 'list')).toEqual([]);
    });
  });

  describe('of a provider', () => {
    beforeAll(() => open());
    afterAll(() => test.close());

    it('reach the connections of the account that they name, and say nothing about others', async () => {
      const mine = await connect('account-1');
      const other = await connect('account-2');
      const body = event({ delivery: 'd1', account: 'account-1', hints: [{}] });
      const known = await send('synthetic', signed(body, 'the secret of all'));
      expect(await requested(mine.id)).toEqual({ mode: 'incremental', trigger: 'event' });
      expect(await requested(other.id)).toBeNull();
      const unknown = await send(
        'synthetic',
        signed(event({ delivery: 'd2', account: 'nobody', hints: [{}] }), 'the secret of all'),
      );
      expect([unknown.statusCode, unknown.body]).toEqual([known.statusCode, known.body]);
      expect((await send('synthetic', signed(body, mine.secret))).statusCode).toBe(401);
    });
  });

  describe('subscriptions', () => {
    afterEach(() => test.close());

    const reconcile = reconcileHooks;

    it('are made once, with a secret of their own that is stored sealed', async () => {
      await open();
      const first = await connect();
      const second = await connect();
      await reconcile();
      const { subscribed } = hooked.source;
      expect(subscribed.map(({ url }) => url)).toEqual(
        [first.id, second.id].map((id) => `${publicUrl}/v3/hooks/synthetic/${id}`),
      );
      expect(subscribed[0]!.secret).toHaveLength(43);
      expect(subscribed[0]!.secret).not.toBe(subscribed[1]!.secret);
      const rows = await test.database.query(sql`select * from hook_registrations`);
      expect(JSON.stringify(rows)).not.toContain(subscribed[0]!.secret);
      expect(test.logged()).not.toContain(subscribed[0]!.secret);
    });

    it.each([true, false])('are renewed a day before they end; by the source itself: %s', async (canRenew) => {
      await open({ lifeMs: 7 * day, canRenew });
      await connect();
      test.clock.advance(5 * day);
      await reconcile();
      expect([hooked.source.renewals, hooked.source.subscribed.length]).toEqual([0, 1]);
      test.clock.advance(day + 60_000);
      await reconcile();
      expect([hooked.source.renewals, hooked.source.subscribed.length]).toEqual(canRenew ? [1, 1] : [0, 2]);
      // A new one is there before the old one goes.
      expect([...hooked.source.active.keys()]).toEqual([canRenew ? 'channel-1' : 'channel-2']);
    });

    it('that a process made while another took the work over are not stored, and end at the source', async () => {
      await open({ lifeMs: 7 * day, canRenew: true });
      const { id } = await connect();
      await test.database.execute(sql`update connections set selection = '[{"id": "r1"}]' where id = ${id}`);
      await test.hooks.subscriptions.changed(id);
      const lease = await lead('this process');
      hooked.source.beforeSubscribed = async () => void (await lead('another process'));
      await expect(test.hooks.subscriptions.reconcile(never, lease)).rejects.toMatchObject({ code: 'lease_lost' });
      expect([...hooked.source.active.keys()]).toEqual(['channel-1']);
      const stored = await test.database.query<{ id: string }>(sql`select id from hook_subscriptions`);
      expect(stored).toEqual([{ id: 'channel-1' }]);
    });

    it('that ended unnoticed are made again', async () => {
      await open({ lifeMs: 7 * day, canRenew: true });
      await connect();
      test.clock.advance(30 * day);
      await reconcile();
      expect(hooked.source.subscribed).toHaveLength(2);
    });

    it('follow the selection', async () => {
      await open();
      const { id } = await connect();
      await test.database.execute(sql`update connections set selection = '[{"id": "r1"}]' where id = ${id}`);
      await reconcile();
      expect(hooked.source.subscribed).toHaveLength(1);
      await test.hooks.subscriptions.changed(id);
      await reconcile();
      expect([...hooked.source.active.keys()]).toEqual(['channel-2']);
    });

    it('that fail are tried again later and later, and do not keep others', async () => {
      await open();
      hooked.source.fails = true;
      const { body } = await test.call('POST', '/v3/connections/synthetic');
      await reconcile();
      await reconcile();
      const problem = () =>
        test.database.query(sql`select failures, problem from hook_registrations where connection_id = ${body.id}`);
      expect(await problem()).toEqual([{ failures: 1, problem: 'the source refuses' }]);
      test.clock.advance(5 * 60_000);
      await reconcile();
      test.clock.advance(5 * 60_000);
      await reconcile();
      expect(await problem()).toMatchObject([{ failures: 2 }]);
      hooked.source.fails = false;
      test.clock.advance(5 * 60_000);
      await reconcile();
      expect(await problem()).toEqual([{ failures: 0, problem: null }]);
      expect(hooked.source.active.size).toBe(1);
    });

    it('are cancelled with their connection, also when the source does not answer', async () => {
      await open();
      const first = await connect();
      const second = await connect();
      await test.call('DELETE', `/v3/connections/${first.id}`);
      expect([...hooked.source.active.keys()]).toEqual(['channel-2']);
      hooked.source.fails = true;
      expect((await test.call('DELETE', `/v3/connections/${second.id}`)).status).toBe(200);
      expect(await test.database.query(sql`select 1 from hook_registrations`)).toEqual([]);
    });

    it('are not made for paused connections', async () => {
      await open();
      const { body } = await test.call('POST', '/v3/connections/synthetic');
      await test.call('PATCH', `/v3/connections/${body.id}`, { paused: true });
      await reconcile();
      expect(hooked.source.subscribed).toEqual([]);
    });
  });
});
