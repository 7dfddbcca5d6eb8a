import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import imap from '../../connectors/imap/index.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { startTap, type Tap } from '../../fixtures/servers/imap/tap.ts';
import { systemClock } from '../../src/base/clock.ts';
import { startAuthorizationServer, type AuthorizationServer } from '../support/authorization-server.ts';
import { connect, startProcess, type Process } from '../support/authorized.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { mailText, openMailContext } from '../support/mail-context.ts';
import { describeWhen } from '../support/services.ts';

const mira = { user: 'mira', password: 'only-for-the-writer' };
const partition = { id: 'mail' };

/** What Dovecot asks about a token (RFC 7662), answered from the tokens that the server has given out. */
async function introspect(server: AuthorizationServer): Promise<Server> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const piece of request) body += String(piece);
    const token = new URLSearchParams(body).get('token') ?? '';
    const found = server.ended.has(token) ? undefined : await server.provider.AccessToken.find(token);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ? { active: true, sub: found.accountId } : { active: false }));
  }

  const endpoint = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  return endpoint;
}

describeWhen(dovecotBinary, 'there is no Dovecot', 'OAuth of the mail connector', (binary) => {
  let authorization: AuthorizationServer;
  let endpoint: Server;
  let server: Dovecot;
  let tap: Tap;
  let store: TestDatabase;
  let daemon: Process;

  beforeEach(async () => {
    authorization = await startAuthorizationServer({ provider: 'imap' });
    endpoint = await introspect(authorization);
    const { port } = endpoint.address() as AddressInfo;
    server = await startDovecot(binary, { introspectionUrl: `http://dovecot:word@127.0.0.1:${port}/` });
    await server.addUser(mira);
    tap = await startTap(server.port, systemClock);
    store = await openTestDatabase('pglite');
    daemon = startProcess({ database: store.database, clock: systemClock, connector: imap });
  });
  afterEach(async () => {
    await daemon.close();
    await store.close();
    await tap.close();
    await server.close();
    endpoint.close();
    await authorization.close();
  });

  async function connected() {
    const { url } = authorization;
    const config = {
      user: mira.user,
      port: tap.port,
      authorizeUrl: `${url}/auth?prompt=consent&scope=${encodeURIComponent('openid offline_access items')}`,
      tokenUrl: `${url}/token`,
    };
    const id = await connect(daemon, authorization, { config });
    return { ...openMailContext(config, await daemon.open(id)), id };
  }

  const mechanisms = () => tap.traffic.recent().filter(({ method }) => method === 'AUTHENTICATE').length;

  it('reads on when the token ends in the middle of a sync', async () => {
    const writer = await server.writer(mira);
    await writer.append('INBOX', mailText(['Message-ID: <one@x>', 'Subject: One']));
    const { ctx, dispose } = await connected();
    const { refs } = await imap.list(ctx, partition);
    expect(refs.map(({ id }) => id)).toEqual(['<one@x>']);
    // The token ends, and with it the connection, which does not outlive it at large providers.
    authorization.ended.add(await ctx.token());
    let left = 1;
    tap.rule(({ name }) => (name === 'EXAMINE' && left-- > 0 ? 'reset' : undefined));
    expect(await imap.fetch(ctx, partition, refs[0]!)).toMatchObject({ title: 'One' });
    expect(authorization.grants.filter((grant) => grant === 'refresh_token')).toHaveLength(1);
    // One login, one that was refused, one with the new token.
    expect(mechanisms()).toBe(3);
    await dispose();
  });

  it('asks for a new authorization when the grant is withdrawn', async () => {
    const { ctx, dispose } = await connected();
    authorization.ended.add(await ctx.token());
    authorization.interceptToken = (response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
    };
    await expect(imap.list(ctx, partition)).rejects.toMatchObject({ kind: 'auth_expired' });
    expect(mechanisms()).toBe(1);
    await dispose();
  });
});
