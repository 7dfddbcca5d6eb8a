/** What a path belongs to; the first pattern that matches decides. */
export const units = {
  contract: /^src\/connector\/contract\.ts$/,
  'store engines': /^src\/store\/(postgres\.ts|pglite\/)/,
  'queue interface': /^src\/queue\/task-queue\.ts$/,
  'model interfaces': /^src\/models\/(embedder|reranker|language-model)\.ts$/,
  'token counting': /^src\/models\/token-counting\.ts$/,
  base: /^src\/base\//,
  store: /^src\/store\//,
  queue: /^src\/queue\//,
  models: /^src\/models\//,
  engine: /^src\/engine\//,
  memory: /^src\/memory\//,
  search: /^src\/search\//,
  kit: /^src\/connector-kit\//,
  connector: /^src\/connector\//,
  auth: /^src\/auth\//,
  source: /^src\/source\//,
  sync: /^src\/sync\//,
  inbound: /^src\/inbound\//,
  connections: /^src\/connections\//,
  account: /^src\/account\//,
  schedule: /^src\/schedule\//,
  api: /^src\/api\//,
  cli: /^src\/cli\//,
  mcp: /^src\/mcp\//,
  console: /^console\//,
  root: /^(src\/[^/]+\.ts|package\.json)$/,
  connectors: /^connectors\//,
} as const;
export type Unit = keyof typeof units;

/** `types` allows what is erased at run time. */
type Permission = 'everything' | 'types';
type Permissions = Partial<Record<Unit, Permission>>;

/** What every room of sources stands on. */
const grounds: Permissions = { base: 'everything', store: 'everything', contract: 'everything' };

/** What the API, the command line and the tools call. */
const services: Permissions = {
  base: 'everything',
  engine: 'everything',
  memory: 'everything',
  search: 'everything',
  account: 'everything',
  connections: 'everything',
  inbound: 'everything',
  sync: 'everything',
  // Answers show what connectors say about themselves.
  contract: 'types',
};

/** Who may import whom. Everything that is not here is forbidden. */
export const allowed: Record<Unit, Permissions> = {
  base: {},
  // Published alone, as `memoryd/connector`.
  contract: {},
  // Only `memoryd/connector`, as a stranger's package would.
  connectors: {},
  'queue interface': { base: 'types' },
  'model interfaces': { base: 'everything' },
  'token counting': { base: 'everything', models: 'everything', 'model interfaces': 'everything' },
  store: { base: 'everything' },
  'store engines': { base: 'everything', store: 'everything' },
  queue: { base: 'everything', 'queue interface': 'everything' },
  models: { base: 'everything', 'model interfaces': 'everything', 'token counting': 'everything' },
  memory: { base: 'everything', store: 'everything', 'model interfaces': 'everything' },
  engine: {
    base: 'everything',
    store: 'everything',
    memory: 'everything',
    'queue interface': 'everything',
    'model interfaces': 'everything',
    // Texts are cut in threads, which have no embedder to ask: they make the counter for themselves.
    'token counting': 'everything',
    // What a metadata value may be is written down once, in the contract.
    contract: 'types',
  },
  search: {
    base: 'everything',
    store: 'everything',
    'model interfaces': 'everything',
    // Results are documents, and queries are cut into the terms that chunks are indexed by.
    engine: 'everything',
    // The dates in a query are read as those in a statement are.
    memory: 'everything',
  },
  account: {
    base: 'everything',
    store: 'everything',
    engine: 'everything',
    memory: 'everything',
    'model interfaces': 'everything',
  },
  connector: { base: 'everything', contract: 'everything' },
  auth: { ...grounds, connector: 'everything' },
  source: { ...grounds, auth: 'everything' },
  schedule: { base: 'everything', store: 'everything', engine: 'everything', 'queue interface': 'everything' },
  sync: {
    ...grounds,
    auth: 'types',
    source: 'everything',
    schedule: 'everything',
    engine: 'everything',
    'queue interface': 'everything',
  },
  inbound: {
    ...grounds,
    connector: 'everything',
    auth: 'everything',
    source: 'everything',
    sync: 'everything',
    engine: 'everything',
  },
  connections: {
    ...grounds,
    connector: 'everything',
    auth: 'everything',
    source: 'everything',
    schedule: 'everything',
    sync: 'everything',
    inbound: 'everything',
    engine: 'everything',
  },
  // Published as `memoryd/testing`: puts the real parts together for a connector under test.
  kit: {
    ...grounds,
    connector: 'everything',
    auth: 'everything',
    source: 'everything',
    sync: 'everything',
    inbound: 'everything',
    connections: 'everything',
    'store engines': 'everything',
    engine: 'everything',
    models: 'everything',
    'model interfaces': 'everything',
  },
  api: { ...services, auth: 'everything', source: 'everything' },
  // `memoryd doctor` loads the connectors.
  cli: { ...services, connector: 'everything' },
  // The tools are the API's operations for models: same keys, same shapes.
  mcp: { ...services, api: 'everything' },
  // Runs in browsers, and knows the daemon by its API alone.
  console: {},
  // The composition root alone knows which engine, queue, models and connectors there are.
  root: Object.fromEntries(Object.keys(units).map((unit) => [unit, 'everything'])),
};

export function unitOf(path: string): Unit | undefined {
  return (Object.keys(units) as Unit[]).find((unit) => units[unit].test(path));
}
