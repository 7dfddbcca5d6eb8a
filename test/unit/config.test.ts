import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commandVariables, configFields } from '../../src/base/config-schema.ts';
import { describeConfig, loadConfig, processEnvironment, type ConfigInputs } from '../../src/base/config.ts';
import { newEncryptionKey } from '../../src/base/encryption.ts';
import { MemorydError } from '../../src/base/errors.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-config-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(inputs: Partial<ConfigInputs> & { file?: string | object } = {}) {
  const { file, ...rest } = inputs;
  if (file !== undefined) {
    const text = typeof file === 'string' ? file : JSON.stringify(file, null, 2);
    writeFileSync(join(folder, 'memoryd.config.json'), text);
  }
  return loadConfig({ env: {}, cwd: folder, ...rest });
}

/** The lines of the message that name problems. */
function problems(inputs: Parameters<typeof load>[0]): string[] {
  try {
    load(inputs);
  } catch (error) {
    if (!MemorydError.is(error) || error.code !== 'config_invalid') throw error;
    expect(error.issues).toHaveLength(error.message.split('\n').length - 1);
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim().replaceAll(`${folder}/`, ''));
  }
  return [];
}

const exampleKey = newEncryptionKey();

/** A valid value of each field that is not its default, as text and as it is read. */
const samples: Record<string, [text: string, value: unknown]> = {
  dataDir: ['/var/lib/memoryd', '/var/lib/memoryd'],
  host: ['0.0.0.0', '0.0.0.0'],
  port: ['8080', 8080],
  role: ['all', 'all'],
  apiKey: ['key-for-tests', 'key-for-tests'],
  encryptionKey: [exampleKey, exampleKey],
  encryptionKeyPrevious: ['ab'.repeat(32), 'ab'.repeat(32)],
  publicUrl: ['https://memory.example.com', 'https://memory.example.com'],
  redirectAllowlist: [
    'https://app.example.com/done, http://localhost:3000',
    ['https://app.example.com/done', 'http://localhost:3000'],
  ],
  oauthClients: [
    '{"gitlab":{"clientId":"id","clientSecret":"secret-of-gitlab"},"desk":{"clientId":"id"}}',
    { gitlab: { clientId: 'id', clientSecret: 'secret-of-gitlab' }, desk: { clientId: 'id' } },
  ],
  hookSecrets: ['{"github":"hook-secret"}', { github: 'hook-secret' }],
  'google.clientId': ['google-id', 'google-id'],
  'google.clientSecret': ['google-secret', 'google-secret'],
  'notion.clientId': ['notion-id', 'notion-id'],
  'notion.clientSecret': ['notion-secret', 'notion-secret'],
  'github.clientId': ['github-id', 'github-id'],
  'github.clientSecret': ['github-secret', 'github-secret'],
  'onedrive.clientId': ['onedrive-id', 'onedrive-id'],
  'onedrive.clientSecret': ['onedrive-secret', 'onedrive-secret'],
  databaseUrl: ['postgresql://u:p@db:5432/memory', 'postgresql://u:p@db:5432/memory'],
  redisUrl: ['rediss://cache:6379', 'rediss://cache:6379'],
  redisPrefix: ['memory.eu-1', 'memory.eu-1'],
  logLevel: ['debug', 'debug'],
  defaultContainerTag: ['team:ops-1', 'team:ops-1'],
  orgName: ['Example Inc.', 'Example Inc.'],
  compat: ['plural-tags,api-key-header', ['plural-tags', 'api-key-header']],
  threads: ['3', 3],
  connectors: ['memoryd-connector-rss,./mine.ts', ['memoryd-connector-rss', './mine.ts']],
  'embedder.kind': ['hashing', 'hashing'],
  'embedder.hub': ['http://hub.lan:8080/models', 'http://hub.lan:8080/models'],
  'embedder.folder': ['/models/e5', '/models/e5'],
  'embedder.baseUrl': ['http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/v1'],
  'embedder.model': ['nomic-embed-text', 'nomic-embed-text'],
  'embedder.apiKey': ['sk-test', 'sk-test'],
  'embedder.dimensions': ['768', 768],
  'llm.url': ['http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/v1'],
  'llm.model': ['llama3.2', 'llama3.2'],
  'llm.apiKey': ['sk-test', 'sk-test'],
  'llm.tokensPerDay': ['5000', 5_000],
  'llm.summaries': ['no', false],
  'llm.concurrency': ['3', 3],
  'llm.timeoutMs': ['30000', 30_000],
  'ocr.url': ['http://127.0.0.1:9998/ocr', 'http://127.0.0.1:9998/ocr'],
  'ocr.apiKey': ['ocr-key-1234', 'ocr-key-1234'],
  'ocr.concurrency': ['4', 4],
  'ocr.timeoutMs': ['60000', 60_000],
  'limits.maxTextBytes': ['2MiB', 2 * 2 ** 20],
  'limits.maxBodyBytes': ['3000000', 3_000_000],
  'limits.maxBatchBodyBytes': ['64 mib', 64 * 2 ** 20],
  'limits.maxFileBytes': ['20MB', 20_000_000],
  requestTimeoutMs: ['30000', 30_000],
  'rateLimit.max': ['100', 100],
  'rateLimit.windowMs': ['1000', 1000],
  metrics: ['1', true],
  allowPrivateUrls: ['yes', true],
  allowedPrivateHosts: ['nas.lan, *.lan,10.0.0.0/8', ['nas.lan', '*.lan', '10.0.0.0/8']],
  'sync.concurrency': ['8', 8],
  'sync.cron': ['0 6 * * *', '0 6 * * *'],
  'backup.schedule': ['0 3 * * *', '0 3 * * *'],
  'backup.keep': ['3', 3],
  'tls.certFile': ['/etc/memoryd/cert.pem', '/etc/memoryd/cert.pem'],
  'tls.keyFile': ['/etc/memoryd/key.pem', '/etc/memoryd/key.pem'],
  allowedHosts: ['memory.example.com, *.lan', ['memory.example.com', '*.lan']],
  corsOrigins: ['https://a.example, http://localhost:3000', ['https://a.example', 'http://localhost:3000']],
  folderRoots: ['/srv/notes, /srv/papers', ['/srv/notes', '/srv/papers']],
  'worker.concurrency': ['1', 1],
  redriveSchedule: ['30s, 5m,5m,1d', ['30s', '5m', '5m', '1d']],
  memories: ['off', 'off'],
  'dreaming.quietMs': ['0', 0],
  'dreaming.documents': ['1', 1],
  'dreaming.waitMs': ['1000', 1000],
};

