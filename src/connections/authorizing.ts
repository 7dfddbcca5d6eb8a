import type { Clock } from '../base/clock.ts';
import type { Encryption } from '../base/encryption.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import type { Connector } from '../connector/contract.ts';
import { createCredentials, type Credentials } from '../auth/credentials.ts';
import type { Outbound } from '../source/http/outbound.ts';
import { createConsents, type Consents, createReactivation } from './consents.ts';
import { createOAuthClients, type ClientConfig, type OAuthClients } from '../auth/oauth-clients.ts';
import { createVault } from '../auth/vault.ts';

export interface AuthorizingOptions {
  database: Database;
  encryption: Encryption;
  /** The OAuth clients that the configuration names. */
  clients: ClientConfig;
  connector(name: string): Promise<Connector<any, any>>;
  clock: Clock;
  log: Logger;
  /** Absent: accounts of new connections are not named. */
  outbound?: Outbound | undefined;
  /** Where browsers reach this daemon, without a slash at the end. */
  publicUrl(): string;
  /** Called when a user's consent has made a connection or brought it back. */
  connected(connectionId: string): Promise<void>;
}

/** Everything that authorizes connections. */
export interface Authorizing {
  credentials: Credentials;
  consents: Consents;
  clients: OAuthClients;
  close(): Promise<void>;
}

export function createAuthorizing(options: AuthorizingOptions): Authorizing {
  const { database, clock } = options;
  const vault = createVault(options.encryption);
  const clients = createOAuthClients({ database, vault, clock, config: options.clients });
  const credentials = createCredentials({ ...options, vault, clients });
  const consents = createConsents({ ...options, vault, credentials, reactivate: createReactivation(clock) });
  return { credentials, consents, clients, close: () => credentials.close() };
}
