import { createAddressGuard } from '../base/address-guard.ts';
import { createEncryption, newEncryptionKey } from '../base/encryption.ts';
import { newId } from '../base/ids.ts';
import { createLogger, type Logger } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import { createTextWork, type TextWork } from '../engine/text/text-work.ts';
import { createProcessor } from '../engine/process.ts';
import type { Embedder } from '../models/embedder.ts';
import { createHashingEmbedder } from '../models/hashing-embedder.ts';
import { findConnection, requestSync, type ConnectionRow, type RequestedSync } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { listRuns, type SyncRunRow } from '../store/sync-runs.ts';
import { createAuthorizing, type Authorizing } from '../connections/authorizing.ts';
import { openConnectionContext, type ConnectionContextOptions } from '../source/context.ts';
import { storePlan } from '../connections/connection-plan.ts';
import type { SyncMode } from '../connections/connection-types.ts';
import type {
  Connector,
  Context,
  RawHook,
  Resource,
  ConnectorSpec,
  JsonObject,
  AuthSpec,
} from '../connector/contract.ts';
import { createHookReceiver } from '../inbound/hooks/receiver.ts';
import { createSharedHooks } from '../inbound/hooks/shared-hooks.ts';
import { createOutbound } from '../source/http/outbound.ts';
import { createPush } from '../inbound/push/create-push.ts';
import type { Push } from '../inbound/push/push-service.ts';
import { createReactivation } from '../connections/consents.ts';
import { createRegistry, type Registry } from '../connector/registry.ts';
import { defaultRunSettings, type RunSettings } from '../sync/run.ts';
import { runSync } from '../sync/runner.ts';
import { createSources } from '../connections/source-service.ts';
import { createVault } from '../auth/vault.ts';
import { splitConfig, chooseAuth, isOAuth } from '../auth/fields.ts';
import { crashMessage } from './crashing-database.ts';
import type { KitClock } from './kit-clock.ts';
import type { World } from './world.ts';
import type { NewCredentials } from '../auth/credentials.ts';
import { connect as openSocket } from 'node:net';
import type { OpenSocket } from '../source/http/transport.ts';

/** Parts that all harnesses of a kit share. */
export interface Parts {
  database: Database;
  embedder: Embedder;
  textWork: TextWork;
  /** Seals what connections are authorized with. */
  encryptionKey: string;
  close(): Promise<void>;
}

export function createParts(database: Database): Parts {
  const embedder = createHashingEmbedder();
  const textWork = createTextWork({ log: createLogger('silent') });
  return {
    database,
    embedder,
    textWork,
    encryptionKey: newEncryptionKey(),
    async close() {
      await textWork.close();
      await embedder.close();
      await database.close();
    },
  };
}

export interface FrameworkOptions {
  parts: Parts;
  clock: KitClock;
  connector: Connector<any, any>;
  world: World;
  containerTag: string;
  settings: Partial<RunSettings>;
  /** Absent: the framework asks the connector. */
  deliver: Deliver | undefined;
  /** The database as the process sees it. */
  process: Database;
  /** Takes what is logged. */
  write(line: string): void;
}

/** Pushes the items of a world into a connection, as a script does in place of a sync. */
export type Deliver = (delivery: {
  connectionId: string;
  push: Push;
  /** Its `list` shows what there is to push, as the check wants it to be seen. */
  connector: Connector<any, any>;
  /** `full`: everything, as a snapshot. */
  mode: SyncMode;
  signal: AbortSignal;
}) => Promise<void>;

/** One process: a daemon's own parts around one connector, without its HTTP API and its timers. */
export interface Framework {
  /** A new connection to the world; answers its id. */
  connect(): Promise<string>;
  /** One run. */
  sync(id: string, request: RequestedSync | null, signal: AbortSignal): Promise<void>;
  /** Processes what runs brought. Answers the last run of the connection. */
  process(id: string): Promise<SyncRunRow>;
  withContext<Result>(id: string, run: (context: Context<any>) => Promise<Result>): Promise<Result>;
  /** Authorizes again, as a user does when the connection asks for it. */
  reauthorize(id: string): Promise<void>;
  select(id: string, resources: readonly Resource[]): Promise<void>;
  /** The daemon's answer to a report of the source, and whether it requested a sync. */
  report(id: string, raw: RawHook): Promise<{ status: number; asked: boolean }>;
  /** Ends what goes on in the background. */
  close(): Promise<void>;
}

