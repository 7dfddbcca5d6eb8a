import { loadConfig, type Environment } from '../base/config.ts';
import { createClient, type Client } from './client.ts';
import type { CommandContext } from './context.ts';
import { daemonFilePath, isAlive, readDaemonFile, type DaemonFile } from './daemon-file.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { DaemonOptions } from './options.ts';

const timeoutMs = 60_000;

/**
 * A client of the daemon that options, environment or the data directory name. Throws
 * `CommandFailure`: `noDaemon` when none is known, `refused` when there is no key for it.
 */
export async function openClient(options: DaemonOptions, context: CommandContext): Promise<Client> {
  const { url, key } = namedAccess(options, context.env);
  if (url && key) return client({ url: url.value, key, unreachable: checkAddress(url) }, context);
  const { dataDir } = loadConfig({
    flags: { dataDir: options.dataDir },
    configFile: options.config,
    env: context.env,
    cwd: context.cwd,
  }).config;
  const file = await readDaemonFile(dataDir);
  if (url) {
    return client({ url: url.value, key: key ?? localKey(file, url.value), unreachable: checkAddress(url) }, context);
  }
  if (!file) {
    throw new CommandFailure(exitCodes.noDaemon, `No daemon runs with the data directory ${dataDir}.`, {
      remedy: 'Start one with `memoryd start`, or name another one with --data-dir, or with --url and --key.',
    });
  }
  const { certificate } = file;
  const given = { url: file.url, key: key ?? localKey(file, file.url), unreachable: lostDaemon(file, dataDir) };
  return client({ ...given, certificate }, context);
}

interface Named {
  value: string;
  /** For messages: which option or variable. */
  from: string;
}

function namedAccess(options: DaemonOptions, env: Environment): { url: Named | null; key: Named | null } {
  return {
    url: firstOf([options.url, '--url'], [env['MEMORYD_URL'], 'MEMORYD_URL']),
    key: firstOf([options.key, '--key'], [env['MEMORYD_API_KEY'], 'MEMORYD_API_KEY']),
  };
}

function firstOf(...candidates: [string | undefined, string][]): Named | null {
  const found = candidates.find(([value]) => value);
  return found?.[0] ? { value: found[0], from: found[1] } : null;
}

/** The key in daemon.json goes to that daemon only, never to another address. */
function localKey(file: DaemonFile | null, url: string): Named {
  if (file && trimmed(file.url) === trimmed(url)) return { value: file.token, from: 'of daemon.json' };
  throw new CommandFailure(exitCodes.refused, `There is no key for the daemon at ${url}.`, {
    remedy: 'Give one with --key or MEMORYD_API_KEY.',
  });
}

function lostDaemon(file: DaemonFile, dataDir: string): string {
  const state = isAlive(file.pid) ? 'which exists but does not listen there' : 'which has ended';
  return `${daemonFilePath(dataDir)} names process ${file.pid}, ${state}. Start the daemon again with \`memoryd start\`.`;
}

const checkAddress = ({ from }: Named) => `Check the address (${from}).`;

interface Access {
  url: string;
  key: Named;
  /** The remedy when nothing answers there. */
  unreachable: string;
  certificate?: string | undefined;
}

function client({ url, key, unreachable, certificate }: Access, { signal }: CommandContext): Client {
  if (!/^https?:\/\/[^/]/.test(url)) {
    throw new CommandFailure(exitCodes.usage, `${url} is not an address.`, {
      remedy: 'An address looks like http://127.0.0.1:6767.',
    });
  }
  const keySource = key.from.startsWith('of') ? key.from : `of ${key.from}`;
  return createClient({ url: trimmed(url), key: key.value, keySource, unreachable, signal, timeoutMs, certificate });
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '');
}
