import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock, type Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { makePrivate } from '../../base/private-files.ts';
import type { Database } from '../database.ts';
import { saysDiskFull } from '../database-errors.ts';
import type { Session, SessionUse } from '../session.ts';
import { createDatabase } from '../session-database.ts';
import { damaged, lockName, makeDataDir, prepareCluster } from './cluster-directory.ts';
import { lockDirectory, type DirectoryLock } from './directory-lock.ts';
import { createEngineSession, type EngineSession } from './engine-session.ts';
import { EngineError, startEngine, type EngineWorker } from './engine-worker.ts';
import { startMaintenance } from './maintenance.ts';
import { setOptimizing } from './parser-memory.ts';
import { createSessionLanes, type SessionLanes } from './session-lanes.ts';
import { removeStrayFiles } from './stray-files.ts';

export interface PgliteOptions {
  /** The data directory; the cluster stands in its folder `database`. `memory` keeps nothing. */
  dataDir: string | 'memory';
  log: Logger;
  /** Default: the machine's. */
  clock?: Clock;
  /** A tar of a cluster (see `dumpPglite`) that a new one starts from. */
  templateFile?: string;
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
  return openFolder(options.dataDir, { clock, templateFile, log: options.log });
}

async function openFolder(
  dataDir: string,
  options: { clock: Clock; log: Logger; templateFile: string | null },
): Promise<Database> {
  const { clock, log, templateFile } = options;
  const lock = await lockFolder(dataDir, clock);
  try {
    const { path, makeIn } = await prepareCluster(dataDir);
    if (makeIn !== null) await makeCluster(path, makeIn, templateFile);
    await makePrivate(dataDir);
    const start = () => openCluster(path);
    const session = createEngineSession(await start(), { restart: start, clock, log });
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

/**
 * Makes a cluster under another name first: one that was begun and not finished could not be
 * opened. In a thread of its own, because initdb leaves hundreds of megabytes of memory behind; and nothing that it
 * calls is optimized (see `parseBeforeOthers`), because it calls the parser before anything else can.
 */
async function makeCluster(path: string, makeIn: string, templateFile: string | null): Promise<void> {
  setOptimizing(false);
  try {
    const engine = await startEngine({ clusterDir: makeIn, templateFile });
    await engine.close();
    await rename(makeIn, path);
  } catch (error) {
    await rm(makeIn, { recursive: true, force: true });
    throw diskFullAt(path, error) ?? unusable(path, error);
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

function unusable(path: string, error: unknown): MemorydError {
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

/** What watches over the data directory while it is open. */
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
  const lanes = createSessionLanes();
  const database = createDatabase('pglite', {
    acquire: (use) => acquire(use, lanes, session, guard),
    async close() {
      await maintenance.close();
      await session.close();
      await guard.release();
    },
  });
  const isIdle = () => lanes.idle;
  const uses = () => lanes.entries;
  const maintenance = startMaintenance({ database, isIdle, uses, clock, log });
  return database;
}

async function acquire(
  use: SessionUse,
  lanes: SessionLanes,
  session: EngineSession,
  guard: FolderGuard,
): Promise<Session> {
  const leave = await lanes.enter(use);
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
  throw new MemorydError('internal', 'The database in memory broke down, and what it held is lost.');
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
