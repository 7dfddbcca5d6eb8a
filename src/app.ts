import { randomBytes, randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import packageJson from '../package.json' with { type: 'json' };
import {
  encryptionOptions,
  openOcr,
  openQueue,
  openRateCounter,
  type AppOptions,
  openLanguageModel,
} from './adapters.ts';
import { createChunkSize } from './account/settings.ts';
import { ensureFirstKey } from './account/first-key.ts';
import { createConsoleSessions } from './account/console-sessions.ts';
import { createIdempotency } from './account/idempotency.ts';
import { createKeys } from './account/keys.ts';
import { ensureOrganization } from './account/organization.ts';
import { createApi } from './api/create-api.ts';
import type { ApiServices } from './api/services.ts';
import { createBackups } from './backups.ts';
import { createAddressGuard } from './base/address-guard.ts';
import type { LogTail } from './base/log-tail.ts';
import { createMetrics } from './base/metrics.ts';
import { risksOf } from './base/risks.ts';
import { pausesMsOf } from './base/redrive-pauses.ts';
import { createAuthorizing } from './connections/authorizing.ts';
import { createConnections } from './connections/connection-service.ts';
import { createHooks } from './inbound/hooks/create-hooks.ts';
import { createOutbound } from './source/http/outbound.ts';
import type { Connections } from './connections/connections.ts';
import { openEncryption } from './auth/encryption-keys.ts';
import { refreshIdle } from './auth/refresh-idle.ts';
import { loadPlugins } from './connector/plugins.ts';
import { builtInNames, createRegistry, type ConnectorLoader } from './connector/registry.ts';
import { createPush } from './inbound/push/create-push.ts';
import { defaultRunSettings } from './sync/run.ts';
import { createWatching } from './inbound/watching.ts';
import { createContentServices } from './content-services.ts';
import { createUrlFetcher } from './engine/fetch-url.ts';
import { createHandOver, type HandOver } from './engine/hand-over.ts';
import { createProcessor, type Processor } from './engine/process.ts';
import { reembed } from './engine/reembed.ts';
import { terms } from './engine/terms.ts';
import type { Ocr } from './engine/ocr.ts';
import { createTextWork, type TextWork } from './engine/text/text-work.ts';
import { createWaking } from './engine/waking.ts';
import { createDreaming } from './memory/dreaming.ts';
import { createSummarizing } from './engine/summarizing.ts';
import { createLlmExtractor } from './memory/llm/llm-extractor.ts';
import type { MeteredModel } from './memory/llm/metered-model.ts';
import { createRemembering, type Remembering } from './memory/remember.ts';
import type { Embedder } from './models/embedder.ts';
import { apiConfig, listen, publicUrl } from './listening.ts';
import { mcpRoutes } from './mcp/mcp-routes.ts';
import { Opened, startOpening } from './opening.ts';
import { createPresence } from './process-presence.ts';
import { createStatus, trackModel } from './process-status.ts';
import { recoverAlone } from './recover-alone.ts';
import { startWorker } from './start-worker.ts';
import type { TaskQueue } from './queue/task-queue.ts';
import { requireSchedule } from './schedule/checked-schedule.ts';
import { createChores } from './schedule/chores.ts';
import { createScheduler } from './schedule/scheduler.ts';
import type { Database } from './store/database.ts';
import { noteMemoriesSwitch } from './store/memory-settings.ts';
import { migrate } from './store/migrate.ts';
import { makeDataDir } from './store/pglite/cluster-directory.ts';
import { embeddedKinds } from './store/stored-vectors.ts';
import { createVectorIndex } from './store/vector-index.ts';

export interface App {
  /** Where it listens; known after `start`. */
  readonly url: string;
  /** The key that was generated, at the very first start; null ever after. */
  readonly firstKey: string | null;
  /** Opens the API to commands on this machine, until the process ends. */
  readonly localToken: string;
  readonly connections: Connections;
  /** An address that opens the console, once, for whoever is at this machine. */
  consoleLink(): Promise<string>;
  /** Starts working and listening. */
  start(): Promise<void>;
  /** Ends what is under way, in order; what is not finished goes on at the next start. */
  close(): Promise<void>;
}

const builtInConnectors: Record<(typeof builtInNames)[number], ConnectorLoader> = {
  folder: () => import('../connectors/folder/index.ts'),
  github: () => import('../connectors/github/index.ts'),
  gmail: () => import('../connectors/gmail/index.ts'),
  'google-drive': () => import('../connectors/google-drive/index.ts'),
  imap: () => import('../connectors/imap/index.ts'),
  notion: () => import('../connectors/notion/index.ts'),
  push: () => import('../connectors/push/index.ts'),
};

/** Documents that one drain claims at a time. */
const batchSize = 32;
/**
 * No other process works on the embedded database, and what one held is given back when it is opened again. Longer
 * than any statement keeps a renewal waiting: what is claimed again meanwhile would be worked on twice.
 */
const aloneLeaseMs = 2 * 60_000;
/** Limits of the work on one document; a hostile one must not take the daemon with it. */
const textLimits = { threads: 2, timeoutMs: 60_000, maxMemoryMb: 256 };

/** The composition root: the only place that knows which database, queue and models there are. */
export async function createApp(given: AppOptions, opening = startOpening(given)): Promise<App> {
  const { options, warnings, ...opens } = await opening;
  const { clock, log } = options;
  const opened = new Opened();
  opened.add({ close: async () => (await opens.embedder.catch(() => null))?.close() });
  try {
    const database = opened.add(await opens.database);
    await migrate(database, { log });
    if (database.engine === 'pglite') await recoverAlone(database, clock);
    const embedder = await opens.embedder;
    const textWork = opened.add(createTextWork({ log, ...textLimits }));
    const fetcher = opened.add(createUrlFetcher({ guard: createAddressGuard(options.config) }));
    const ocr = opened.add(await openOcr(options));
    const languageModel = opened.add(await openLanguageModel(options, database));
    const { rules } = textWork;
    const now = () => clock.now();
    const remembering = createRemembering({
      extractor: languageModel
        ? createLlmExtractor({ database, embedder, answering: languageModel, rules, now })
        : rules,
      turnsOf: (text, signal) => textWork.turns(text, { signal }),
      ...{ embedder, index: terms, clock },
    });
    await noteMemoriesSwitch(database, options.config.memories === 'on', now());
    const processor = createProcessor({
      summarizes: languageModel !== null && options.config.llm.summaries,
      ...(options.config.memories === 'on' && { remembering }),
      ...{ database, embedder, textWork, fetcher, ocr, clock, log, batchSize },
      chunkTokens: createChunkSize({ database, clock }),
      ...(database.engine === 'pglite' && { leaseMs: aloneLeaseMs }),
      redrivesMs: pausesMsOf(options.config.redriveSchedule),
    });
    const { concurrency } = options.config.worker;
    const handOver = opened.add(createHandOver({ processor, clock, log, concurrency }));
    const afterQueue = opened.add(new Opened());
    // Closed before what its handlers use.
    const queue = opened.add(await openQueue(options));
    return await assemble(options, {
      database,
      embedder,
      textWork,
      ocr,
      remembering,
      languageModel,
      processor,
      handOver,
      queue,
      opened,
      afterQueue,
      warnings,
    });
  } catch (error) {
    await opened.close();
    throw error;
  }
}

interface Parts {
  database: Database;
  embedder: Embedder;
  textWork: TextWork;
  ocr: Ocr | null;
  remembering: Remembering;
  languageModel: MeteredModel | null;
  processor: Processor;
  handOver: HandOver;
  queue: TaskQueue;
  opened: Opened;
  warnings: LogTail['warnings'];
  /** Closed when nothing syncs any more. */
  afterQueue: Opened;
}

async function assemble(options: AppOptions, parts: Parts): Promise<App> {
  const { config, clock, log } = options;
  const { database, embedder, queue, opened } = parts;
  for (const risk of risksOf(config)) log.warn({ risk }, 'the configuration can be made safer');
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
    builtIn: builtInNames,
    log,
    clock,
  });
  const registry = createRegistry({ ...builtInConnectors, ...plugins.loaders }, plugins.broken);
  const does = (role: string) => config.role === 'all' || config.role === role;
  const changed = async () => {
    if (does('worker')) await watching.refresh();
  };
  const encryption = await openEncryption(encryptionOptions(options, database));
  const guard = createAddressGuard(config);
  const metrics = createMetrics();
  const ownFolders = [await ownFolder(config.dataDir)];
  const outbound = parts.afterQueue.add(createOutbound({ database, clock, log, guard, metrics, ownFolders }));
  const { credentials, consents, clients } = parts.afterQueue.add(
    createAuthorizing({
      database,
      encryption,
      outbound,
      clients: config,
      connector: (name) => registry.load(name),
      clock,
      log,
      publicUrl: () => publicUrl(config, url),
      connected: async (id) => {
        await changed();
        await waking.connection(id);
      },
    }),
  );
  const watching = createWatching({
    database,
    credentials,
    outbound,
    clock,
    log,
    connector: (name) => registry.load(name),
    wake: (id) => waking.connection(id),
  });
  const hooks = createHooks({
    database,
    registry,
    credentials,
    outbound,
    encryption,
    clock,
    log,
    publicUrl: config.publicUrl ?? null,
    sharedSecrets: config.hookSecrets ?? {},
    wake: (id) => waking.connection(id),
  });
  opened.add(hooks.receiver);
  const settings = { ...defaultRunSettings, standardSchedule: requireSchedule(config.sync.cron, 'sync.cron') };
  const push = createPush({ database, clock, log, settings, wake: (count) => waking.documents(count) });
  const connections = opened.add(
    createConnections({
      database,
      registry,
      credentials,
      outbound,
      consents,
      hooks: hooks.subscriptions,
      push,
      standardSchedule: settings.standardSchedule,
      redirectAllowlist: config.redirectAllowlist,
      folderRoots: config.folderRoots,
      clock,
      log,
      wake: (id) => waking.connection(id),
      changed,
    }),
  );
  const model = trackModel(embedder, log);
  const installed = [...builtInNames, ...Object.keys(plugins.loaders)];
  const holder = randomUUID();
  const { version } = packageJson;
  const presence = createPresence({ database, clock, log, holder, role: config.role, version });
  const processes = () => presence.list();
  const status = createStatus(options, { ...parts, connections, plugins: { ...plugins, installed }, processes }, model);
  const keys = opened.add(createKeys({ database, clock, log, organization, localToken }));
  const consoleSessions = createConsoleSessions({ database, clock, keys });
  const content = createContentServices({
    database,
    clock,
    log,
    embedder,
    answering: parts.languageModel,
    organization,
    defaultContainerTag: config.defaultContainerTag,
    connections,
    clients,
    wake: (count) => waking.documents(count),
  });
  opened.add(content.merges);
  opened.add(content.erasures);
  opened.add(content.audit);
  const services: ApiServices = {
    ...content,
    idempotency: createIdempotency({ database, clock }),
    rates: opened.add(await openRateCounter(options)),
    connections,
    consents,
    push,
    hooks: hooks.receiver,
    keys,
    consoleSessions,
    ...(config.metrics && { metrics }),
    status,
    backups: database.engine === 'pglite' ? createBackups({ database, dataDir: config.dataDir, clock }) : null,
  };
  const api = createApi({
    services,
    config: await apiConfig(config, organization),
    clock,
    log,
    version,
    further: mcpRoutes,
  });
  const stop = new AbortController();
  const background: Promise<unknown>[] = [];
  let url = '';

  async function start(): Promise<void> {
    await presence.begin();
    background.push(presence.keepRunning(stop.signal));
    if (does('worker'))
      await startWorker(options, { ...parts, waking, registry, credentials, outbound, settings, watching });
    if (does('api')) url = await listen(api, config);
    background.push(model.open());
    if (does('worker')) {
      opened.add(watching);
      background.push(watching.keepRunning(stop.signal));
      const dreaming = createDreaming({
        ...{ database, remembering: parts.remembering, clock, log, holder },
        ...config.dreaming,
        redrivesMs: pausesMsOf(config.redriveSchedule),
      });
      if (config.memories === 'on') background.push(dreaming.keepRunning(stop.signal));
      const { languageModel } = parts;
      if (languageModel && config.llm.summaries) {
        const summarizing = createSummarizing({ database, answering: languageModel, clock, log, holder });
        background.push(summarizing.keepRunning(stop.signal));
      }
      background.push(
        reembed({ database, embedder, clock, log, holder }, stop.signal).catch((error: unknown) =>
          log.error({ err: error }, 'background work on vectors failed, the next start tries again'),
        ),
      );
    }
    if (does('scheduler')) {
      const vectorIndexes = embeddedKinds.map((kind) => createVectorIndex({ database, kind, embedder, clock, log }));
      const alone = queue.kind === 'in-process';
      const idle = { database, credentials, connector: (name: string) => registry.load(name), clock, log };
      const chores = createChores({
        database,
        clock,
        log,
        hooks: hooks.subscriptions,
        refreshIdle: (signal) => refreshIdle(idle, signal),
        connections,
        merges: content.merges,
        erasures: content.erasures,
      });
      opened.add(createScheduler({ database, waking, clock, log, holder, alone, vectorIndexes, chores }));
    }
  }

  return {
    get url() {
      return url;
    },
    firstKey,
    localToken,
    connections,
    consoleLink: async () => (await consoleSessions.createLink(keys.holderOf(null)!, config.publicUrl ?? url)).url,
    start,
    async close() {
      await api.close();
      stop.abort();
      await Promise.all(background);
      await opened.close();
    },
  };
}

/** The data directory's real path: it has keys in it on every store, and the database of the embedded one. */
async function ownFolder(dataDir: string): Promise<string> {
  await makeDataDir(dataDir);
  return realpath(dataDir);
}
