import { Ajv2020 } from 'ajv/dist/2020.js';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import { contractVersion, type Connector, type ConnectorSpec, type JsonObject } from './contract.ts';

/** Loads one connector; called when it is first used. */
export type ConnectorLoader = () => Promise<{ default: Connector<any, any> }>;

export interface Registry {
  names(): string[];
  /** Throws `connector_invalid` for a name nobody knows or a connector of another contract version. */
  load(name: string): Promise<Connector<any, any>>;
  specs(): Promise<ConnectorSpec[]>;
  /** Fills in defaults and checks a configuration; throws `validation_failed` with one issue per mistake. */
  validateConfig(name: string, config: JsonObject): Promise<JsonObject>;
}

/** The connectors by name, from an explicit map: what is not in it does not exist. */
export function createRegistry(loaders: Readonly<Record<string, ConnectorLoader>>): Registry {
  const loaded = new Map<string, Promise<Connector<any, any>>>();
  const ajv = new Ajv2020({ allErrors: true, useDefaults: true, strict: false });

  function load(name: string): Promise<Connector<any, any>> {
    const loader = Object.hasOwn(loaders, name) ? loaders[name] : undefined;
    if (!loader) {
      const message = `There is no connector named "${name}". Installed: ${Object.keys(loaders).join(', ')}.`;
      return Promise.reject(new MemorydError('connector_invalid', message));
    }
    let connector = loaded.get(name);
    if (!connector) {
      connector = loader().then((module) => checked(name, module.default));
      loaded.set(name, connector);
    }
    return connector;
  }

  return {
    load,
    names: () => Object.keys(loaders),
    specs: () => Promise.all(Object.keys(loaders).map(async (name) => (await load(name)).spec)),
    async validateConfig(name, config) {
      const { spec } = await load(name);
      const filled = structuredClone(config);
      const validate = ajv.compile(spec.config);
      if (validate(filled)) return filled;
      const issues = (validate.errors ?? []).map((error): ValidationIssue => ({
        message: `${error.message ?? 'is not valid'}${error.keyword === 'additionalProperties' ? `: ${String(error.params.additionalProperty)}` : ''}`,
        path: ['metadata', ...error.instancePath.split('/').slice(1), ...missingProperty(error.params)],
      }));
      throw new MemorydError('validation_failed', `The configuration of ${name} is not valid.`, { issues });
    },
  };
}

function missingProperty(params: Record<string, unknown>): string[] {
  return typeof params.missingProperty === 'string' ? [params.missingProperty] : [];
}

function checked(name: string, connector: Connector<any, any>): Connector<any, any> {
  if (connector.contractVersion !== contractVersion) {
    throw new MemorydError(
      'connector_invalid',
      `The connector ${name} was written for version ${connector.contractVersion} of the contract; this memoryd has version ${contractVersion}.`,
    );
  }
  return connector;
}