export function createFramework(given: FrameworkOptions): Framework {
  const { hosts } = given.world;
  const options = hosts ? { ...given, connector: withTokensFrom(given.connector, hosts) } : given;
  const { clock, connector, process, parts } = options;
  const log = createLogger('debug', { write: options.write });
  const registry = createRegistry({ [connector.spec.name]: async () => ({ default: connector }) });
  // Worlds are on this machine.
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const metrics = createMetrics();
  const route = hosts && { connect: connectorTo(hosts) };
  const outbound = createOutbound({ database: process, clock, log, guard, metrics, ...route });
  const authorizing = createAuthorizing({
    database: process,
    encryption: createEncryption([parts.encryptionKey]),
    outbound,
    clients: clientsOf(options),
    connector: registry.load,
    clock,
    log,
    publicUrl: () => 'http://localhost:6767',
    connected: async () => {},
  });
  const { credentials } = authorizing;
  const settings = { ...defaultRunSettings, ...options.settings };
  const asked = { database: process, clock, registry, credentials, outbound, log };
  const sources = createSources({ ...asked, wake: async () => {}, changed: async () => {} });

  async function run(id: string, request: RequestedSync | null, signal: AbortSignal): Promise<void> {
    if (request) await parts.database.transaction((tx) => requestSync(tx, id, request, { now: clock.now() }));
    const runner = { database: process, clock, log, settings, credentials, outbound, extractor: parts.textWork };
    await clock.during(runSync({ ...runner, connector: registry.load, wake: async () => {} }, id, signal));
  }

  return {
    connect: () => connect(options, authorizing),
    async sync(id, request, signal) {
      const { deliver } = options;
      if (!deliver) return run(id, request, signal);
      const push = createPush({ database: process, clock, log, settings, wake: async () => {} });
      const delivery = deliver({ connectionId: id, push, connector, mode: request?.mode ?? 'incremental', signal });
      // A script that fails has to be started again; what it had sent stays.
      await clock.during(delivery).catch((error: unknown) => {
        if (error instanceof Error && error.message === crashMessage) throw error;
        log.info({ err: error }, 'the script failed');
      });
    },
    process: (id) => processDocuments(options, id),
    withContext: (id, run) => withContext(options, { credentials, outbound, log }, id, run),
    reauthorize: (id) => reauthorize(options, authorizing, id),
    async select(id, resources) {
      const chosen = resources.map(({ id, name }) => ({ id, name }));
      await sources.configure(id, chosen, { deleteRemoved: true });
    },
    report: (id, raw) => report(options, { registry, log }, id, raw),
    async close() {
      await clock.during(authorizing.close());
      await outbound.close();
    },
  };
}

async function processDocuments({ process, parts, clock, write }: FrameworkOptions, id: string): Promise<SyncRunRow> {
  const { embedder, textWork } = parts;
  const log = createLogger('debug', { write });
  const processor = createProcessor({ database: process, embedder, textWork, clock, log });
  await clock.during(processor.drain(new AbortController().signal));
  const [latest] = await listRuns(parts.database, id, { limit: 1 });
  if (!latest) throw new Error('The framework recorded no run.');
  return latest;
}

async function withContext<Result>(
  { process, parts, connector, clock }: FrameworkOptions,
  access: Pick<ConnectionContextOptions, 'credentials' | 'outbound' | 'log'>,
  id: string,
  run: (context: Context<any>) => Promise<Result>,
): Promise<Result> {
  const connection = await required(parts.database, id);
  const signal = new AbortController().signal;
  const opened = await openConnectionContext(
    { ...access, database: process, clock },
    { connector, connection, signal },
  );
  try {
    return await run(opened.context);
  } finally {
    await opened.dispose();
  }
}

/** Through the daemon's own endpoint of hooks, and what it left in the connection. */
async function report(
  { clock, connector, process, parts, world }: FrameworkOptions,
  { registry, log }: { registry: Registry; log: Logger },
  id: string,
  raw: RawHook,
): Promise<{ status: number; asked: boolean }> {
  const secretOf = async () => world.hooks?.secret ?? null;
  const wake = async () => {};
  const shared = createSharedHooks({
    ...{ database: process, vault: createVault(createEncryption([parts.encryptionKey])), clock },
    ...{ publicUrl: null, configured: {} },
  });
  const receiver = createHookReceiver({ database: process, registry, clock, log, secretOf, shared, wake });
  const before = await required(parts.database, id);
  const { status } = await (await receiver.open({ provider: connector.spec.name, connectionId: id })).receive(raw);
  await receiver.close();
  const after = await required(parts.database, id);
  return { status, asked: JSON.stringify(after.requestedSync) !== JSON.stringify(before.requestedSync) };
}