function read(config: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], config);
}

describe('defaults', () => {
  test('no input at all is embedded mode on the loopback address', () => {
    const { config, file } = load();
    expect(config).toEqual({
      dataDir: join(folder, '.memoryd'),
      host: '127.0.0.1',
      port: 6767,
      role: 'all',
      redisPrefix: 'memoryd',
      logLevel: 'info',
      defaultContainerTag: 'sm_project_default',
      orgName: 'local',
      metrics: false,
      allowPrivateUrls: false,
      allowedPrivateHosts: [],
      redirectAllowlist: [],
      folderRoots: [],
      google: {},
      notion: {},
      github: {},
      onedrive: {},
      allowedHosts: [],
      tls: {},
      corsOrigins: [],
      compat: [],
      connectors: [],
      embedder: { kind: 'chosen', hub: 'https://huggingface.co' },
      llm: { tokensPerDay: 1_000_000, summaries: true, concurrency: 2, timeoutMs: 120_000 },
      ocr: { concurrency: 2, timeoutMs: 300_000 },
      limits: {
        maxTextBytes: 1_048_576,
        maxBodyBytes: 2_097_152,
        maxBatchBodyBytes: 33_554_432,
        maxFileBytes: 52_428_800,
      },
      requestTimeoutMs: 120_000,
      rateLimit: { max: 0, windowMs: 60_000 },
      sync: { concurrency: 4, cron: '0 */4 * * *' },
      backup: { schedule: 'manual', keep: 7 },
      worker: { concurrency: 2 },
      redriveSchedule: ['1m', '5m', '30m', '2h', '12h'],
      memories: 'on',
      dreaming: { quietMs: 20_000, documents: 20, waitMs: 120_000 },
    });
    expect(file).toBeNull();
  });

  test('every field has a description, and a default or a word on what happens without', () => {
    for (const { path, schema } of configFields) {
      expect(schema.description, path).toMatch(/^[A-Z].+\.$/);
      expect(schema.default !== undefined || schema.absent !== undefined, path).toBe(true);
    }
    expect(Object.keys(samples)).toEqual(configFields.map(({ path }) => path));
  });
});

