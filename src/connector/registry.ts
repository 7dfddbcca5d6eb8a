import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import { contractVersion, type Connector, type ConnectorSpec, type JsonObject } from './contract.ts';

/** The connectors that come with memoryd. */
export const builtInNames = ['folder', 'github', 'gmail', 'google-drive', 'imap', 'notion', 'push'] as const;

/** Loads one connector; called when it is first used. */
export type ConnectorLoader = () => Promise<{ default: Connector<any, any> }>;

/** A connector, or a whole plugin, that is configured and cannot be used. */
export interface BrokenConnector {
  /** The name in the configuration: a package or a file. */
  plugin: string;
  /** The provider that it would be; null when the plugin did not get as far as saying so. */
  provider: string | null;
  /** The problem and its remedy. */
  reason: string;
}

export interface Registry {
  names(): string[];
  /** Throws `connector_invalid` for a name nobody knows and for a connector that is broken; the message says why. */
  load(name: string): Promise<Connector<any, any>>;
  /** Specs of usable connectors. */
  specs(): Promise<ConnectorSpec[]>;
  /** Connectors, configured or built in, that failed to load so far. */
  broken(): BrokenConnector[];
  /** Fills in defaults and checks a configuration; throws `validation_failed` with one issue per mistake. */
  validateConfig(name: string, config: JsonObject): Promise<JsonObject>;
}

/**
 * The connectors by name, from an explicit map: what is not in it does not exist. `broken` are those
 * that were left out of it, so that asking for one says why.
 */
export function createRegistry(
  loaders: Readonly<Record<string, ConnectorLoader>>,
  broken: readonly BrokenConnector[] = [],
): Registry {
  const loaded = new Map<string, Promise<Connector<any, any>>>();
  const failed = new Map<string, BrokenConnector>();
  let ajv: Ajv2020 | undefined;

  function load(name: string): Promise<Connector<any, any>> {
    const loader = Object.hasOwn(loaders, name) ? loaders[name] : undefined;
    if (!loader) return Promise.reject(unknownConnector(name, Object.keys(loaders), broken));
    let connector = loaded.get(name);
    if (!connector) {
      connector = tryToLoad(name, loader);
      loaded.set(name, connector);
      connector.catch((error: MemorydError) => {
        failed.set(name, { plugin: name, provider: name, reason: error.details ?? error.message });
      });
    }
    return connector;
  }

  return {
    load,
    names: () => Object.keys(loaders),
    broken: () => [...broken, ...failed.values()],
    async specs() {
      const tried = await Promise.allSettled(Object.keys(loaders).map((name) => load(name)));
      return tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value.spec] : []));
    },
    async validateConfig(name, config) {
      const { spec } = await load(name);
      const filled = structuredClone(config);
      ajv ??= new Ajv2020({ allErrors: true, useDefaults: true, strict: false, validateFormats: false });
      const validate = ajv.compile(spec.config);
      if (validate(filled)) return filled;
      const issues = (validate.errors ?? []).map((error): ValidationIssue => ({
        message: messageOf(error),
        path: ['metadata', ...error.instancePath.split('/').slice(1), ...missingProperty(error.params)],
      }));
      throw new MemorydError('validation_failed', `The configuration of ${name} is not valid.`, { issues });
    },
  };
}

function messageOf({ keyword, message = 'is not valid', params }: ErrorObject): string {
  if (keyword === 'additionalProperties') return `${message}: ${String(params['additionalProperty'])}`;
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
  return message;
}

function missingProperty(params: Record<string, unknown>): string[] {
  return typeof params.missingProperty === 'string' ? [params.missingProperty] : [];
}

async function tryToLoad(name: string, loader: ConnectorLoader): Promise<Connector<any, any>> {
  let connector: Connector<any, any>;
  try {
    connector = (await loader()).default;
  } catch (error) {
    const details = `It cannot be loaded: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`;
    throw new MemorydError('connector_invalid', `The connector ${name} is broken.`, { details, cause: error });
  }
  const problem = versionProblem(connector);
  if (problem === undefined) return connector;
  throw new MemorydError('connector_invalid', `The connector ${name} is broken.`, { details: problem });
}

function unknownConnector(name: string, installed: readonly string[], broken: readonly BrokenConnector[]): Error {
  const left = broken.find((one) => one.provider === name);
  if (left) {
    return new MemorydError('connector_invalid', `The connector ${name} of ${left.plugin} is broken.`, {
      details: left.reason,
    });
  }
  const also = broken.filter((one) => one.provider === null).map((one) => one.plugin);
  const message = `There is no connector named "${name}". Installed: ${installed.join(', ')}.`;
  const hint = also.length > 0 ? { details: `These plugins could not be loaded: ${also.join(', ')}.` } : {};
  return new MemorydError('connector_invalid', message, hint);
}

/** Whether a connector was made for this contract; else what is wrong and how to mend it. */
export function versionProblem(connector: { contractVersion?: unknown }): string | undefined {
  const { contractVersion: made } = connector;
  if (made === contractVersion) return undefined;
  if (typeof made !== 'number') {
    return 'It does not say for which version of the contract it was made. Make it with defineConnector of memoryd/connector.';
  }
  const remedy =
    made > contractVersion ? 'Install a newer memoryd, or an older version of it.' : 'Install a newer version of it.';
  return `It was made for version ${made} of the connector contract, and this memoryd has version ${contractVersion}. ${remedy}`;
}
