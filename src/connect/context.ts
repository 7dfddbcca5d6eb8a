import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { badConfig, type Connector, type Context, type Resource } from './contract.ts';
import { createHttp } from './http.ts';

export interface ContextOptions {
  connector: Connector<any, any>;
  config: Record<string, unknown>;
  selection: readonly Resource[];
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
}

/** What a connector works with during one run, and its release. */
export function createContext(options: ContextOptions): { context: Context<any>; dispose(): Promise<void> } {
  const sessions = new Map<string, { value: Promise<unknown>; dispose?: (value: any) => Promise<void> }>();
  const folders: string[] = [];
  const { connector, log } = options;
  const name = connector.spec.name;
  const context: Context<any> = {
    config: options.config,
    selection: options.selection,
    http: createHttp({ signal: options.signal, clock: options.clock, userAgent: `memoryd ${name}` }),
    log: {
      debug: (fields, message) => log.debug({ provider: name, ...fields }, message),
      info: (fields, message) => log.info({ provider: name, ...fields }, message),
      warn: (fields, message) => log.warn({ provider: name, ...fields }, message),
    },
    signal: options.signal,
    now: () => options.clock.now(),
    token: async () => {
      throw badConfig(`The connector ${name} has no authorization to take a token from.`);
    },
    secret: async (secretName) => {
      throw badConfig(`The connection holds no secret named ${secretName}.`);
    },
    async session(key, make, dispose) {
      let entry = sessions.get(key);
      if (!entry) {
        entry = { value: make(), ...(dispose ? { dispose } : {}) };
        sessions.set(key, entry);
        entry.value.catch(() => sessions.delete(key));
      }
      return (await entry.value) as Awaited<ReturnType<typeof make>>;
    },
    async temporaryFolder() {
      const folder = await mkdtemp(join(tmpdir(), `memoryd-${name}-`));
      folders.push(folder);
      return folder;
    },
  };

  async function dispose(): Promise<void> {
    await connector.close?.(context);
    for (const { value, dispose: release } of sessions.values()) {
      const held = await value.catch(() => undefined);
      if (held !== undefined) await release?.(held);
    }
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }

  return { context, dispose };
}
