import type { InjectOptions } from 'fastify';
import { createChunkSize } from '../../src/account/settings.ts';
import { ensureFirstKey, ensureOrganization } from '../../src/account/organization.ts';
import { createConsoleSessions } from '../../src/account/console-sessions.ts';
import { createIdempotency } from '../../src/account/idempotency.ts';
import { createKeys, type NewKey } from '../../src/account/keys.ts';
import { createApi } from '../../src/api/create-api.ts';
import type { ApiConfig, ApiServices, Status } from '../../src/api/services.ts';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { createEncryption, newEncryptionKey } from '../../src/base/encryption.ts';
import { createRateCounter } from '../../src/base/rate-counter.ts';
import { createLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Connector } from '../../src/connector/contract.ts';
import { createAuthorizing } from '../../src/connections/authorizing.ts';
import { createConnections } from '../../src/connections/connection-service.ts';
import { createHooks } from '../../src/inbound/hooks/receiver.ts';
import type { ClientConfig } from '../../src/auth/oauth-clients.ts';
import { createPush } from '../../src/inbound/push/create-push.ts';
import { createOutbound } from '../../src/source/http/outbound.ts';
import { createRegistry, type BrokenConnector } from '../../src/connector/registry.ts';
import { defaultRunSettings } from '../../src/sync/run.ts';
import { createContentServices } from '../../src/content-services.ts';
import { createUrlFetcher } from '../../src/engine/fetch-url.ts';
import { createProcessor } from '../../src/engine/process.ts';
import { mcpRoutes } from '../../src/mcp/mcp-routes.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { terms } from '../../src/engine/terms.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createDreaming } from '../../src/memory/dreaming.ts';
import { createRemembering } from '../../src/memory/remember.ts';
import type { Database } from '../../src/store/database.ts';
import { createTestClock } from './clock.ts';
import { openTestDatabase, type Engine } from './databases.ts';

export interface TestApiOptions {
  /** Default: `mainEngine`. */
  engine?: Engine;
  config?: Partial<ApiConfig>;
  /** Default: everything is logged. */
  logLevel?: 'debug' | 'info';
  connectors?: Record<string, Connector<any, any>>;
  /** What was configured and cannot be used. */
  brokenConnectors?: BrokenConnector[];
  /** Is shown every answer as it is about to be sent. */
  onAnswer?(payload: unknown): void;
  /** OAuth clients of the configuration. */
  clients?: ClientConfig;
  redirectAllowlist?: string[];
  /** Of hooks that serve a whole provider. */
  sharedSecrets?: Record<string, string>;
  /** Replaces services, to make them fail. */
  services?: (services: ApiServices) => Partial<ApiServices>;
}

export type TestApi = Awaited<ReturnType<typeof startTestApi>>;

export const fullKey = 'sm_test_full-access-key-0123456789';
/** Where the API under test believes that browsers reach it. */
export const publicUrl = 'https://memory.example.com';
export const localToken = 'local-token-of-this-start';

