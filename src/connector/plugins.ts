import { existsSync, readFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { at } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { claimedName, connectorProblems } from './connector-shape.ts';
import type { Connector } from './contract.ts';
import type { BrokenConnector, ConnectorLoader } from './registry.ts';

export interface Plugins {
  loaders: Record<string, ConnectorLoader>;
  broken: BrokenConnector[];
}

export interface PluginOptions {
  /** Where files and packages are looked for. */
  folder: string;
  /** Names of connectors that are there already. */
  builtIn: readonly string[];
  log: Logger;
  clock: Clock;
}

/** A module that waits for something while it loads must not keep the daemon from starting. */
const importTimeoutMs = 30_000;

/**
 * The connectors of packages (`memoryd-connector-x`) and files (`./mine.ts`) that the configuration
 * names. A module exports one as its default, or several in an array. What cannot be used is left
 * out with the reason why; neither other plugins nor good connectors of the same module are affected.
 */
export async function loadPlugins(names: readonly string[], options: PluginOptions): Promise<Plugins> {
  const owners = new Map(options.builtIn.map((name) => [name, 'memoryd itself']));
  const plugins: Plugins = { loaders: {}, broken: [] };
  const modules = await Promise.all(names.map((name) => importPlugin(name, options)));
  for (const [index, imported] of modules.entries()) {
    const plugin = at(names, index);
    const leaveOut = (provider: string | null, reason: string) => plugins.broken.push({ plugin, provider, reason });
    if ('reason' in imported) {
      leaveOut(null, imported.reason);
      continue;
    }
    for (const connector of imported.connectors) {
      const provider = claimedName(connector) ?? null;
      const reason = problemOf(connector, provider, owners);
      if (reason !== undefined || provider === null) {
        leaveOut(provider, reason ?? '');
        continue;
      }
      owners.set(provider, plugin);
      plugins.loaders[provider] = async () => ({ default: connector as Connector<any, any> });
    }
  }
  for (const broken of plugins.broken) options.log.error({ ...broken }, 'connector left out');
  return plugins;
}

function problemOf(
  connector: unknown,
  provider: string | null,
  owners: ReadonlyMap<string, string>,
): string | undefined {
  const problems = connectorProblems(connector);
  if (problems.length > 0) return problems.join(' ');
  const owner = owners.get(provider!);
  return owner === undefined ? undefined : `A connector named "${provider}" is there already, from ${owner}.`;
}

type Imported = { connectors: readonly unknown[] } | { reason: string };

async function importPlugin(name: string, options: PluginOptions): Promise<Imported> {
  const isPath = /^(?:\.{0,2}\/|[A-Za-z]:\\|\.\\)/.test(name);
  const loaded = new AbortController();
  if (isPath && !existsSync(resolve(options.folder, name))) {
    return { reason: `There is no file ${resolve(options.folder, name)}.` };
  }
  try {
    const module = await Promise.race([
      import(isPath ? pathToFileURL(resolve(options.folder, name)).href : resolvePackage(name, options.folder)),
      options.clock.sleep(importTimeoutMs, loaded.signal).then(() => 'timeout' as const),
    ]);
    if (module === 'timeout') return { reason: `It did not finish loading within ${importTimeoutMs / 1_000} s.` };
    return connectorsOf(module as Record<string, unknown>);
  } catch (error) {
    return { reason: importProblem(name, options.folder, error) };
  } finally {
    loaded.abort();
  }
}

function connectorsOf(module: Record<string, unknown>): Imported {
  const exported = module['default'];
  if (Array.isArray(exported) && exported.length > 0) return { connectors: exported };
  if (exported !== undefined && claimedName(exported) !== undefined) return { connectors: [exported] };
  const named = Object.keys(module).filter((key) => key !== 'default' && claimedName(module[key]) !== undefined);
  const hint = named.length > 0 ? ` It exports ${named.join(', ')}; make that its default export.` : '';
  const found = exported === undefined ? 'It has no default export' : 'Its default export is no connector';
  return { reason: `${found}: that must be what defineConnector returns, or a list of such.${hint}` };
}

function importProblem(name: string, folder: string, error: unknown): string {
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) };
  if (code === 'ERR_MODULE_NOT_FOUND' && message.includes(`'${name}'`)) {
    return `The package is not installed. Run \`npm install ${name}\` in ${folder}.`;
  }
  if (code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING') {
    return 'It is TypeScript in node_modules, which Node does not run. Its author has to publish JavaScript.';
  }
  return `It cannot be loaded: ${message.split('\n', 1)[0]}${placeOf(error, folder)}`;
}

/** Where in the plugin it failed. Of JavaScript that does not parse Node tells that only when it runs the file itself. */
function placeOf(error: unknown, folder: string): string {
  if (!(error instanceof Error)) return '';
  const stack = (error.stack ?? '').replaceAll(pathToFileURL(folder).href, folder);
  const [, start] = stack.split(folder + sep, 2);
  const [, file, line] = /^([^():\n]+):(\d+)/.exec(start ?? '') ?? [];
  if (file !== undefined) return ` (${file}, line ${line})`;
  return error instanceof SyntaxError ? ' (`node --check` with the file shows where)' : '';
}

/** Packages are looked for where the daemon runs, then beside memoryd itself. */
function resolvePackage(name: string, folder: string): string {
  try {
    return pathToFileURL(createRequire(`${folder}/`).resolve(name)).href;
  } catch (error) {
    const entry = (error as NodeJS.ErrnoException).code === notForRequire ? importEntry(name, folder) : undefined;
    return entry === undefined ? name : pathToFileURL(entry).href;
  }
}

const notForRequire = 'ERR_PACKAGE_PATH_NOT_EXPORTED';

/** The main file of a package whose `exports` are for `import` alone, which a require cannot resolve. */
function importEntry(name: string, folder: string): string | undefined {
  const packageFile = findPackageJSON(name, `${folder}/`);
  if (packageFile === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(packageFile, 'utf8')) as { exports?: unknown };
  const main = typeof exports === 'object' && exports !== null && '.' in exports ? exports['.'] : exports;
  const target = importTarget(main);
  return target === undefined ? undefined : resolve(dirname(packageFile), target);
}

/** The first file among the conditions that hold for an `import` in Node. */
function importTarget(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry;
  if (typeof entry !== 'object' || entry === null) return undefined;
  for (const [condition, target] of Object.entries(entry)) {
    const found = ['import', 'node', 'default'].includes(condition) ? importTarget(target) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