describe('environment', () => {
  const names = configFields.flatMap((field) => field.environment.map((name) => [name, field.path] as const));

  /** What does not stand alone. */
  const companions: Record<string, string> = {
    MEMORYD_LLM_URL: 'MEMORYD_LLM_MODEL',
    MEMORYD_LLM_MODEL: 'MEMORYD_LLM_URL',
  };

  test.each(names)('%s sets %s', (name, path) => {
    const [text, value] = samples[path]!;
    const companion = companions[name];
    const { config, sources } = load({
      env: { [name]: text, ...(companion && { [companion]: 'http://127.0.0.1/v1' }) },
    });
    expect(read(config, path)).toEqual(value);
    expect(sources[path]).toEqual({ kind: 'environment', name });
  });

  test('the names are MEMORYD_ and the field in upper snake case, then the plain names of the API contract', () => {
    const byField = Object.fromEntries(configFields.map((field) => [field.path, field.environment]));
    expect(byField['apiKey']).toEqual(['MEMORYD_API_KEY', 'SUPERMEMORY_API_KEY', 'API_KEY']);
    expect(byField['databaseUrl']).toEqual(['MEMORYD_DATABASE_URL', 'DATABASE_URL']);
    expect(byField['embedder.baseUrl']).toEqual(['MEMORYD_EMBEDDER_BASE_URL']);
    expect(byField['rateLimit.windowMs']).toEqual(['MEMORYD_RATE_LIMIT_WINDOW_MS', 'RATE_LIMIT_WINDOW_MS']);
    expect(new Set(names.map(([name]) => name)).size).toBe(names.length);
  });

  test('the first name that is set wins, and an empty one counts as absent', () => {
    expect(load({ env: { MEMORYD_PORT: '1', PORT: '2' } }).config.port).toBe(1);
    expect(load({ env: { MEMORYD_PORT: '', PORT: '2' } }).config.port).toBe(2);
    expect(load({ env: { MEMORYD_PORT: '', PORT: '' } }).sources['port']).toEqual({ kind: 'default' });
  });

  test('all turns every compatibility switch on, once', () => {
    const all = ['plural-tags', 'api-key-header', 'search-v3', 'memories-v3'];
    expect(load({ env: { COMPAT: 'all' } }).config.compat).toEqual(all);
    expect(load({ env: { COMPAT: 'plural-tags,all' } }).config.compat).toEqual(all);
    expect(load({ file: { compat: ['all'] } }).config.compat).toEqual(all);
  });

  test('is read from this process in one place', () => {
    expect(processEnvironment()['PATH']).toBe(process.env['PATH']);
  });
});

describe('precedence', () => {
  const file = { port: 1, host: 'file', logLevel: 'warn', embedder: { kind: 'hashing', dimensions: 64 } };
  const env = { PORT: '2', HOST: 'environment', MEMORYD_EMBEDDER_DIMENSIONS: '128' };

  test('defaults < file < environment < flags, field by field', () => {
    const { config, sources } = load({ file, env, flags: { port: '3', host: undefined } });
    expect(config).toMatchObject({ port: 3, host: 'environment', logLevel: 'warn', orgName: 'local' });
    expect(config.embedder).toMatchObject({ kind: 'hashing', dimensions: 128 });
    expect(sources).toMatchObject({
      port: { kind: 'flag', name: '--port' },
      host: { kind: 'environment', name: 'HOST' },
      logLevel: { kind: 'file', file: join(folder, 'memoryd.config.json'), line: 4 },
      'embedder.kind': { kind: 'file', line: 6 },
      orgName: { kind: 'default' },
    });
  });

  test('a wrong value that another source overrides does no harm', () => {
    expect(load({ file: { port: 'wrong' }, env: { PORT: '2' } }).config.port).toBe(2);
  });
});

