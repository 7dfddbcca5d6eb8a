import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { dovecotBinary, startDovecot, type Dovecot } from '../../../fixtures/servers/imap/dovecot.ts';
import { newEncryptionKey } from '../../../src/base/encryption.ts';
import { putEmptyDatabase, startDaemon, type Daemon } from '../daemon.ts';
import { changeSource, openSources, unmount, type Source } from './sources.ts';
import type { ChaosStep, ServerName, Store } from './program.ts';
import { openStore, type ChaosStore } from './store.ts';
import { differencesOf, readMemory, type Added } from './truth.ts';

/** Sources, servers and a daemon, in which one program runs after the other. */
export interface Environment {
  run(steps: readonly ChaosStep[]): Promise<void>;
  /** What differs when everything works again and had its time; empty: nothing. */
  settle(): Promise<string[]>;
  /** What the daemons printed. */
  output(): string;
  close(): Promise<void>;
}

const clockHook = new URL('./moved-clock.ts', import.meta.url).href;
const apiTag = 'chaos_api';

export async function openEnvironment(kind: Store): Promise<Environment> {
  const store = await openStore(kind);
  const dovecot = dovecotBinary === undefined ? undefined : await startDovecot(dovecotBinary);
  const sources = await openSources(dovecot);
  const environment = createEnvironment({ store, dovecot, sources });
  await environment.begin();
  return environment;
}

