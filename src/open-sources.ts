import { realpath } from 'node:fs/promises';
import { encryptionOptions, type AppOptions } from './adapters.ts';
import type { Credentials } from './auth/credentials.ts';
import { openEncryption } from './auth/encryption-keys.ts';
import { createAddressGuard } from './base/address-guard.ts';
import { createMetrics, type Metrics } from './base/metrics.ts';
import { createAuthorizing, type Authorizing } from './connections/authorizing.ts';
import { createConnections } from './connections/connection-service.ts';
import { loadPlugins, type Plugins } from './connector/plugins.ts';
import { builtInNames, createRegistry, type ConnectorLoader, type Registry } from './connector/registry.ts';
import { createHooks } from './inbound/hooks/receiver.ts';
import { createPush } from './inbound/push/create-push.ts';
import { createWatching, type Watching } from './inbound/watching.ts';
import type { Engine } from './open-engine.ts';
import type { Opened } from './opening.ts';
import { requireSchedule } from './schedule/connection-schedule.ts';
import { createOutbound, type Outbound } from './source/http/outbound.ts';
import { makeDataDir } from './store/pglite/cluster-directory.ts';
import { defaultRunSettings, type RunSettings } from './sync/run.ts';

const builtInConnectors: Record<(typeof builtInNames)[number], ConnectorLoader> = {
  folder: () => import('../connectors/folder/index.ts'),
  github: () => import('../connectors/github/index.ts'),
  gmail: () => import('../connectors/gmail/index.ts'),
  'google-drive': () => import('../connectors/google-drive/index.ts'),
  imap: () => import('../connectors/imap/index.ts'),
  notion: () => import('../connectors/notion/index.ts'),
  push: () => import('../connectors/push/index.ts'),
};

/** Connectors, their ways out to sources and the sources' ways in, and the connections of the users. */
export interface Sources {
  plugins: Plugins & { installed: readonly string[] };
  registry: Registry;
  metrics: Metrics;
  outbound: Outbound;
  credentials: Credentials;
  consents: Authorizing['consents'];
  clients: Authorizing['clients'];
  watching: Watching;
  hooks: ReturnType<typeof createHooks>;
  push: ReturnType<typeof createPush>;
  connections: ReturnType<typeof createConnections>;
  runSettings: RunSettings;
}

/** `publicUrl` says where browsers reach this process by now. */
export async function openSources(
  options: AppOptions,
  { database, waking, afterQueue }: Engine,
  { opened, publicUrl }: { opened: Opened; publicUrl: () => string },
): Promise<Sources> {
  const { config, clock, log } = options;
  const wake = (connectionId: string) => waking.connection(connectionId);
  const wakeDocuments = (count: number) => waking.documents(count);
  const plugins = await loadPlugins(config.connectors, { folder: process.cwd(), builtIn: builtInNames, log, clock });
  const registry = createRegistry({ ...builtInConnectors, ...plugins.loaders }, plugins.broken);
  const connector = registry.load;
  const works = config.role === 'all' || config.role === 'worker';
  const changed = async () => {
    if (works) await watching.refresh();
  };
  const encryption = await openEncryption(encryptionOptions(options, database));
  const guard = createAddressGuard(config);
  const metrics = createMetrics();
  const ownFolders = [await ownFolder(config.dataDir)];
  const outbound = afterQueue.add(createOutbound({ database, clock, log, guard, metrics, ownFolders }));
  const { credentials, consents, clients } = afterQueue.add(
    createAuthorizing({
      ...{ database, encryption, outbound, connector, clock, log, publicUrl },
      clients: config,
      connected: async (id) => {
        await changed();
        await wake(id);
      },
    }),
  );
  const watching = createWatching({ database, credentials, outbound, clock, log, connector, wake });
  const hooks = createHooks({
    ...{ database, registry, credentials, outbound, encryption, clock, log, wake },
    publicUrl: config.publicUrl ?? null,
    sharedSecrets: config.hookSecrets ?? {},
  });
  opened.add(hooks.receiver);
  const runSettings = { ...defaultRunSettings, standardSchedule: requireSchedule(config.sync.cron, 'sync.cron') };
  const push = createPush({ database, clock, log, settings: runSettings, wake: wakeDocuments });
  const connections = opened.add(
    createConnections({
      ...{ database, registry, credentials, outbound, consents, push, clock, log, wake, changed },
      hooks: hooks.subscriptions,
      standardSchedule: runSettings.standardSchedule,
      redirectAllowlist: config.redirectAllowlist,
      folderRoots: config.folderRoots,
    }),
  );
  const installed = [...builtInNames, ...Object.keys(plugins.loaders)];
  return {
    ...{ registry, metrics, outbound, credentials, consents, clients },
    ...{ watching, hooks, push, connections, runSettings },
    plugins: { ...plugins, installed },
  };
}

/** The data directory's real path: it has keys in it on every store, and the database of the embedded one. */
async function ownFolder(dataDir: string): Promise<string> {
  await makeDataDir(dataDir);
  return realpath(dataDir);
}