describe('file', () => {
  test('may hold comments, trailing commas, a $schema, null for "not set" and sizes in words', () => {
    const text = `{
      // a comment with "quotes" and { braces
      "$schema": "./schema.json",
      "port": 8080, /* of the
      proxy */ "apiKey": null,
      "limits": { "maxFileBytes": "20MiB", },
    }`;
    const { config } = load({ file: text });
    expect(config).toMatchObject({ port: 8080, limits: { maxFileBytes: 20 * 2 ** 20 } });
    expect(config).not.toHaveProperty('apiKey');
  });

  test('is named by --config, else MEMORYD_CONFIG, else looked for in the working directory', () => {
    writeFileSync(join(folder, 'one.json'), '{ "port": 1 }');
    writeFileSync(join(folder, 'two.json'), '{ "port": 2 }');
    const env = { MEMORYD_CONFIG: 'two.json' };
    expect(load({ configFile: 'one.json', env }).config.port).toBe(1);
    expect(load({ file: { port: 3 }, env }).config.port).toBe(2);
    expect(load({ file: { port: 3 } })).toMatchObject({
      config: { port: 3 },
      file: join(folder, 'memoryd.config.json'),
    });
  });

  test('paths in it are read from its own folder, others from the working directory', () => {
    writeFileSync(join(folder, 'one.json'), '{ "dataDir": "data", "embedder": { "folder": "../models" } }');
    const file = loadConfig({ env: {}, cwd: '/elsewhere', configFile: join(folder, 'one.json') });
    expect(file.config.dataDir).toBe(join(folder, 'data'));
    expect(file.config.embedder.folder).toBe(join(folder, '../models'));
    expect(load({ env: { MEMORYD_DATA_DIR: 'data' }, cwd: '/elsewhere' }).config.dataDir).toBe('/elsewhere/data');
  });

  test.each([
    ['{ "port": 1 ', 'line 1: a comma or closing brace is missing before this line ends'],
    ['{\n "port" 1 }', 'line 2: a colon is missing after a key'],
    ['{\n\n port: 1 }', 'line 3: this is not JSON: a quote, comma or bracket may be missing'],
    ['{ "port": }', 'line 1: a value is missing here'],
    ['{ "port": ', 'line 1: the file ends too early'],
    ['{ 1: 2 }', 'line 1: a key in double quotes is missing here'],
    ['{ "compat": ["all" "x"] }', 'line 1: a comma or closing bracket is missing'],
    ['{ "orgName": "\\q" }', 'line 1: this text or number is not valid JSON'],
    ['[]', 'line 1: the file must hold one object, in braces'],
    ['', 'line 1: the file ends too early'],
    ['{}\n}', 'line 2: more text follows after the closing brace'],
  ])('%j is refused', (text, message) => {
    expect(problems({ file: text })).toEqual([`memoryd.config.json ${message}`]);
  });

  test('that is named must exist', () => {
    expect(problems({ configFile: 'missing.json' })).toEqual(['missing.json: the configuration file cannot be read']);
  });
});

