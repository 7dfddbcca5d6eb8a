import type { InjectOptions } from 'fastify';
import { createContainerTags } from '../../src/account/container-tags.ts';
import { ensureFirstKey } from '../../src/account/first-key.ts';
import { createKeys, type NewKey } from '../../src/account/keys.ts';
import { ensureOrganization } from '../../src/account/organization.ts';
import { createApi } from '../../src/api/create-api.ts';
import type { ApiConfig, ApiServices, Status } from '../../src/api/services.ts';
import { createLogger } from '../../src/base/log.ts';
import type { Connector } from '../../src/connect/contract.ts';
import { createConnections } from '../../src/connect/connection-service.ts';
import { createRegistry } from '../../src/connect/registry.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createExtractor } from '../../src/engine/extract/extractor.ts';
import { createProcessor } from '../../src/engine/process.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { createSearch } from '../../src/search/create-search.ts';
import { createTestClock } from './clock.ts';
import { engines, openTestDatabase, type Engine } from './databases.ts';

export interface TestApiOptions {
  /** Default: the fastest one there is. */
  engine?: Engine;
  config?: Partial<ApiConfig>;
  connectors?: Record<string, Connector<any, any>>;
  /** Replaces services, to make them fail. */
  services?: (services: ApiServices) => Partial<ApiServices>;
}

export type TestApi = Awaited<ReturnType<typeof startTestApi>>;

export const fullKey = 'sm_test_full-access-key-0123456789';
export const localToken = 'local-token-of-this-start';

/** The whole API over the real services and a database of its own. Documents wait until `process` is called. */
export async function startTestApi(options: TestApiOptions = {}) {
  const { database, close } = await openTestDatabase(options.engine ?? engines.at(-1)!);
  const clock = createTestClock();
  const lines: string[] = [];
  const log = createLogger('debug', { write: (line) => void lines.push(line) });
  const organization = await ensureOrganization({ database, clock });
  await ensureFirstKey({ database, clock, organization }, fullKey);
  const loaders = Object.entries(options.connectors ?? {}).map(
    ([name, connector]) => [name, async () => ({ default: connector })] as const,
  );
  const embedder = createHashingEmbedder();
  const keys = createKeys({ database, clock, log, organization, localToken });
  const services: ApiServices = {
    documents: createDocuments({ database, clock, wake: async () => {} }),
    search: createSearch({ database, embedder, clock, log }),
    connections: createConnections({
      database,
      registry: createRegistry(Object.fromEntries(loaders)),
      clock,
      log,
      wake: async () => {},
      changed: async () => {},
    }),
    keys,
    containerTags: createContainerTags({ database, clock }),
    status: createTestStatus(clock.now()),
  };
  const api = createApi({
    services: { ...services, ...options.services?.(services) },
    config: { ...standardConfig, organization, ...options.config },
    clock,
    log,
    version: '9.9.9',
  });
  await api.ready();

  /** A request as JSON with the full key, unless told otherwise. */
  async function call(method: InjectOptions['method'], url: string, body?: unknown, key: string | null = fullKey) {
    const response = await api.inject({
      method: method ?? 'GET',
      url,
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { payload: body as object }),
    });
    const isJson = String(response.headers['content-type']).includes('json');
    return { status: response.statusCode, headers: response.headers, body: isJson ? response.json() : response.body };
  }

  return {
    api,
    services,
    database,
    clock,
    organization,
    /** Everything that was logged. */
    logged: () => lines.join(''),
    call,
    async newKey(input: Partial<NewKey> = {}): Promise<string> {
      const { secret } = await keys.create({ name: 'test', permission: 'write', containerTags: [], ...input });
      return secret;
    },
    /** Brings every document that waits to its end. */
    async process(): Promise<void> {
      const extractor = createExtractor({ log });
      await createProcessor({ database, embedder, extractor, clock, log }).drain(new AbortController().signal);
      await extractor.close();
    },
    async close() {
      await api.close();
      await keys.close();
      await close();
    },
  };
}

const standardConfig = {
  limits: {
    maxTextBytes: 1024 * 1024,
    maxBodyBytes: 2 * 1024 * 1024,
    maxBatchBodyBytes: 32 * 1024 * 1024,
    maxFileBytes: 50 * 1024 * 1024,
  },
  defaultContainerTag: 'sm_project_default',
};

function createTestStatus(startedAt: Date): Status {
  return {
    describe: async () => ({
      startedAt,
      role: 'all',
      storage: { engine: 'pglite', dataDir: '/data' },
      queue: { kind: 'in-process' },
      embedder: { id: 'words', runtime: 'hashing', state: 'ready' },
    }),
    readiness: async () => ({ database: 'ok', queue: 'ok', embeddings: 'ok', scheduler: 'ok' }),
  };
}
