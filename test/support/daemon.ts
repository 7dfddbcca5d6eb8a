import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readDaemonFile } from '../../src/cli/daemon-file.ts';
import { makePgliteTemplate } from './databases.ts';

const launcher = join(import.meta.dirname, '../../bin/memoryd.js');

export interface DaemonOptions {
  /** Further options of `memoryd start`. */
  args?: string[];
  env?: Record<string, string>;
  /** Where both streams go, e.g. `/dev/full`. Default: pipes that are read. */
  outputFile?: string;
  /** To start again on the data of a daemon before. Default: a new directory, removed by `stop`. */
  dataDir?: string;
}

export interface Daemon {
  /** Without a slash at the end. */
  url: string;
  /** A full key. */
  key: string;
  dataDir: string;
  pid: number;
  /** What it has printed so far, both streams. */
  output(): string;
  /** Whether it has ended, by itself or not. */
  hasEnded(): boolean;
  /** Nobody reads what it prints from now on. */
  closeOutput(): void;
  /** Stops it as an operator would; answers its exit code. The data directory is removed if it was made here. */
  stop(): Promise<number | null>;
  /** Ends it at once, as a crash would. The data directory stays. */
  kill(): Promise<void>;
}

/** How long a start may take on a busy machine. */
const patienceMs = 60_000;

/** The real program in a process of its own. Resolves when it answers requests. */
export async function startDaemon(options: DaemonOptions = {}): Promise<Daemon> {
  const dataDir = options.dataDir ?? (await newDataDir(options));
  const args = ['start', '--port', '0', '--data-dir', dataDir, ...(options.args ?? [])];
  const output = options.outputFile === undefined ? 'pipe' : openSync(options.outputFile, 'w');
  const child = spawn(process.execPath, [launcher, ...args], {
    env: { PATH: process.env['PATH'], ...options.env },
    stdio: ['ignore', output, output],
  });
  if (typeof output === 'number') closeSync(output);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part: Buffer) => (text += part.toString()));
  const exited = new Promise<number | null>((resolve) => child.on('close', resolve));
  const removeData = async () => {
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    child.kill(signal);
    return exited;
  }

  try {
    const { url, token } = await announcement(dataDir, child.pid!, () => child.exitCode !== null);
    return {
      url,
      key: options.env?.['MEMORYD_API_KEY'] ?? token,
      dataDir,
      pid: child.pid!,
      output: () => text,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      closeOutput() {
        child.stdout?.destroy();
        child.stderr?.destroy();
      },
      async stop() {
        const exitCode = await end('SIGTERM');
        await removeData();
        return exitCode;
      },
      async kill() {
        await end('SIGKILL');
      },
    };
  } catch (error) {
    await end('SIGKILL');
    await removeData();
    throw new Error(`The daemon did not start. It printed:\n${text}`, { cause: error });
  }
}

/** With an empty database in it, where it is embedded: to make one takes most of the time of a first start. */
async function newDataDir({ env }: DaemonOptions): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'memoryd-daemon-'));
  if (env?.['MEMORYD_DATABASE_URL'] === undefined) await putEmptyDatabase(dataDir);
  return dataDir;
}

/** An embedded database into a data directory that has none. */
export async function putEmptyDatabase(dataDir: string): Promise<void> {
  const database = join(dataDir, 'database');
  await mkdir(database, { mode: 0o700 });
  await promisify(execFile)('tar', ['--extract', '--file', await makePgliteTemplate(), '--directory', database]);
}

/** Waits for the file in which the daemon says where it listens. */
async function announcement(dataDir: string, pid: number, hasEnded: () => boolean) {
  for (let waitedMs = 0; waitedMs < patienceMs && !hasEnded(); waitedMs += 50) {
    const file = await readDaemonFile(dataDir);
    if (file?.pid === pid) return file;
    await sleep(50);
  }
  throw new Error(hasEnded() ? 'It ended.' : `It was not ready within ${patienceMs} ms.`);
}