async function required(database: Database, id: string): Promise<ConnectionRow> {
  const connection = await findConnection(database, id);
  if (!connection) throw new Error('The connection of the harness is gone.');
  return connection;
}

function clientsOf({ connector, world }: FrameworkOptions) {
  if (!world.oauth) return {};
  const { id, secret } = world.oauth.client;
  return { oauthClients: { [connector.spec.name]: { clientId: id, clientSecret: secret } } };
}

async function connect(options: FrameworkOptions, { credentials }: Authorizing): Promise<string> {
  const { clock, connector, world, parts } = options;
  const now = clock.now();
  const id = newId(now);
  const fresh = await newCredentials(connector.spec, world, now);
  const plan = {
    containerTag: options.containerTag,
    config: fresh.config,
    metadata: {},
    fields: {},
    documentLimit: null,
    onSourceDelete: 'delete' as const,
    filters: {},
    schedule: null,
    allowedHours: null,
    syncEveryMs: connector.spec.schedule?.everyMs ?? null,
  };
  await parts.database.transaction(async (tx) => {
    await storePlan(tx, { id, provider: connector.spec.name, account: null, now }, plan);
    await credentials.put(tx, id, connector.spec, fresh);
  });
  return id;
}

async function reauthorize(options: FrameworkOptions, { credentials }: Authorizing, id: string): Promise<void> {
  const { clock, connector, world, parts } = options;
  const connection = await required(parts.database, id);
  if (connection.status === 'active') return;
  const fresh = await newCredentials(connector.spec, world, clock.now());
  await parts.database.transaction(async (tx) => {
    await credentials.put(tx, id, connector.spec, fresh);
    await createReactivation(clock)(tx, connection);
  });
}

/** The world's credentials in the form that the vault takes, and the settings that are no secrets. */
async function newCredentials(
  spec: ConnectorSpec,
  world: World,
  now: Date,
): Promise<NewCredentials & { config: JsonObject }> {
  const { open: config, secret } = splitConfig(spec, world.config);
  if (world.oauth) {
    const auth = spec.auth.find(isOAuth) ?? null;
    const { accessToken, refreshToken = null, expiresIn } = await world.oauth.grant();
    const expiresAt = expiresIn === undefined ? null : new Date(now.getTime() + expiresIn * 1_000);
    const token = { accessToken, refreshToken, expiresAt, clientId: world.oauth.client.id };
    return { config, auth, fields: secret, token };
  }
  const choice = world.credentials ? chooseAuth(spec, world.credentials) : null;
  if (choice?.by !== 'fields') return { config, auth: null, fields: secret, token: null };
  return { config, auth: choice.auth, fields: { ...secret, ...choice.fields }, token: null };
}

type Hosts = Readonly<Record<string, string>>;

/** Connects to the address that stands for a host, without DNS and TLS; to no other host. */
export function connectorTo(hosts: Hosts): OpenSocket {
  return ({ hostname }, callback) => {
    const address = hosts[hostname];
    if (address === undefined) return callback(new Error(`No address stands for the host ${hostname}.`), null);
    const url = new URL(address);
    const socket = openSocket(Number(url.port), url.hostname);
    socket.once('error', (error) => callback(error, null));
    socket.once('connect', () => callback(null, socket));
  };
}

/** A connector whose tokens come from the address that stands for the host of its token endpoint. */
function withTokensFrom(connector: Connector<any, any>, hosts: Hosts): Connector<any, any> {
  const auth = connector.spec.auth.map((one): AuthSpec => ('tokenUrl' in one ? rehosted(one, hosts) : one));
  return { ...connector, spec: { ...connector.spec, auth } };
}

function rehosted<Auth extends { tokenUrl: string }>(auth: Auth, hosts: Hosts): Auth {
  const { hostname, pathname } = URL.parse(auth.tokenUrl) ?? { hostname: '', pathname: '' };
  const address = hosts[hostname];
  return address === undefined ? auth : { ...auth, tokenUrl: `${address}${pathname}` };
}
