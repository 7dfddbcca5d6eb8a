import type { Clock } from '../../base/clock.ts';
import type { Encryption } from '../../base/encryption.ts';
import type { Logger } from '../../base/log.ts';
import type { Database } from '../../store/database.ts';
import { openConnectionContext } from '../../source/context.ts';
import type { Credentials } from '../../auth/credentials.ts';
import type { Outbound } from '../../source/http/outbound.ts';
import type { Registry } from '../../connector/registry.ts';
import { createVault } from '../../auth/vault.ts';
import { createSharedHooks } from './shared-hooks.ts';
import { createHookReceiver, type HookReceiver } from './receiver.ts';
import { createHookSubscriptions, type HookSubscriptions } from './subscriptions.ts';

export interface HooksOptions {
  database: Database;
  registry: Registry;
  credentials: Credentials;
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  encryption: Encryption;
  clock: Clock;
  log: Logger;
  /** Where sources reach this installation; null: they do not. */
  publicUrl: string | null;
  /** Secrets of hooks that serve all connections of a provider. */
  sharedSecrets: Readonly<Record<string, string>>;
  /** Wakes a worker for a connection. */
  wake(connectionId: string): Promise<void>;
}

/** Everything about what sources send by themselves. */
export function createHooks(options: HooksOptions): { receiver: HookReceiver; subscriptions: HookSubscriptions } {
  const { database, clock } = options;
  const vault = createVault(options.encryption);
  const publicUrl = options.publicUrl?.replace(/\/+$/, '') ?? null;
  const subscriptions = createHookSubscriptions({
    ...options,
    vault,
    publicUrl,
    openContext: (connector, connection, signal) => openConnectionContext(options, { connector, connection, signal }),
  });
  const receiver = createHookReceiver({
    ...options,
    secretOf: (id) => subscriptions.secretOf(id),
    shared: createSharedHooks({ database, vault, clock, publicUrl, configured: options.sharedSecrets }),
  });
  return { receiver, subscriptions };
}
