import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Logger } from '../base/log.ts';
import type { Connector } from './contract.ts';
import type { ConnectorLoader } from './registry.ts';

const validName = /^[a-z][a-z0-9-]{1,31}$/;

/**
 * The connectors of packages (`memoryd-connector-x`) and files (`./mine.ts`) that the configuration
 * names. A module exports one as its default, or several in an array. One that cannot be loaded is
 * left out with a message that says why; the others are not affected.
 */
export async function loadPlugins(
  names: readonly string[],
  options: { folder: string; builtIn: readonly string[]; log: Logger },
): Promise<Record<string, ConnectorLoader>> {
  const loaders: Record<string, ConnectorLoader> = {};
  for (const name of names) {
    try {
      for (const connector of await connectorsOf(name, options.folder)) {
        const provider = connector.spec.name;
        if (options.builtIn.includes(provider) || Object.hasOwn(loaders, provider)) {
          throw new Error(`a connector named "${provider}" is there already`);
        }
        loaders[provider] = async () => ({ default: connector });
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      options.log.error({ plugin: name, reason }, 'connector left out');
    }
  }
  return loaders;
}

async function connectorsOf(name: string, folder: string): Promise<Connector[]> {
  const isPath = /^(?:\.{0,2}\/|[A-Za-z]:\\|\.\\)/.test(name);
  const address = isPath ? pathToFileURL(resolve(folder, name)).href : resolvePackage(name, folder);
  const module = (await import(address)) as { default?: unknown };
  const connectors = Array.isArray(module.default) ? module.default : [module.default];
  for (const connector of connectors) {
    const provider: unknown = connector?.spec?.name;
    if (typeof provider !== 'string' || !validName.test(provider)) {
      throw new Error('its default export is no connector made by defineConnector');
    }
  }
  return connectors as Connector[];
}

/** Packages are looked for where the daemon runs, then beside memoryd itself. */
function resolvePackage(name: string, folder: string): string {
  try {
    return pathToFileURL(createRequire(`${folder}/`).resolve(name)).href;
  } catch {
    return name;
  }
}