/** The whole API over the real services and a database of its own. Documents wait until `process` is called. */
export async function startTestApi(options: TestApiOptions = {}) {
  const opened = await openTestDatabase(options.engine);
  const { database, close } = opened;
  const clock = createTestClock();
  const lines: string[] = [];
  const log = createLogger(options.logLevel ?? 'debug', { write: (line) => void lines.push(line) });
  const organization = await ensureOrganization({ database, clock });
  await ensureFirstKey({ database, clock, organization }, fullKey);
  const loaders = Object.entries(options.connectors ?? {}).map(
    ([name, connector]) => [name, async () => ({ default: connector })] as const,
  );
  const embedder = createHashingEmbedder();
  const keys = createKeys({ database, clock, log, organization, localToken });
  const registry = createRegistry(Object.fromEntries(loaders), options.brokenConnectors);
  const encryption = createEncryption([newEncryptionKey()]);
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const outbound = createOutbound({ database, clock, log, guard, metrics: createMetrics() });
  const authorizing = createAuthorizing({
    database,
    encryption,
    outbound,
    clients: options.clients ?? {},
    connector: (name) => registry.load(name),
    clock,
    log,
    publicUrl: () => publicUrl,
    connected: async () => {},
  });
  const wake = async (): Promise<void> => {};
  const { sharedSecrets = {} } = options;
  const hooks = createHooks({
    database,
    registry,
    credentials: authorizing.credentials,
    outbound,
    encryption,
    clock,
    log,
    publicUrl,
    sharedSecrets,
    wake,
  });
  const push = createPush({ database, clock, log, settings: defaultRunSettings, wake });
  const fetcher = createUrlFetcher({ guard });
  const connections = createConnections({
    database,
    registry,
    credentials: authorizing.credentials,
    consents: authorizing.consents,
    outbound,
    hooks: hooks.subscriptions,
    push,
    redirectAllowlist: options.redirectAllowlist ?? [],
    clock,
    log,
    wake,
    changed: async () => {},
  });
  const content = createContentServices({
    database,
    clock,
    log,
    embedder,
    answering: null,
    organization,
    defaultContainerTag: standardConfig.defaultContainerTag,
    connections,
    clients: authorizing.clients,
    wake,
  });
  const textWork = createTextWork({ log });
  const remembering = createRemembering({
    extractor: textWork.rules,
    turnsOf: (text, signal) => textWork.turns(text, { signal }),
    embedder,
    index: terms,
    clock,
  });
  const services: ApiServices = {
    ...content,
    connections,
    consents: authorizing.consents,
    push,
    hooks: hooks.receiver,
    keys,
    consoleSessions: createConsoleSessions({ database, clock, keys }),
    idempotency: createIdempotency({ database, clock }),
    rates: createRateCounter(clock),
    status: createTestStatus(clock.now()),
    backups: null,
  };
  const api = createApi({
    services: { ...services, ...options.services?.(services) },
    config: {
      ...standardConfig,
      organization,
      redirectAllowlist: options.redirectAllowlist ?? [],
      ...options.config,
    },
    clock,
    log,
    version: '9.9.9',
    further: mcpRoutes,
  });
  if (options.onAnswer) api.addHook('onSend', async (_request, _reply, payload) => options.onAnswer!(payload));
  await api.ready();

  /** A request as JSON with the full key, unless told otherwise. */
  async function call(method: InjectOptions['method'], url: string, body?: unknown, key: string | null = fullKey) {
    const response = await api.inject({
      method: method ?? 'GET',
      url,
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { payload: body as object }),
    });
    const isJson = String(response.headers['content-type']).includes('json');
    return { status: response.statusCode, headers: response.headers, body: isJson ? response.json() : response.body };
  }

  return {
    api,
    services,
    authorizing,
    hooks,
    database,
    clock,
    log,
    organization,
    /** Everything that was logged. */
    logged: () => lines.join(''),
    call,
    async newKey(input: Partial<NewKey> = {}): Promise<string> {
      const { secret } = await keys.create({ name: 'test', permission: 'write', containerTags: [], ...input });
      return secret;
    },
    /** Brings every document that waits to its end; through a database that may be killed meanwhile. */
    async process(database: Database = opened.database): Promise<void> {
      const chunkTokens = createChunkSize({ database, clock });
      const processor = createProcessor({
        ...{ database, embedder, textWork, fetcher, remembering, chunkTokens, clock, log },
      });
      await processor.drain(new AbortController().signal);
    },
    /** Finds the memories of every document that waits for it, however short. */
    dream: () =>
      createDreaming({ database, remembering, clock, log, holder: 'test', quietMs: 0 }).run(
        new AbortController().signal,
      ),
    /** Goes on with merges of containers, as the scheduler does. */
    runMerges: () => content.merges.runOpen(new AbortController().signal),
    /** The same with erasures. */
    runErasures: () => content.erasures.runOpen(new AbortController().signal),
    async close() {
      await api.close();
      await content.merges.close();
      await content.erasures.close();
      await content.audit.close();
      await textWork.close();
      await fetcher.close();
      await services.connections.close();
      await hooks.receiver.close();
      await keys.close();
      await authorizing.close();
      await outbound.close();
      await close();
    },
  };
}

const standardConfig = {
  limits: {
    maxTextBytes: 1024 * 1024,
    maxBodyBytes: 2 * 1024 * 1024,
    maxBatchBodyBytes: 32 * 1024 * 1024,
    maxFileBytes: 50 * 1024 * 1024,
  },
  defaultContainerTag: 'sm_project_default',
};

function createTestStatus(startedAt: Date): Status {
  return {
    describe: async () => ({
      startedAt,
      role: 'all',
      command: ['/usr/bin/node', '/opt/memoryd/bin/memoryd.js'],
      storage: { engine: 'pglite', dataDir: '/data', bytes: 1_000_000 },
      queue: { kind: 'in-process' },
      eventLoopMs: 0.5,
      embedder: { id: 'words', runtime: 'hashing', state: 'ready', slowness: null },
      languageModel: null,
    }),
    configuration: () => ({ settings: [{ field: 'port', value: 6767, source: 'default' }], risks: [] }),
    checks: async () => [{ name: 'node', ok: true, detail: 'v24', remedy: null }],
    warnings: () => [],
    processes: async () => [
      {
        ...{ role: 'all', version: '1.2.3', host: 'here', pid: 4711 },
        ...{ startedAt, seenAt: startedAt, isAlive: true, isThis: true },
      },
    ],
    readiness: async () => ({ database: 'ok', queue: 'ok', embeddings: 'ok', scheduler: 'ok' }),
  };
}
