import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { findConnection, setConnectionStatus } from '../store/connections.ts';
import { idleGrants } from '../store/credentials.ts';
import type { Database } from '../store/database.ts';
import { ConnectorError, type Connector } from '../connector/contract.ts';
import type { Credentials } from './credentials.ts';

export interface RefreshIdleOptions {
  database: Database;
  credentials: Credentials;
  connector(name: string): Promise<Connector<any, any>>;
  clock: Clock;
  log: Logger;
}

/** Sources end grants that nobody uses, some after a week. */
const idleAfterMs = 24 * 60 * 60_000;
const atOnce = 100;

/**
 * Renews the grants of connections that have renewed nothing for a day, such as paused and rarely
 * synced ones; some at a time, so it is called again and again. A connection whose grant is gone
 * waits for a new authorization from then on.
 */
export async function refreshIdle(
  options: RefreshIdleOptions,
  signal: AbortSignal,
): Promise<{ renewed: number; failed: number }> {
  const now = options.clock.now();
  const renewedBefore = new Date(now.getTime() - idleAfterMs);
  const counts = { renewed: 0, failed: 0 };
  for (const id of await idleGrants(options.database, { renewedBefore, now, limit: atOnce })) {
    if (signal.aborted) break;
    counts[(await refreshOne(options, id, signal)) ? 'renewed' : 'failed'] += 1;
  }
  return counts;
}

async function refreshOne(options: RefreshIdleOptions, id: string, signal: AbortSignal): Promise<boolean> {
  const { database, credentials, log } = options;
  const connection = await findConnection(database, id);
  if (!connection) return false;
  try {
    const { spec } = await options.connector(connection.provider);
    await credentials.renew(connection, spec, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    if (ConnectorError.is(error) && error.kind === 'auth_expired') {
      const change = { status: 'needs_reauth', reason: error.message, now: options.clock.now() };
      await setConnectionStatus(database, id, change);
    } else {
      log.warn({ err: error, connectionId: id }, 'a grant could not be renewed ahead of time');
    }
    return false;
  }
}
