import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../redis-server.ts';

const run = promisify(execFile);

/** Where the programs of PostgreSQL are; undefined where there are none. */
export const postgresPrograms: string | undefined = [process.env['PG_BIN'], systemPrograms()].find(
  (folder) => folder !== undefined && existsSync(join(folder, 'initdb')),
);

function systemPrograms(): string | undefined {
  try {
    return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

/** A PostgreSQL of one test, which may be killed and started again on the same port. */
export interface OwnPostgres {
  readonly port: number;
  /** Resolves when it answers. */
  start(): Promise<void>;
  kill(): Promise<void>;
}

/** PostgreSQL refuses root. */
const asUser = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];

/** `folder` is made, or is empty; the cluster in it stays when the server ends. */
export async function startOwnPostgres(programs: string, folder: string): Promise<OwnPostgres> {
  const data = join(folder, 'cluster');
  await mkdir(data, { recursive: true, mode: 0o700 });
  if (asUser.length > 0) await run('chown', ['-R', '65534:65534', folder]);
  const command = (program: string, ...rest: string[]) => [...asUser, join(programs, program), ...rest];
  const [make, ...made] = command('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync');
  await run(make!, made, { cwd: '/' });
  const port = await freePort();
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${data}`, 'shared_buffers=32MB'];
    const [program, ...rest] = command(
      'postgres',
      '-D',
      data,
      '-p',
      String(port),
      ...settings.flatMap((one) => ['-c', one]),
    );
    for (let attempt = 0; attempt < 600; attempt++) {
      // It refuses while processes of the one before are still dying.
      if (!server || server.exitCode !== null || server.signalCode !== null) {
        server = spawn(program!, rest, { cwd: '/', stdio: 'ignore', detached: true });
      }
      if (await answers(port)) return;
      await pause(50);
    }
    throw new Error('PostgreSQL does not answer.');
  }

  async function kill(): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((resolve) => server!.once('exit', resolve));
    // With its children, as when the machine loses its power.
    process.kill(-server.pid!, 'SIGKILL');
    await ended;
  }

  await start();
  return { port, start, kill };
}

async function answers(port: number): Promise<boolean> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
