import { createEncryption, newEncryptionKey } from '../../src/base/encryption.ts';
import { createLogger } from '../../src/base/log.ts';
import { createAuthorizing } from '../../src/connections/authorizing.ts';
import type { ConnectionPlan } from '../../src/connections/connection-plan.ts';
import { isOAuth } from '../../src/auth/fields.ts';
import type { Connector } from '../../src/connector/contract.ts';
import type { Clock } from '../../src/base/clock.ts';
import { findConnection } from '../../src/store/connections.ts';
import type { Database } from '../../src/store/database.ts';
import { publicUrl } from './api.ts';
import { client, type AuthorizationServer } from './authorization-server.ts';

const sharedKey = newEncryptionKey();

export const emptyPlan: ConnectionPlan = {
  containerTag: 'authorized',
  config: {},
  metadata: {},
  fields: {},
  filters: {},
  documentLimit: null,
  onSourceDelete: 'delete',
  schedule: null,
  allowedHours: null,
  syncEveryMs: null,
};

/** One process, as far as it has to do with credentials. All of a test file have the same encryption key. */
export function startProcess(options: {
  database: Database;
  clock: Clock;
  connector: Connector<any, any>;
  encryptionKey?: string;
}) {
  const lines: string[] = [];
  const log = createLogger('debug', { write: (line) => void lines.push(line) });
  const authorizing = createAuthorizing({
    ...options,
    log,
    encryption: createEncryption([options.encryptionKey ?? sharedKey]),
    clients: { oauthClients: { [options.connector.spec.name]: client } },
    connector: async () => options.connector,
    publicUrl: () => publicUrl,
    connected: async () => {},
  });
  return {
    ...authorizing,
    ...options,
    log,
    logged: () => lines.join(''),
    /** What a connector would work with. */
    async open(id: string, signal = new AbortController().signal) {
      const connection = (await findConnection(options.database, id))!;
      return (await authorizing.credentials.open(connection, options.connector.spec, signal))!.authorization;
    },
  };
}

export type Process = ReturnType<typeof startProcess>;

/** Makes a connection by the consent of a user of the server. */
export async function connect(process: Process, server: AuthorizationServer, plan: Partial<ConnectionPlan> = {}) {
  const { connector, consents } = process;
  const auth = connector.spec.auth.find(isOAuth)!;
  const of = { plan: { ...emptyPlan, ...plan } };
  const { id, authLink } = await consents.begin({ connector, auth, of, redirectUrl: null });
  const { searchParams } = await server.consent(authLink);
  const answer = { code: searchParams.get('code')!, state: searchParams.get('state')! };
  const result = await consents.complete(connector.spec.name, answer);
  if (result.outcome !== 'connected') throw new Error(result.reason);
  return id;
}