describe('problems', () => {
  test('are all told at once, each with field, origin, fault and rule', () => {
    const found = problems({
      file: { port: '80 80', compat: ['old'], embedder: 'minilm', limits: { maxTextByte: 1 }, hots: 'x' },
      env: { MEMORYD_ROLE: 'boss', MEMORYD_EMBEDER_KIND: 'http', RATE_LIMIT_MAX: '-1' },
      flags: { logLevel: 'loud' },
    });
    expect(found).toEqual([
      'embedder (memoryd.config.json line 6): must be an object, in braces',
      'limits.maxTextByte (memoryd.config.json line 8): there is no such setting; did you mean "limits": { "maxTextBytes": … }?',
      'hots (memoryd.config.json line 10): there is no such setting; did you mean "host"?',
      'MEMORYD_EMBEDER_KIND (environment variable): there is no such setting; did you mean MEMORYD_EMBEDDER_KIND?',
      'port (memoryd.config.json line 2): "80 80" is not a whole number from 0 to 65535',
      'role (environment variable MEMORYD_ROLE): "boss" is not one of all, api, worker, scheduler',
      'logLevel (option --log-level): "loud" is not one of silent, error, warn, info, debug',
      'compat (memoryd.config.json line 3): ["old"] is not some of plural-tags, api-key-header, search-v3, memories-v3, or all',
      'rateLimit.max (environment variable RATE_LIMIT_MAX): "-1" is not a whole number of at least 0',
    ]);
  });

  test.each([
    ['maxFileBytes', 'did you mean "limits": { "maxFileBytes": … }?'],
    ['embeder', 'did you mean "embedder"?'],
    ['datadir', 'did you mean "dataDir"?'],
    ['embedder.kind', 'did you mean "embedder": { "kind": … }?'],
    ['somethingElseEntirely', 'docs/reference/configuration.md lists them all'],
    ['__proto__', 'docs/reference/configuration.md lists them all'],
    ['', 'docs/reference/configuration.md lists them all'],
    ['mx', 'did you mean "rateLimit": { "max": … }?'],
  ])('the unknown key %s is answered with a suggestion', (key, hint) => {
    expect(problems({ file: `{ "${key}": 1 }` })[0]).toBe(
      `${key} (memoryd.config.json line 1): there is no such setting; ${hint}`.trim(),
    );
  });

  test.each([
    ['MEMORYD_PROT', 'did you mean MEMORYD_PORT?'],
    ['MEMORYD_MAX_TEXT_BYTES', 'did you mean MEMORYD_LIMITS_MAX_TEXT_BYTES?'],
    ['MEMORYD_API_KY', 'did you mean MEMORYD_API_KEY?'],
    ['MEMORYD_COFNIG', 'did you mean MEMORYD_CONFIG?'],
    ['MEMORYD_ABSOLUTELY_NOTHING_LIKE_IT', 'docs/reference/configuration.md lists them all'],
  ])('the unknown variable %s is answered with a suggestion', (name, hint) => {
    expect(problems({ env: { [name]: 'x' } })).toEqual([
      `${name} (environment variable): there is no such setting; ${hint}`,
    ]);
  });

  test('variables of other programs and those of commands are no problem', () => {
    const env = Object.fromEntries(commandVariables.map(({ name }) => [name, name === 'MEMORYD_CONFIG' ? '' : 'x']));
    expect(problems({ env: { ...env, MEMORY: '1', NODE_ENV: 'x' } })).toEqual([]);
  });

  test.each([
    ['port', 65536],
    ['port', -1],
    ['port', 1.5],
    ['port', '1.5'],
    ['port', true],
    ['host', ''],
    ['apiKey', 'short'],
    ['databaseUrl', 'mysql://db/memory'],
    ['redisUrl', 'localhost:6379'],
    ['redisPrefix', 'with:colon'],
    ['defaultContainerTag', 'with.dot'],
    ['defaultContainerTag', 'x'.repeat(101)],
    ['corsOrigins', ['https://a.example/path']],
    ['corsOrigins', [1]],
    ['threads', 0],
  ])('%s refuses %j', (field, value) => {
    expect(problems({ file: { [field]: value } })).toEqual([
      expect.stringMatching(new RegExp(`^${field} \\(.+ is not `)),
    ]);
  });

  test.each([
    [{ role: 'worker' }, 'role (memoryd.config.json line 2): "worker" needs databaseUrl'],
    [{ role: 'api', databaseUrl: 'postgresql://db/memory' }, 'role (memoryd.config.json line 2): "api" needs redisUrl'],
    [
      { role: 'api', databaseUrl: 'postgresql://db/memory', redisUrl: 'redis://cache' },
      'role (memoryd.config.json line 2): "api" needs encryptionKey',
    ],
    [{ embedder: { kind: 'onnx' } }, 'embedder.kind (memoryd.config.json line 3): "onnx" needs embedder.folder'],
    [
      { embedder: { kind: 'http', model: 'm' } },
      'embedder.kind (memoryd.config.json line 3): "http" needs embedder.baseUrl',
    ],
    [{ llm: { url: 'http://127.0.0.1/v1' } }, 'llm.url (memoryd.config.json line 3): it needs llm.model'],
    [{ llm: { model: 'm' } }, 'llm.model (memoryd.config.json line 3): it needs llm.url'],
  ])('%j contradicts itself', (file, start) => {
    expect(problems({ file })).toEqual([expect.stringContaining(start)]);
  });

  test('settings that belong together are accepted', () => {
    const env = {
      DATABASE_URL: 'postgresql://db/memory',
      REDIS_URL: 'redis://cache',
      ENCRYPTION_KEY: newEncryptionKey(),
    };
    expect(load({ env, flags: { role: 'worker' } }).config.role).toBe('worker');
    const embedder = { kind: 'http', baseUrl: 'http://127.0.0.1:11434/v1', model: 'm' };
    expect(load({ file: { embedder } }).config.embedder).toMatchObject(embedder);
  });
});

