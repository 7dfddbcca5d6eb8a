import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

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
export function stateOf(identity: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
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
