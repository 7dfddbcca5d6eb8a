import { randomUUID } from 'node:crypto';
import { unlinkSync, readFileSync, readlinkSync } from 'node:fs';
import { link, readdir, readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';

/** Keeps a second daemon out of a data directory; PGlite itself would open it twice and damage it. */
export interface DirectoryLock {
  /** Aborts when somebody else took the lock over: this process was taken for dead. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
  /** The same while the process exits. */
  releaseNow(): void;
}

interface LockFile extends ProcessIdentity {
  token: string;
}

const heartbeatMs = 3_000;
/** How long a holder elsewhere (another machine or container) must be silent to count as dead. */
const silenceMs = 8_000;
/** Longer than any process needs between two steps of a take-over. */
const abandonedMs = 10_000;
/** Longer than any process needs to take the lock. */
const leftoverMs = 60_000;
const retryMs = 50;

/**
 * Takes the lock file, if need be from a dead process. Throws `data_dir_locked` naming the holder.
 * A holder in this system's process table is judged by that table at once; one elsewhere by
 * whether it touches its file.
 */
export async function lockDirectory(path: string, clock: Clock): Promise<DirectoryLock> {
  const own: LockFile = { ...ownIdentity(), token: randomUUID() };
  const draft = `${path}.${own.token}`;
  await writeFile(draft, JSON.stringify(own), { mode: 0o600 });
  try {
    while (!(await placeDraft(draft, path))) {
      const holder = await readLock(path);
      if (holder === null) continue;
      if (await isHeld(path, holder, clock)) throw locked(path, holder);
      await removeStale(path, holder, clock);
    }
  } finally {
    await rm(draft, { force: true });
  }
  const lock = keep(path, own, clock);
  // They only lie about: that one cannot be removed is no reason not to start.
  await removeLeftovers(path, clock).catch(() => undefined);
  return lock;
}

/** Files of processes that were killed while they took the lock. Others may be taking it right now. */
async function removeLeftovers(path: string, clock: Clock): Promise<void> {
  for (const name of await readdir(dirname(path))) {
    const file = join(dirname(path), name);
    if (!file.startsWith(`${path}.`)) continue;
    const owner = await readLock(file);
    const touched = await touchedAt(file);
    const old = touched !== null && clock.now().getTime() - touched > leftoverMs;
    if (old || (owner !== null && stateOf(owner) === 'dead')) await rm(file, { force: true });
  }
}

/** A hard link appears with its content, and only if the name is free. */
async function placeDraft(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return false;
    // A file system without hard links (exFAT, some network drives).
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error;
    return placeCopy(draft, path);
  }
}

async function placeCopy(draft: string, path: string): Promise<boolean> {
  try {
    await writeFile(path, await readFile(draft), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Null when there is none any more. A file that cannot be understood belongs to nobody we know. */
async function readLock(path: string): Promise<LockFile | null> {
  try {
    const text = await readFile(path, 'utf8');
    return { ...unknownHolder, ...parse(text) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

const unknownHolder: LockFile = { pid: 0, startedAt: null, host: 'unknown', machine: '', token: '' };

function parse(text: string): Partial<LockFile> {
  try {
    return JSON.parse(text) as Partial<LockFile>;
  } catch {
    return {};
  }
}

async function isHeld(path: string, holder: LockFile, clock: Clock): Promise<boolean> {
  const state = stateOf(holder);
  if (state !== 'unknown') return state === 'alive';
  const before = await touchedAt(path);
  await clock.sleep(silenceMs);
  // A file of another holder by now is looked at anew.
  return (await touchedAt(path)) !== before && (await readLock(path))?.token === holder.token;
}

async function touchedAt(path: string): Promise<number | null> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Removes a dead holder's file and nobody else's: among those who found this holder dead, only the
 * one who makes the file named after its token may, and only while the lock still has that token.
 */
async function removeStale(path: string, holder: LockFile, clock: Clock): Promise<void> {
  const right = `${path}.stale-${holder.token}`;
  try {
    await writeFile(right, '', { flag: 'wx' });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const made = await touchedAt(right);
    // Somebody else is at it; who has the lock then will be seen.
    if (made === null || clock.now().getTime() - made < abandonedMs) return clock.sleep(retryMs);
  }
  if ((await readLock(path))?.token === holder.token) await unlink(path);
  await unlink(right);
}

function keep(path: string, own: LockFile, clock: Clock): DirectoryLock {
  const ended = new AbortController();
  const lost = new AbortController();
  const beating = beat();

  async function beat(): Promise<void> {
    for (;;) {
      await clock.sleep(heartbeatMs, ended.signal);
      if (ended.signal.aborted) return;
      if (!(await touch(path, own, clock))) return lost.abort();
    }
  }

  return {
    lost: lost.signal,
    async release() {
      ended.abort();
      await beating;
      if ((await readLock(path))?.token === own.token) await unlink(path);
    },
    releaseNow: () => unlinkSync(path),
  };
}

/** False when the lock is somebody else's. A file that was deleted is made again; a disk that fails is no verdict. */
async function touch(path: string, own: LockFile, clock: Clock): Promise<boolean> {
  try {
    const holder = await readLock(path);
    if (holder === null) await writeFile(path, JSON.stringify(own), { flag: 'wx', mode: 0o600 });
    else if (holder.token !== own.token) return false;
    else await utimes(path, clock.now(), clock.now());
    return true;
  } catch (error) {
    return codeOf(error) !== 'EEXIST';
  }
}

function locked(path: string, holder: LockFile): MemorydError {
  const elsewhere = stateOf(holder) === 'unknown' ? ` on host ${holder.host}` : undefined;
  const where = elsewhere ?? (holder.pid === process.pid ? ' (this process)' : '');
  return new MemorydError('data_dir_locked', `Process ${holder.pid}${where} uses this data directory (${path}).`);
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** A process, recognisable after its number was given to another one. */
export interface ProcessIdentity {
  pid: number;
  /** When it started, in the words of the system; null where that cannot be found out. */
  startedAt: string | null;
  host: string;
  /**
   * Where process numbers mean the same: this boot of this machine, and on Linux this namespace of
   * process numbers, because two containers may share a volume and even a host name.
   */
  machine: string;
}

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, startedAt: startOf(process.pid), host: hostname(), machine: machineId() };
}

/** `unknown`: it lives elsewhere, so its number says nothing here. */
function stateOf(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  if (identity.machine !== machineId()) return 'unknown';
  if (!isRunning(identity.pid)) return 'dead';
  const startedAt = startOf(identity.pid);
  return startedAt !== null && identity.startedAt !== null && startedAt !== identity.startedAt ? 'dead' : 'alive';
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function startOf(pid: number): string | null {
  if (process.platform === 'linux') return orNull(() => startTicks(readFileSync(`/proc/${pid}/stat`, 'utf8')));
  if (process.platform === 'win32') return null;
  return orNull(() => execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim());
}

/** Field 22 of proc_pid_stat(5); the name before it may hold spaces and parentheses. A zombie counts as gone. */
function startTicks(stat: string): string | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? 'ended' : (fields[19] ?? null);
}

function machineId(): string {
  const boot = orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = orNull(() => readlinkSync('/proc/self/ns/pid'));
  return [hostname(), boot, namespace].filter((part) => part !== null).join(' ');
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
