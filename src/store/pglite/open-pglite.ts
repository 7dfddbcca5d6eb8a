import { rename, rm, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { systemClock, type Clock } from '../../base/clock.ts';
import { createGate } from '../../base/concurrency.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { makePrivate } from '../../base/private-files.ts';
import type { Database } from '../database.ts';
import { saysDiskFull } from '../database-errors.ts';
import { type Session, createDatabase } from '../session-database.ts';
import { damaged, lockName, makeDataDir, prepareCluster } from './cluster-directory.ts';
import { lockDirectory, type DirectoryLock } from './directory-lock.ts';
import { EngineError, startEngine, type EngineWorker } from './engine-worker.ts';
import { startMaintenance } from './maintenance.ts';
import { unpackCluster } from './packed-cluster.ts';
import { setOptimizing } from './parser-memory.ts';

export interface PgliteOptions {
  /** The data directory; the cluster stands in its folder `database`. `memory` keeps nothing. */
  dataDir: string | 'memory';
  log: Logger;
  /** Default: the machine's. */
  clock?: Clock;
  /** A tar of a cluster (see `dumpPglite`) that a new one starts from. */
  templateFile?: string;
  /** A packed cluster (see `packCluster`) that a new one is unpacked from, if the file exists. */
  preparedFile?: string;
  /** Called when the opening goes on outside of this thread: the engine starts, or a new cluster is unpacked. */
  begun?: (() => void) | undefined;
}

/** What a new cluster is made of; null each: of nothing. */
interface Origin {
  templateFile: string | null;
  preparedFile: string | null;
}

/**
 * Opens the embedded PostgreSQL with pgvector, in a thread of its own; makes it at the first start.
 * Throws `data_dir_locked`, `data_dir_damaged`, `database_newer` or `disk_full`.
 */
export async function openPglite(options: PgliteOptions): Promise<Database> {
  const clock = options.clock ?? systemClock;
  const templateFile = options.templateFile ?? null;
  if (options.dataDir === 'memory') {
    const engine = await startEngine({ clusterDir: null, templateFile });
    const session = createEngineSession(engine, { restart: refuseRestart, clock, log: options.log });
    return serve({ session, clock, log: options.log, guard: noGuard });
  }
  const origin = { templateFile, preparedFile: options.preparedFile ?? null };
  return openFolder(options.dataDir, { clock, origin, log: options.log, begun: options.begun });
}

interface FolderOptions {
  clock: Clock;
  log: Logger;
  origin: Origin;
  begun: (() => void) | undefined;
}

async function openFolder(dataDir: string, { clock, log, origin, begun }: FolderOptions): Promise<Database> {
  const lock = await lockFolder(dataDir, clock);
  try {
    const { path, makeIn } = await prepareCluster(dataDir);
    if (makeIn !== null) {
      const making = makeCluster(path, makeIn, origin);
      begun?.();
      await making;
    }
    await makePrivate(dataDir);
    const start = () => openCluster(path);
    const starting = start();
    begun?.();
    const session = createEngineSession(await starting, { restart: start, clock, log });
    return serve({ session, clock, log, guard: guardFolder(session, lock, log) });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function lockFolder(dataDir: string, clock: Clock): Promise<DirectoryLock> {
  try {
    await makeDataDir(dataDir);
    return await lockDirectory(join(dataDir, lockName), clock);
  } catch (error) {
    if (MemorydError.is(error)) throw error;
    throw diskFullAt(dataDir, error) ?? unusable(dataDir, error);
  }
}

/** Makes a cluster under another name first: one that was begun and not finished could not be opened. */
async function makeCluster(path: string, makeIn: string, { templateFile, preparedFile }: Origin): Promise<void> {
  try {
    const unpacked = preparedFile !== null && (await unpackCluster(preparedFile, makeIn));
    if (!unpacked) await initializeCluster(makeIn, templateFile);
    await rename(makeIn, path);
  } catch (error) {
    await rm(makeIn, { recursive: true, force: true });
    throw diskFullAt(path, error) ?? unusable(path, error);
  }
}

/**
 * In a thread of its own, because initdb leaves hundreds of megabytes of memory behind; and nothing that it calls is
 * optimized (see `parseBeforeOthers`), because it calls the parser before anything else can.
 */
async function initializeCluster(folder: string, templateFile: string | null): Promise<void> {
  setOptimizing(false);
  try {
    const engine = await startEngine({ clusterDir: folder, templateFile });
    await engine.close();
  } finally {
    setOptimizing(true);
  }
}

async function openCluster(path: string): Promise<EngineWorker> {
  try {
    const engine = await startEngine({ clusterDir: path, templateFile: null });
    await removeStrayFiles(engine.client, path);
    return engine;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw diskFullAt(path, error) ?? (error.output.length > 0 ? damaged(path, reasonOf(error), error) : error);
  }
}

function diskFullAt(path: string, error: unknown): MemorydError | undefined {
  if (!saysDiskFull(error) && !saysDiskFull(new Error(reasonOf(error)))) return undefined;
  return new MemorydError('disk_full', `The embedded database in ${path} needs more space on its disk to start.`, {
    cause: error,
  });
}

const notAllowed = ['EROFS', 'EACCES', 'EPERM'];

function unusable(path: string, error: unknown): MemorydError {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined && notAllowed.includes(code)) {
    const remedy = 'Let the user of the daemon read and write it, or choose another with --data-dir.';
    return new MemorydError('config_invalid', `The data directory ${path} cannot be written (${code}). ${remedy}`, {
      cause: error,
    });
  }
  return new MemorydError('data_dir_damaged', `The embedded database cannot be made in ${path}: ${reasonOf(error)}.`, {
    cause: error,
  });
}

/** The engine's last complaint in its own words, or the error's message. */
function reasonOf(error: unknown): string {
  const lines = error instanceof EngineError ? error.output : [];
  const complaint = lines.filter((line) => /(FATAL|PANIC): /.test(line)).at(-1);
  return complaint?.replace(/^.*?(FATAL|PANIC): +/, '') ?? (error instanceof Error ? error.message : String(error));
}

/** Watches over the data directory while it is open. */
interface FolderGuard {
  /** Throws when the directory is no longer ours. */
  check(): void;
  release(): Promise<void>;
}

const noGuard: FolderGuard = { check: () => undefined, release: () => Promise.resolve() };
/** How long an exiting process waits for the engine; an index build under way does not end in time. */
const exitTimeoutMs = 3_000;

function guardFolder(session: EngineSession, lock: DirectoryLock, log: Logger): FolderGuard {
  const onExit = () => {
    if (session.closeNow(exitTimeoutMs)) lock.releaseNow();
  };
  process.once('exit', onExit);
  lock.lost.addEventListener('abort', () => {
    log.error({}, 'data directory was taken over by another process');
    void session.discard();
  });
  return {
    check() {
      if (lock.lost.aborted) throw new MemorydError('data_dir_locked', 'Another process took over the data directory.');
    },
    async release() {
      process.off('exit', onExit);
      await lock.release();
    },
  };
}

function serve(parts: { session: EngineSession; clock: Clock; log: Logger; guard: FolderGuard }): Database {
  const { session, clock, log, guard } = parts;
  // A search waits for one transaction at the most, and not for every one that writers have queued.
  const gate = createGate(1, { burst: statementBurst });
  let entries = 0;
  const database = createDatabase('pglite', {
    async acquire(use) {
      entries += 1;
      const leave = await gate.enter({ urgent: use === 'statement' });
      return openSession(leave, session, guard);
    },
    async close() {
      await maintenance.close();
      await session.close();
      await guard.release();
    },
  });
  const isIdle = () => gate.empty;
  const uses = () => entries;
  const maintenance = startMaintenance({ database, isIdle, uses, clock, log });
  return database;
}

async function openSession(leave: () => void, session: EngineSession, guard: FolderGuard): Promise<Session> {
  try {
    guard.check();
    const engine = await session.current();
    return {
      query: (statement) => engine.client.query(statement),
      release: (broken) => (broken ? void session.discard(engine).finally(leave) : leave()),
    };
  } catch (error) {
    leave();
    throw error;
  }
}

async function refuseRestart(): Promise<never> {
  throw new MemorydError('internal', 'The database in memory broke down, and its content is lost.');
}

/** Writes a tar of a cluster that `prepare` has filled, which `templateFile` opens in a fraction of the time. */
export async function dumpPglite(file: string, prepare: (database: Database) => Promise<unknown>): Promise<void> {
  const engine = await startEngine({ clusterDir: null, templateFile: null });
  const database = createDatabase('pglite', {
    acquire: async () => ({ query: (statement) => engine.client.query(statement), release: () => undefined }),
    close: () => engine.close(),
  });
  await prepare(database);
  await database.script('checkpoint');
  await engine.dump(file);
  await database.close();
}

/**
 * Removes files of tables and indexes that no table has. An engine that was killed while it rewrote one leaves
 * the unfinished copy behind for ever, with what is erased later. Called before anybody uses the engine.
 */
async function removeStrayFiles(client: pg.Client, clusterDir: string): Promise<void> {
  const { rows } = await client.query<{ folder: string; file: string }>(`
    select (select oid from pg_database where datname = current_database())::text as folder,
      pg_relation_filenode(oid)::text as file
    from pg_class where pg_relation_filenode(oid) is not null`);
  const known = new Set(rows.map(({ file }) => file));
  const folder = join(clusterDir, 'base', rows[0]!.folder);
  for (const name of await readdir(folder)) {
    // A main file or a part of it; names of other files (PG_VERSION, maps) are not numbers.
    const file = /^(\d+)(_\w+)?(\.\d+)?$/.exec(name)?.[1];
    if (file !== undefined && !known.has(file)) await rm(join(folder, name), { force: true });
  }
}

/** Statements that may pass waiting transactions before one of these gets its turn. */
const statementBurst = 16;

/**
 * The engine that is running now. When it breaks down (a full disk under its log, no memory) the
 * next use starts it again, and it recovers from its log as a server does; what was under way fails.
 */
interface EngineSession {
  /** The running engine, started if need be. Throws why it cannot be started. */
  current(): Promise<EngineWorker>;
  /** Never use this engine (or the running one) again. */
  discard(engine?: EngineWorker): Promise<void>;
  /** Ends the engine cleanly and for good. */
  close(): Promise<void>;
  /** The same while the process exits. */
  closeNow(timeoutMs: number): boolean;
}

const restartPauseMs = 1_000;

function createEngineSession(
  first: EngineWorker,
  options: { restart: () => Promise<EngineWorker>; clock: Clock; log: Logger },
): EngineSession {
  let running: EngineWorker | undefined;
  let refusal: { error: unknown; until: number } | undefined;

  function watch(engine: EngineWorker): EngineWorker {
    running = engine;
    void engine.brokeDown.then((error) => {
      if (running !== engine) return;
      running = undefined;
      options.log.error({ reason: error.message }, 'embedded database broke down');
    });
    return engine;
  }

  async function start(): Promise<EngineWorker> {
    if (refusal && options.clock.now().getTime() < refusal.until) throw refusal.error;
    try {
      const engine = watch(await options.restart());
      options.log.warn({}, 'embedded database restarted');
      refusal = undefined;
      return engine;
    } catch (error) {
      // Every waiting statement comes here; a disk that is full now is full in a millisecond too.
      refusal = { error, until: options.clock.now().getTime() + restartPauseMs };
      throw error;
    }
  }

  watch(first);
  return {
    current: async () => running ?? (await start()),
    async discard(engine = running) {
      if (running === engine) running = undefined;
      await engine?.kill();
    },
    async close() {
      const engine = running;
      running = undefined;
      try {
        await engine?.close();
      } catch (error) {
        // What was committed is in the log; the next start replays it.
        options.log.warn({ reason: String(error) }, 'embedded database did not end cleanly');
        await engine?.kill();
      }
    },
    closeNow: (timeoutMs) => running?.closeNow(timeoutMs) ?? true,
  };
}
