import { hostname } from 'node:os';
import type { ProcessPresence, Readiness, Status } from './api/services.ts';
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/log.ts';
import { type Database, databaseBytes } from './store/database.ts';
import { deleteProcess, listProcesses, noteProcess, type ProcessRow } from './store/processes.ts';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  checkConfiguration,
  checkConnections,
  checkConnectors,
  checkDataDirectory,
  CheckFailed,
  checkModel,
  nodeCheck,
  noLanguageModel,
  runChecks,
  type HealthCheck,
  type Finding,
  risksOf,
  slownessOf,
} from './base/checks.ts';
import type { Config, ConfigRow } from './base/config.ts';
import { MemorydError } from './base/errors.ts';
import { everyContainer } from './base/scope.ts';
import type { Connections } from './connections/connection-service.ts';
import type { Plugins } from './connector/plugins.ts';
import type { MeteredModel } from './memory/llm/metered-model.ts';
import type { Embedder } from './models/embedder.ts';
import type { TaskQueue } from './queue/task-queue.ts';
import { isLeaseHeld } from './store/leases.ts';
import { rawSql } from './store/sql.ts';

/** How the embedding model is doing. */
export interface ModelState {
  state: 'loading' | 'ready' | 'failed';
  runtime: string;
  /** Loads the model, which tests itself, before the first search has to wait for it. */
  open(): Promise<void>;
}

export function trackModel(embedder: Embedder, log: Logger): ModelState {
  const model: ModelState = {
    state: 'loading',
    runtime: 'none',
    async open() {
      try {
        await embedder.embed(['ready'], { kind: 'query' });
        model.runtime = await embedder.runtime();
        model.state = 'ready';
        const slowness = slownessOf(model.runtime);
        if (slowness)
          log.warn({ model: embedder.id, runtime: model.runtime }, `the embedding model is slow. ${slowness}`);
      } catch (error) {
        model.state = 'failed';
        log.error({ err: error }, 'the embedding model does not work, documents wait for it');
      }
    },
  };
  return model;
}

const embeddings: Record<ModelState['state'], string> = {
  loading: 'the model is loading',
  ready: 'ok',
  failed: 'the model cannot be loaded; run `memoryd models verify`',
};

/** Throws `unavailable` when nothing that is due would be woken. */
async function requireLeader(database: Database, now: Date): Promise<void> {
  if (await isLeaseHeld(database, 'scheduler', now)) return;
  throw new MemorydError('unavailable', 'no process schedules; start one with the role scheduler or all');
}

/** A part that takes longer is not ready: whoever asks wants to know now. */
const patienceMs = 3_000;

interface StatusParts {
  database: Database;
  embedder: Embedder;
  queue: TaskQueue;
  languageModel: MeteredModel | null;
  connections: Pick<Connections, 'list'>;
  plugins: Pick<Plugins, 'broken'> & { installed: readonly string[] };
  warnings: Status['warnings'];
  processes: Status['processes'];
}

/** Describes the process. */
export function createStatus(
  { config, settings = [], clock }: { config: Config; settings?: readonly ConfigRow[]; clock: Clock },
  parts: StatusParts,
  model: ModelState,
): Status {
  const { database, embedder, queue, languageModel } = parts;
  const startedAt = clock.now();
  const probe = async (run: () => Promise<unknown>): Promise<string> => {
    const answered = new AbortController();
    const late = clock.sleep(patienceMs, answered.signal).then(() => 'does not answer in time');
    try {
      return await Promise.race([run().then(() => 'ok'), late]);
    } catch (error) {
      return MemorydError.is(error) ? error.message : 'does not answer';
    } finally {
      answered.abort();
    }
  };
  const readiness = async () => {
    const [ofDatabase, ofQueue, ofScheduler] = await Promise.all([
      probe(() => database.query(rawSql('select 1'))),
      probe(() => queue.check()),
      probe(() => requireLeader(database, clock.now())),
    ]);
    return { database: ofDatabase, queue: ofQueue, embeddings: embeddings[model.state], scheduler: ofScheduler };
  };
  let checking: Promise<Finding[]> | null = null;
  return {
    // Many who ask at once get one look: the model tests itself for it.
    async checks() {
      checking ??= runChecks(checksOf(config, parts, readiness), explained).finally(() => (checking = null));
      return checking;
    },
    warnings: parts.warnings,
    processes: parts.processes,
    describe: async () => ({
      startedAt,
      role: config.role,
      command: [process.execPath, launcher],
      storage: {
        engine: database.engine,
        dataDir: database.engine === 'pglite' ? config.dataDir : null,
        bytes: await databaseBytes(database),
      },
      queue: { kind: queue.kind },
      eventLoopMs: await longestTurnMs(),
      embedder: {
        ...{ id: embedder.id, runtime: model.runtime, state: model.state },
        slowness: slownessOf(model.runtime),
      },
      languageModel: languageModel && (await languageModel.usage()),
    }),
    configuration: () => ({ settings: [...settings], risks: risksOf(config) }),
    readiness,
  };
}