describe('secrets', () => {
  const secrets = configFields.filter((field) => field.secret);

  test('are the fields that open something', () => {
    expect(secrets.map(({ path }) => path)).toEqual([
      'apiKey',
      'encryptionKey',
      'encryptionKeyPrevious',
      'oauthClients',
      'hookSecrets',
      'google.clientSecret',
      'notion.clientSecret',
      'github.clientSecret',
      'onedrive.clientSecret',
      'databaseUrl',
      'redisUrl',
      'embedder.apiKey',
      'llm.apiKey',
      'ocr.apiKey',
    ]);
  });

  test('are masked in the description, as are credentials inside addresses', () => {
    const env = Object.fromEntries(secrets.map((field) => [field.environment[0]!, samples[field.path]![0]]));
    const rows = describeConfig(
      load({ env: { ...env, MEMORYD_EMBEDDER_BASE_URL: 'https://user:canary@example.com/x' } }),
    );
    const masked = rows.filter(({ value }) => value === '********').map(({ field }) => field);
    expect(masked).toEqual(secrets.map(({ path }) => path));
    const text = JSON.stringify(rows);
    for (const { path } of secrets) expect(text).not.toContain(samples[path]![0]);
    expect(rows).toContainEqual(
      expect.objectContaining({ field: 'embedder.baseUrl', value: 'https://********@example.com/x' }),
    );
    expect(rows).toContainEqual({ field: 'port', value: 6767, source: 'default' });
    expect(rows).toContainEqual({ field: 'threads', value: null, source: 'default' });
  });

  test.each([
    { env: { API_KEY: 'canary' } },
    { env: { DATABASE_URL: 'mysql://u:canary@db/x' } },
    { file: { redisUrl: 'canary' } },
    { file: { embedder: { apiKey: ['canary'] } } },
    { file: { embedder: { kind: 'http', baseUrl: 'ftp://u:canary@x', model: 'm' } } },
    { file: { oauthClients: { gitlab: { clientId: 'x', clientSecret: ['canary'] } } } },
    { env: { ENCRYPTION_KEY: 'canary' } },
    { file: { apikey: 'canary' } },
    { file: '{ "apiKey": "canary }' },
    { env: { MEMORYD_DATABASE_URI: 'postgresql://u:canary@db/x' } },
  ])('are not quoted in errors: %j', (inputs) => {
    const found = problems(inputs);
    expect(found).not.toEqual([]);
    expect(found.join()).not.toContain('canary');
  });
});