function createEnvironment({
  store,
  dovecot,
  sources,
}: {
  store: ChaosStore;
  dovecot: Dovecot | undefined;
  sources: Source[];
}) {
  const clockFile = join(store.folder, 'clock');
  const env = {
    ...store.env,
    MEMORYD_API_KEY: 'chaos-key',
    MEMORYD_ENCRYPTION_KEY: newEncryptionKey(),
    MEMORYD_ALLOW_PRIVATE_URLS: 'true',
    MEMORYD_FOLDER_ROOTS: dirname(sources[0]!.settings['path'] as string),
    MEMORYD_EMBEDDER_KIND: 'hashing',
    MEMORYD_LOG_LEVEL: 'warn',
    CHAOS_CLOCK: clockFile,
    NODE_OPTIONS: `--import=${clockHook} --disable-warning=ExperimentalWarning`,
  };
  const added = new Map<string, Added>();
  const connections = new Map<string, string>();
  const printed: string[] = [];
  let offsetMs = 0;
  let daemons = 0;
  let dataDir = '';
  let daemon: Daemon | undefined;

  function moveClock(ms: number): void {
    offsetMs += ms;
    writeFileSync(clockFile, String(offsetMs));
  }

  async function newDataDir(): Promise<string> {
    const folder = join(store.folder, `data-${++daemons}`);
    mkdirSync(folder, { mode: 0o700 });
    if (store.kind === 'embedded') await putEmptyDatabase(folder);
    return folder;
  }

  /** One that does not start, because the disk is full or a server is away, is started again later. */
  async function start(): Promise<Daemon | undefined> {
    try {
      return await startDaemon({ dataDir, env });
    } catch (error) {
      printed.push(String(error));
      return undefined;
    }
  }

  async function end(one: Daemon | undefined): Promise<void> {
    if (!one) return;
    await one.kill();
    printed.push(one.output());
  }

  async function restartDaemon(): Promise<void> {
    await end(daemon);
    daemon = await start();
  }

  /** An answer, or undefined when there was none or it says that something failed. */
  async function ask(method: string, path: string, body?: unknown): Promise<any> {
    if (!daemon) return undefined;
    try {
      const response = await fetch(new URL(path, daemon.url), {
        method,
        headers: { authorization: 'Bearer chaos-key', 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(60_000),
      });
      if (!response.ok) printed.push(`${method} ${path} answered ${response.status}.`);
      return response.ok ? await response.json().catch(() => ({})) : undefined;
    } catch {
      return undefined;
    }
  }

  async function changeOverApi(step: ChaosStep & { name: string }): Promise<void> {
    const { name } = step;
    const before = added.get(name) ?? { acknowledged: undefined, possible: [] };
    const text = 'text' in step ? step.text : undefined;
    if (step.do === 'remove') {
      const isDone = (await ask('DELETE', `/v3/documents/${name}`)) !== undefined;
      added.set(
        name,
        isDone ? { acknowledged: null, possible: [] } : { ...before, possible: [...before.possible, null] },
      );
    } else if (text !== undefined) {
      const answer = await ask('POST', '/v3/documents', { content: text, customId: name, containerTag: apiTag });
      added.set(
        name,
        answer ? { acknowledged: text, possible: [] } : { ...before, possible: [...before.possible, text] },
      );
    }
  }

  const servers: Record<ServerName, { cut(): void; mend(): void; restart(): Promise<void> }> = {
    imap: serverBehind(['imap'], async () => dovecot?.restart()),
    github: serverBehind(['files', 'issues'], async () => {}),
    postgres: {
      cut: () => store.servers?.proxies.postgres.cut(),
      mend: () => store.servers?.proxies.postgres.mend(),
      async restart() {
        await store.servers?.postgres.kill();
        await store.servers?.postgres.start();
      },
    },
    redis: {
      cut: () => store.servers?.proxies.redis.cut(),
      mend: () => store.servers?.proxies.redis.mend(),
      async restart() {
        await store.servers?.redis.kill();
        await store.servers?.redis.start();
      },
    },
  };

  function serverBehind(names: readonly string[], restart: () => Promise<unknown>) {
    const proxies = sources.flatMap(({ name, proxy }) => (names.includes(name) && proxy ? [proxy] : []));
    return {
      cut: () => proxies.forEach((proxy) => proxy.cut()),
      mend: () => proxies.forEach((proxy) => proxy.mend()),
      restart: async () => void (await restart()),
    };
  }

  /** Longer than any lease, for everybody who looks at the time. */
  async function freeze(ms: number): Promise<void> {
    const frozen = daemon;
    if (!frozen || frozen.hasEnded()) return;
    process.kill(frozen.pid, 'SIGSTOP');
    moveClock(61_000);
    if (store.kind === 'embedded') {
      await pause(ms);
      process.kill(frozen.pid, 'SIGCONT');
      return;
    }
    dataDir = await newDataDir();
    daemon = await start();
    await syncAll(false);
    await pause(ms);
    process.kill(frozen.pid, 'SIGCONT');
    await pause(ms);
    await end(frozen);
  }

  async function fillDisk(ms: number): Promise<void> {
    store.disk?.fill();
    await pause(ms);
    store.disk?.free();
    if (daemon?.hasEnded()) await restartDaemon();
  }

  async function syncAll(full: boolean): Promise<void> {
    const mode = full ? 'full' : 'incremental';
    await Promise.all([...connections.values()].map((id) => ask('POST', `/v3/connections/${id}/sync`, { mode })));
  }

  async function take(step: ChaosStep): Promise<void> {
    if ('name' in step) {
      if (step.world === 'api') return changeOverApi(step);
      const source = sources.find(({ name }) => name === step.world);
      return source && changeSource(source, step);
    }
    switch (step.do) {
      case 'sync': {
        const id = connections.get(step.world);
        if (id !== undefined)
          await ask('POST', `/v3/connections/${id}/sync`, { mode: step.full ? 'full' : 'incremental' });
        return;
      }
      case 'pause':
        return pause(step.ms);
      case 'kill':
        return restartDaemon();
      case 'freeze':
        return freeze(step.ms);
      case 'cut':
        servers[step.server].cut();
        await pause(step.ms);
        return servers[step.server].mend();
      case 'restart':
        return servers[step.server].restart();
      case 'flush':
        return void (await store.servers?.redis.command('FLUSHALL'));
      case 'fill disk':
        return fillDisk(step.ms);
      case 'move clock':
        return moveClock(step.ms);
      case 'unmount': {
        const mount = unmount(sources[0]!);
        await pause(step.ms);
        return mount();
      }
    }
  }

  async function differences(): Promise<string[]> {
    if (!daemon || daemon.hasEnded()) return ['The daemon is down.'];
    const memory = await readMemory(ask, [...connections.keys()].map((name) => `chaos_${name}`).concat(apiTag));
    return memory === undefined ? ['The daemon does not answer.'] : differencesOf(sources, added, memory, apiTag);
  }

  /** A server that lost its disk for a moment is a server that has to be started again. */
  async function mend(): Promise<void> {
    store.disk?.free();
    for (const server of Object.values(servers)) server.mend();
    if (!daemon || daemon.hasEnded()) {
      await store.servers?.postgres.kill();
      await store.servers?.postgres.start();
      await restartDaemon();
    }
  }

  return {
    async begin(): Promise<void> {
      moveClock(0);
      dataDir = await newDataDir();
      daemon = await startDaemon({ dataDir, env });
      for (const { name, provider, settings } of sources) {
        const body = { containerTag: `chaos_${name}`, metadata: settings };
        const made = await ask('POST', `/v3/connections/${provider}`, body);
        if (!made?.id) throw new Error(`The connection to ${name} could not be made.\n${this.output()}`);
        connections.set(name, made.id);
      }
      const wrong = await this.settle();
      if (wrong.length > 0) throw new Error(`Before anything happened:\n${wrong.join('\n')}\n${this.output()}`);
    },
    async run(steps: readonly ChaosStep[]): Promise<void> {
      for (const step of steps) await take(step);
    },
    async settle(): Promise<string[]> {
      let wrong: string[] = [];
      for (let round = 0; round < settleRounds; round++) {
        await mend();
        const until = performance.now() + waitMs(round);
        do {
          wrong = await differences();
          if (wrong.length === 0) return wrong;
          await pause(50);
        } while (performance.now() < until);
        moveClock(jumpsMs[round % jumpsMs.length]!);
        await syncAll(true);
      }
      return wrong;
    },
    output: () => [...printed, daemon?.output() ?? ''].join('\n').slice(-20_000),
    async close(): Promise<void> {
      await end(daemon);
      for (const { world, proxy } of sources) {
        await proxy?.close();
        await world.close();
      }
      await dovecot?.close();
      await store.close();
    },
  };
}

/**
 * How far the clock is moved, one after the other, before everything is listed again: over leases, the time in which
 * a sweep is held, and the pauses of what failed.
 */
const jumpsMs = [0, 61_000, 61_000, 11 * 60_000, 11 * 60_000, 26 * 3_600_000, 61_000, 26 * 3_600_000];
const settleRounds = 40;
/** What the daemon's own watching is given before the first listing, and each listing before the next one. */
const waitMs = (round: number) => Math.min(500 + 300 * round, 3_000);

export const newSeed = () => randomBytes(4).readUInt32BE();
