import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandFailure, exitCodes } from './exit.ts';

/** How commands on this machine find the daemon that runs. It holds a key: only its owner may read it. */
export interface DaemonFile {
  url: string;
  pid: number;
  token: string;
  /** The certificate of a daemon that speaks https, as PEM. */
  certificate?: string;
  /** ISO 8601. */
  startedAt: string;
}

export function daemonFilePath(dataDir: string): string {
  return join(dataDir, 'daemon.json');
}

/** Null when there is none, or when it is not one of ours. Throws `refused` where it may not be read. */
export async function readDaemonFile(dataDir: string): Promise<DaemonFile | null> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(daemonFilePath(dataDir), 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof SyntaxError || code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new CommandFailure(exitCodes.refused, `${daemonFilePath(dataDir)} cannot be read (${code}).`, {
      remedy: 'Run the command as the user of the daemon, or name the daemon with --url and --key.',
      cause: error,
    });
  }
  const { url, pid, token, certificate, startedAt } = (content ?? {}) as Partial<DaemonFile>;
  if (typeof url !== 'string' || typeof pid !== 'number' || typeof token !== 'string') return null;
  const known = typeof certificate === 'string' ? { certificate } : {};
  return { url, pid, token, ...known, startedAt: String(startedAt) };
}

/** Written whole or not at all, with mode 0600 from its first byte. */
export async function writeDaemonFile(dataDir: string, content: DaemonFile): Promise<void> {
  const path = daemonFilePath(dataDir);
  const temporary = `${path}.${content.pid}`;
  await mkdir(dataDir, { recursive: true });
  await rm(temporary, { force: true });
  await writeFile(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(temporary, path);
}

/** Leaves the file of another process alone. */
export async function removeDaemonFile(dataDir: string, pid: number): Promise<void> {
  if ((await readDaemonFile(dataDir))?.pid === pid) await rm(daemonFilePath(dataDir), { force: true });
}

/** Whether a process with this id exists (possibly another program's, after a restart of the machine). */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
