import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { newEncryptionKey } from '../../src/base/encryption.ts';
import { sql } from '../../src/store/sql.ts';
import { client, createShelf, startAuthorizationServer } from '../support/authorization-server.ts';
import { connect, startProcess } from '../support/authorized.ts';
import { openTestDatabase } from '../support/databases.ts';
import type { RenewalTask } from '../support/renewal-worker.ts';
import { describeWithService } from '../support/services.ts';

describeWithService('DATABASE_URL', 'renewal by several processes', (serverUrl) => {
  const children: ChildProcess[] = [];
  afterEach(() => children.forEach((child) => child.kill()));

  it('asks the source once for thirty calls of three processes', async () => {
    const store = await openTestDatabase('postgres');
    const server = await startAuthorizationServer();
    const connector = createShelf(server);
    const encryptionKey = newEncryptionKey();
    const own = startProcess({ database: store.database, clock: systemClock, connector, encryptionKey });
    const connectionId = await connect(own, server);
    const refused = await (await own.open(connectionId)).token();
    const [name] = await store.database.query<{ name: string }>(sql`select current_database() as name`);
    const databaseUrl = Object.assign(new URL(serverUrl), { pathname: `/${name!.name}` }).href;
    const task: RenewalTask = {
      databaseUrl,
      encryptionKey,
      client,
      spec: connector.spec,
      connectionId,
      refused,
      calls: 10,
    };

    for (let child = 0; child < 3; child++) {
      children.push(fork(new URL('../support/renewal-worker.ts', import.meta.url), [JSON.stringify(task)]));
    }
    await Promise.all(children.map((child) => once(child, 'message')));
    const gate = Promise.withResolvers<void>();
    Object.assign(server, { grants: [], held: 0, hold: gate.promise });
    const answers = children.map(async (child) => (await once(child, 'message'))[0] as string[]);
    for (const child of children) child.send('go');
    await expect.poll(() => server.held).toBe(1);
    gate.resolve();
    const tokens = new Set((await Promise.all(answers)).flat());
    expect([...tokens]).toEqual([await (await own.open(connectionId)).token()]);
    expect(tokens).not.toContain(refused);
    expect(server.grants).toEqual(['refresh_token']);

    await own.close();
    await server.close();
    await store.close();
  });
});
