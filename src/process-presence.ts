import { hostname } from 'node:os';
import type { ProcessPresence } from './api/services.ts';
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/log.ts';
import type { Database } from './store/database.ts';
import { deleteProcess, listProcesses, noteProcess, type ProcessRow } from './store/processes.ts';

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