const launcher = fileURLToPath(new URL('../bin/memoryd.js', import.meta.url));

const watchedTurns = 5;

/** The longest of a few turns of the event loop, in milliseconds. */
async function longestTurnMs(): Promise<number> {
  let longest = 0;
  for (let turn = 0; turn < watchedTurns; turn++) {
    const startedMs = performance.now();
    await setImmediate();
    longest = Math.max(longest, performance.now() - startedMs);
  }
  return Math.round(longest * 10) / 10;
}

/** The checks of `memoryd doctor`, of a daemon that runs. */
function checksOf(config: Config, parts: StatusParts, readiness: Status['readiness']): Record<string, HealthCheck> {
  const { embedder, languageModel, connections, plugins } = parts;
  const part = (name: keyof Readiness, remedy: string) => async () => {
    const state = (await readiness())[name];
    if (state !== 'ok') throw new CheckFailed(state, remedy);
    return 'works';
  };
  return {
    node: nodeCheck,
    configuration: () => checkConfiguration(config, 'nothing makes it easier to get in than it need be'),
    'data directory': () => checkDataDirectory(config.dataDir),
    database: part('database', 'Look whether the database runs and has room; the log says more.'),
    queue: part('queue', 'Look whether Redis runs and can be reached at the setting redisUrl.'),
    schedule: part('scheduler', 'Start a process with the role scheduler or all.'),
    workers: async () => checkWorkers(await parts.processes()),
    connectors: () => checkConnectors(plugins.installed, plugins.broken),
    model: async () => checkModel(await embedder.verify()),
    'language model': async () => checkLanguageModel(languageModel),
    connections: async () => checkConnections(await connections.list(everyContainer)),
  };
}

function checkWorkers(processes: readonly ProcessPresence[]): string {
  const alive = processes.filter(({ role, isAlive }) => isAlive && (role === 'all' || role === 'worker'));
  if (alive.length > 0) return alive.length === 1 ? 'one works' : `${alive.length} work`;
  throw new CheckFailed(
    'No process reads documents and sources.',
    'Start a process with the role worker or all; if one runs, look whether it can reach the database.',
  );
}

async function checkLanguageModel(languageModel: MeteredModel | null): Promise<string> {
  if (!languageModel) return noLanguageModel;
  const { id, state } = await languageModel.usage();
  if (state !== 'failing') return `${id}, ${state}`;
  throw new CheckFailed(
    `${id} did not answer its last question; memories are found by rules meanwhile.`,
    'Look whether it runs at the setting llm.url.',
  );
}

/** Nothing of an error that nobody foresaw is shown: it may quote what came from outside. */
function explained(error: unknown): { message: string; details: string | null } {
  if (MemorydError.is(error)) return { message: error.message, details: error.details ?? error.remedy };
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return { message: `It could not be looked at (${code}).`, details: null };
}

const everyMs = 15_000;
/** A busy database keeps one beat or two waiting. */
const aliveMs = 4 * everyMs;

export interface PresenceOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  /** Names this process. */
  holder: string;
  role: ProcessRow['role'];
  version: string;
}

/** Lets processes on one database know of each other. */
export interface Presence {
  /** All that run, and those of the last day that ended without saying so; the oldest first. */
  list(): Promise<ProcessPresence[]>;
  /** Says that this one runs. */
  begin(): Promise<void>;
  /** Says so again and again, and takes it back when the signal aborts. */
  keepRunning(signal: AbortSignal): Promise<void>;
}

export function createPresence({ database, clock, log, holder, role, version }: PresenceOptions): Presence {
  const own = { id: holder, role, version, host: hostname(), pid: process.pid, startedAt: clock.now() };
  const begin = () => noteProcess(database, { ...own, seenAt: clock.now() });
  const unheard = (error: unknown) => log.debug({ err: error }, 'the database was not told that this process runs');
  return {
    begin,
    async list() {
      const aliveSince = clock.now().getTime() - aliveMs;
      const rows = await listProcesses(database);
      return rows.map(({ id, ...row }) => ({
        ...row,
        isThis: id === holder,
        isAlive: row.seenAt.getTime() >= aliveSince,
      }));
    },
    async keepRunning(signal) {
      while (!signal.aborted) {
        await clock.sleep(everyMs, signal);
        if (!signal.aborted) await begin().catch(unheard);
      }
      await deleteProcess(database, holder).catch(unheard);
    },
  };
}
