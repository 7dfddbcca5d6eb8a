/** A process that renews the token of one connection when its parent says so, and prints what it has then. */
import { systemClock } from '../../src/base/clock.ts';
import { createEncryption } from '../../src/base/encryption.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createAuthorizing } from '../../src/connections/authorizing.ts';
import type { ConnectorSpec } from '../../src/connector/contract.ts';
import { findConnection } from '../../src/store/connections.ts';
import { openPostgres } from '../../src/store/postgres.ts';

export interface RenewalTask {
  databaseUrl: string;
  encryptionKey: string;
  client: { clientId: string; clientSecret: string };
  spec: ConnectorSpec;
  connectionId: string;
  /** The token that the source no longer takes. */
  refused: string;
  /** Calls at once. */
  calls: number;
}

const task = JSON.parse(process.argv[2]!) as RenewalTask;
const database = await openPostgres({ url: task.databaseUrl, log: silentLogger });
const { credentials, close } = createAuthorizing({
  database,
  encryption: createEncryption([task.encryptionKey]),
  clients: { oauthClients: { [task.spec.name]: task.client } },
  connector: () => Promise.reject(new Error('no connector is needed')),
  clock: systemClock,
  log: silentLogger,
  publicUrl: () => 'http://localhost',
  connected: async () => {},
});
const connection = (await findConnection(database, task.connectionId))!;
const { authorization } = (await credentials.open(connection, task.spec, new AbortController().signal))!;
process.once('message', () => void renew());
process.send!('ready');

async function renew(): Promise<void> {
  const calls = Array.from({ length: task.calls }, () => authorization.token(task.refused));
  const tokens = new Set(await Promise.all(calls));
  await close();
  await database.close();
  process.send!([...tokens], () => process.disconnect());
}
