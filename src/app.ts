import { randomBytes, randomUUID } from 'node:crypto';
import packageJson from '../package.json' with { type: 'json' };
import { createContainerTags } from './account/container-tags.ts';
import { ensureFirstKey } from './account/first-key.ts';
import { createKeys } from './account/keys.ts';
import { ensureOrganization } from './account/organization.ts';
import { createApi } from './api/create-api.ts';
import type { ApiConfig, ApiServices, Status } from './api/services.ts';
import type { Clock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { MemorydError } from './base/errors.ts';
import type { Logger } from './base/log.ts';
import { createConnections } from './connect/connection-service.ts';
import type { Connections } from './connect/connections.ts';
import { loadPlugins } from './connect/plugins.ts';
import { createRegistry, type Registry } from './connect/registry.ts';
import { defaultRunSettings } from './connect/run.ts';
import { runSync } from './connect/runner.ts';
import { createWatching } from './connect/watching.ts';
import { createDocuments } from './engine/document-service.ts';
import { createExtractor } from './engine/extract/extractor.ts';
import { createHandOver, type HandOver } from './engine/hand-over.ts';
import { createProcessor, type Processor } from './engine/process.ts';
import { reembed } from './engine/reembed.ts';
import { createWaking, type Waking } from './engine/waking.ts';
import type { Embedder } from './models/embedder.ts';
import { createInProcessQueue } from './queue/in-process.ts';
import type { TaskQueue } from './queue/task-queue.ts';
import { createScheduler } from './schedule/scheduler.ts';
import { createSearch } from './search/create-search.ts';
import { releaseAllConnections } from './store/connections.ts';
import type { Database } from './store/database.ts';
import { clearLeases } from './store/leases.ts';
import { migrate } from './store/migrate.ts';
import { releaseAllLeases } from './store/processing.ts';
import { rawSql } from './store/sql.ts';
import { releaseAllItems } from './store/sync-items.ts';
import { createVectorIndex } from './store/vector-index.ts';

export interface AppOptions {
  config: Config;
  clock: Clock;
  log: Logger;
}

export interface App {
  /** Where it listens; known after `start`. */
  readonly url: string;
  /** The key that was generated, at the very first start; null ever after. */
  readonly firstKey: string | null;
  /** Opens the API to commands on this machine, until the process ends. */
  readonly localToken: string;
  readonly connections: Connections;
  /** Starts working and listening. */
  start(): Promise<void>;
  /** Ends what is under way, in order; what is not finished goes on at the next start. */
  close(): Promise<void>;
}

const builtInConnectors = { folder: () => import('../connectors/folder/index.ts') };

/** Documents that one drain claims at a time. */
const batchSize = 32;
/** Limits of reading one document; a hostile one must not take the daemon with it. */
const extraction = { threads: 2, timeoutMs: 60_000, maxMemoryMb: 1_024 };

/** The composition root: the only place that knows which database, queue and models there are. */
export async function createApp(options: AppOptions): Promise<App> {
  const { clock, log } = options;
  const opened = new Opened();
  try {
    const embedding = createEmbedder(options);
    embedding.catch(() => {});
    const database = opened.add(await openDatabase(options));
    await migrate(database, { log });
    if (database.engine === 'pglite') await recoverAlone(database, clock);
    const embedder = opened.add(await embedding);
    const extractor = opened.add(createExtractor({ log, ...extraction }));
    const processor = createProcessor({ database, embedder, extractor, clock, log, batchSize });
    const { concurrency } = options.config.worker;
    const handOver = opened.add(createHandOver({ processor, clock, log, concurrency, batchSize }));
    // Closed before what its handlers use.
    const queue = opened.add(await openQueue(options));
    return await assemble(options, { database, embedder, processor, handOver, queue, opened });
  } catch (error) {
    await opened.close();
    throw error;
  }
}

interface Parts {
  database: Database;
  embedder: Embedder;
  processor: Processor;
  handOver: HandOver;
  queue: TaskQueue;
  opened: Opened;
}

async function assemble(options: AppOptions, parts: Parts): Promise<App> {
  const { config, clock, log } = options;
  const { database, embedder, queue, opened } = parts;
  const localToken = randomBytes(32).toString('base64url');
  const organization = await ensureOrganization({ database, clock }, config.orgName);
  const firstKey = await ensureFirstKey({ database, clock, organization }, config.apiKey);
  const waking = createWaking({
    queue,
    slots: config.worker.concurrency,
    batchSize,
    lost: (error) => log.warn({ err: error }, 'queue does not take tasks, the sweep finds the work'),
  });
  const plugins = await loadPlugins(config.connectors, {
    folder: process.cwd(),
    builtIn: Object.keys(builtInConnectors),
    log,
  });
  const registry = createRegistry({ ...builtInConnectors, ...plugins });
  const watching = createWatching({
    database,
    clock,
    log,
    connector: (name) => registry.load(name),
    wake: (id) => waking.connection(id),
  });
  const does = (role: string) => config.role === 'all' || config.role === role;
  const connections = createConnections({
    database,
    registry,
    clock,
    log,
    wake: (id) => waking.connection(id),
    changed: async () => {
      if (does('worker')) await watching.refresh();
    },
  });
  const model = trackModel(embedder, log);
  const status = createStatus(options, parts, model);
  const keys = opened.add(createKeys({ database, clock, log, organization, localToken }));
  const services: ApiServices = {
    documents: createDocuments({ database, clock, wake: (count) => waking.documents(count) }),
    search: createSearch({ database, embedder, clock, log }),
    connections,
    keys,
    containerTags: createContainerTags({ database, clock }),
    status,
  };
  const api = createApi({
    services,
    config: apiConfig(config, organization),
    clock,
    log,
    version: packageJson.version,
  });
  const stop = new AbortController();
  const background: Promise<unknown>[] = [];
  const holder = randomUUID();
  let url = '';

  async function start(): Promise<void> {
    if (does('worker')) await startWorker(options, { ...parts, waking, registry });
    if (does('api')) url = await listen(api, config);
    background.push(model.open());
    if (does('worker')) {
      opened.add(watching);
      await watching.refresh();
      background.push(
        reembed({ database, embedder, clock, log, holder }, stop.signal).catch((error: unknown) =>
          log.error({ err: error }, 'background work on vectors failed, the next start tries again'),
        ),
      );
    }
    if (does('scheduler')) {
      const vectorIndex = createVectorIndex({ database, embedder, clock, log });
      const alone = queue.kind === 'in-process';
      opened.add(createScheduler({ database, waking, clock, log, holder, alone, vectorIndex }));
    }
  }

  return {
    get url() {
      return url;
    },
    firstKey,
    localToken,
    connections,
    start,
    async close() {
      await api.close();
      stop.abort();
      await Promise.all(background);
      await opened.close();
    },
  };
}

/** What must be closed, the newest first. */
class Opened {
  readonly #parts: { close(): Promise<void> }[] = [];

  add<Part extends { close(): Promise<void> }>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }

  async close(): Promise<void> {
    for (let part = this.#parts.pop(); part; part = this.#parts.pop()) await part.close();
  }
}

/** The model that the configuration names. Local models load at their first use. */
export async function createEmbedder({ config, clock }: AppOptions): Promise<Embedder> {
  const { kind, folder, baseUrl, model, apiKey, dimensions } = config.embedder;
  const threads = config.threads === undefined ? {} : { threads: config.threads };
  const length = dimensions === undefined ? {} : { dimensions };
  switch (kind) {
    case 'minilm': {
      const { createMinilmEmbedder } = await import('./models/minilm/minilm-embedder.ts');
      return createMinilmEmbedder(threads);
    }
    case 'onnx': {
      const { createOnnxFolderEmbedder } = await import('./models/onnx-folder/onnx-folder-embedder.ts');
      return createOnnxFolderEmbedder({ folder: folder!, ...threads });
    }
    case 'http': {
      const { createHttpEmbedder } = await import('./models/http/http-embedder.ts');
      const key = apiKey === undefined ? {} : { apiKey, apiKeySetting: 'MEMORYD_EMBEDDER_API_KEY' };
      return createHttpEmbedder({ baseUrl: baseUrl!, model: model!, ...key, ...length, clock });
    }
    case 'hashing': {
      const { createHashingEmbedder } = await import('./models/hashing-embedder.ts');
      return createHashingEmbedder(length);
    }
  }
}

async function openDatabase({ config, clock, log }: AppOptions): Promise<Database> {
  if (config.databaseUrl === undefined) {
    const { openPglite } = await import('./store/pglite/open-pglite.ts');
    return openPglite({ dataDir: config.dataDir, clock, log });
  }
  const { openPostgres } = await import('./store/postgres.ts');
  return openPostgres({ url: config.databaseUrl, log, applicationName: `memoryd ${config.role}` });
}

async function openQueue({ config, clock, log }: AppOptions): Promise<TaskQueue> {
  if (config.databaseUrl === undefined || config.redisUrl === undefined) return createInProcessQueue({ clock, log });
  const { openBullmqQueue } = await import('./queue/bullmq.ts');
  return openBullmqQueue({ url: config.redisUrl, prefix: config.redisPrefix, clock, log });
}

/** The embedded database has one process at a time, so whatever is leased was leased by a dead one. */
async function recoverAlone(database: Database, clock: Clock): Promise<void> {
  const now = clock.now();
  await clearLeases(database);
  await releaseAllLeases(database, now);
  await releaseAllItems(database, now);
  await releaseAllConnections(database, now);
}

interface Worker extends Parts {
  waking: Waking;
  registry: Registry;
}

async function startWorker({ config, clock, log }: AppOptions, worker: Worker): Promise<void> {
  const { database, processor, handOver, queue, waking, registry } = worker;
  await queue.work('process-documents', async (_, signal) => void (await processor.drain(signal)), {
    concurrency: config.worker.concurrency,
  });
  await queue.work(
    'sync-connection',
    ({ connectionId }, signal) =>
      runSync(
        {
          database,
          clock,
          log,
          settings: defaultRunSettings,
          connector: (name) => registry.load(name),
          wake: (count) => waking.documents(count),
          handOver,
        },
        connectionId,
        signal,
      ),
    { concurrency: config.sync.concurrency },
  );
}

interface ModelState {
  state: 'loading' | 'ready' | 'failed';
  runtime: string;
  /** Loads the model, which tests itself, before the first search has to wait for it. */
  open(): Promise<void>;
}

function trackModel(embedder: Embedder, log: Logger): ModelState {
  const model: ModelState = {
    state: 'loading',
    runtime: 'none',
    async open() {
      try {
        await embedder.embed(['ready'], { kind: 'query' });
        model.runtime = await embedder.runtime();
        model.state = 'ready';
      } catch (error) {
        model.state = 'failed';
        log.error({ err: error }, 'the embedding model does not work, documents wait for it');
      }
    },
  };
  return model;
}

async function listen(api: ReturnType<typeof createApi>, config: Config): Promise<string> {
  try {
    return await api.listen({ host: config.host, port: config.port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new MemorydError('port_in_use', `Port ${config.port} on ${config.host} is in use.`, { cause: error });
  }
}

function apiConfig(config: Config, organization: ApiConfig['organization']): ApiConfig {
  return {
    limits: config.limits,
    defaultContainerTag: config.defaultContainerTag,
    organization,
    corsOrigins: config.corsOrigins,
    compat: config.compat,
    ...(config.rateLimit.max > 0 ? { rateLimit: config.rateLimit } : {}),
  };
}

function createStatus({ config, clock }: AppOptions, { database, embedder, queue }: Parts, model: ModelState): Status {
  const startedAt = clock.now();
  const probe = async (run: () => Promise<unknown>): Promise<string> => {
    try {
      await run();
      return 'ok';
    } catch (error) {
      return MemorydError.is(error) ? error.message : 'does not answer';
    }
  };
  return {
    describe: async () => ({
      startedAt,
      role: config.role,
      storage: { engine: database.engine, dataDir: database.engine === 'pglite' ? config.dataDir : null },
      queue: { kind: queue.kind },
      embedder: { id: embedder.id, runtime: model.runtime, state: model.state },
    }),
    readiness: async () => ({
      database: await probe(() => database.query(rawSql('select 1'))),
      queue: await probe(() => queue.check()),
      embeddings: model.state === 'failed' ? 'the model cannot be loaded; run `memoryd models verify`' : 'ok',
      scheduler: 'ok',
    }),
  };
}
