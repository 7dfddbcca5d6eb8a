import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

/** The machine's `redis-server`, or undefined. */
export const redisServerProgram: string | undefined =
  spawnSync('redis-server', ['--version']).status === 0 ? 'redis-server' : undefined;

/** A Redis of one test, which may be stopped, frozen, emptied and started again on the same port. */
export interface PrivateRedis {
  readonly url: string;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** Ends it at once. With `appendOnly` it comes back with what it held. */
  kill(): Promise<void>;
  /** It stays connected and answers nothing until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Runs one command. */
  command(name: string, ...parameters: string[]): Promise<unknown>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startPrivateRedis(options: { appendOnly: boolean; password?: string }): Promise<PrivateRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'memoryd-redis-'));
  const port = await freePort();
  const url = `redis://${options.password ? `:${options.password}@` : ''}127.0.0.1:${port}`;
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    server = spawn('redis-server', serverArguments(port, folder, options), { stdio: 'ignore' });
    const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    client.on('error', () => {});
    await client.ping();
    client.disconnect();
  }

  async function kill(): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
  }

  await start();
  return {
    url,
    start,
    kill,
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
    async command(name, ...parameters) {
      const client = new Redis(url);
      try {
        return await client.call(name, ...parameters);
      } finally {
        client.disconnect();
      }
    },
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function serverArguments(port: number, folder: string, options: { appendOnly: boolean; password?: string }): string[] {
  return [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
    ...['--appendonly', options.appendOnly ? 'yes' : 'no', '--appendfsync', 'always'],
    ...(options.password ? ['--requirepass', options.password] : []),
  ];
}

/** A port that nothing listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
