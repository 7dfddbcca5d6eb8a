import Type, { type Static, type TSchema } from 'typebox';
import { embedder, oauthClient, ocr, languageModel, protection, processing } from './config-groups.ts';
import { encryptionKeyPattern } from './encryption.ts';

const mebibyte = 1024 * 1024;
const compatSwitches = ['plural-tags', 'api-key-header', 'search-v3', 'memories-v3'] as const;

/**
 * Every setting of the daemon. JSON Schema with these keywords of our own:
 * `secret` (never shown), `aliases` (more environment names, first wins), `flag` (an option of
 * `memoryd start`), `path` (a file path, made absolute), `unit: 'bytes'` (takes `50MiB`),
 * `expand` (words that stand for several list entries), `expected` (the rule in words),
 * `absent` (what happens without a value, for fields that have no default).
 */
const configSchema = Type.Object(
  {
    dataDir: Type.String({
      description: 'Directory for everything the daemon keeps: embedded database, keys, stored files.',
      default: './.memoryd',
      minLength: 1,
      path: true,
      flag: '--data-dir <path>',
    }),
    host: Type.String({
      description: 'Address to listen on. 0.0.0.0 listens on every network interface.',
      default: '127.0.0.1',
      minLength: 1,
      aliases: ['HOST'],
      flag: '--host <address>',
    }),
    port: Type.Integer({
      description: 'Port to listen on; 0 takes a free one.',
      default: 6767,
      minimum: 0,
      maximum: 65535,
      aliases: ['PORT'],
      flag: '--port <number>',
    }),
    role: Type.Enum(['all', 'api', 'worker', 'scheduler'], {
      description: 'What this process does. Everything but `all` needs databaseUrl and redisUrl.',
      default: 'all',
      flag: '--role <role>',
    }),
    apiKey: Type.Optional(
      Type.String({
        description:
          'The key with full access; 24 characters or more, such as the output of `openssl rand -base64 24`.',
        absent: 'one is generated at the first start and printed once',
        minLength: 8,
        expected: 'a text of at least 8 characters',
        secret: true,
        aliases: ['SUPERMEMORY_API_KEY', 'API_KEY'],
      }),
    ),
    encryptionKey: Type.Optional(
      Type.String({
        description:
          'Key that stored credentials are encrypted with, 32 bytes as base64 or hexadecimal: `openssl rand -base64 32`. The same for all processes of one database.',
        absent: 'one is made at the first start and kept in dataDir',
        pattern: encryptionKeyPattern,
        expected: '32 bytes as base64 or as 64 hexadecimal digits, such as `openssl rand -base64 32` prints',
        secret: true,
        aliases: ['ENCRYPTION_KEY'],
      }),
    ),
    encryptionKeyPrevious: Type.Optional(
      Type.String({
        description: 'The key before it, until `memoryd encryption rotate` has come to its end.',
        absent: 'only encryptionKey opens what is stored',
        pattern: encryptionKeyPattern,
        expected: '32 bytes as base64 or as 64 hexadecimal digits',
        secret: true,
      }),
    ),
    publicUrl: Type.Optional(
      Type.String({
        description:
          'Address at which browsers and sources reach the API: sources send users and hooks there. Without a path unless a proxy adds one.',
        absent: 'http://localhost and the port',
        pattern: '^https?://[^\\s/?#]+[^\\s?#]*$',
        expected: 'an address such as https://memory.example.com',
        aliases: ['PUBLIC_URL'],
      }),
    ),
    redirectAllowlist: Type.Array(Type.String({ pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$' }), {
      description:
        'Where browsers may be sent when a source has been authorized (`redirectUrl`): these addresses and what lies below them. Empty: this machine and the address of publicUrl; for any other address the browser shows a link instead.',
      default: [],
      expected: 'addresses such as https://app.example.com or https://app.example.com/connected',
      aliases: ['REDIRECT_ALLOWLIST'],
    }),
    oauthClients: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[a-z][a-z0-9-]{1,31}$' }),
        Type.Object({
          clientId: Type.String({ minLength: 1 }),
          clientSecret: Type.Optional(Type.String({ minLength: 1 })),
        }),
        {
          description:
            'OAuth clients by connector, such as registered at the source: {"gitlab": {"clientId": "…", "clientSecret": "…"}}; public clients have no secret. As JSON in the environment.',
          absent: 'connectors without a client cannot be authorized by consent',
          expected: 'an object {"<connector>": {"clientId": "…", "clientSecret": "…"}}',
          secret: true,
        },
      ),
    ),
    hookSecrets: Type.Optional(
      Type.Record(Type.String({ pattern: '^[a-z][a-z0-9-]{1,31}$' }), Type.String({ minLength: 8 }), {
        description:
          'Secrets of hooks that a source sends for all its connections, by connector, such as those of a GitHub App: {"github": "…"}. As JSON in the environment.',
        absent: 'only hooks of single connections are taken',
        expected: 'an object {"<connector>": "<secret>"}',
        secret: true,
      }),
    ),
    google: oauthClient('Google', 'GOOGLE', 'For Google Drive and Gmail.'),
    notion: oauthClient('Notion', 'NOTION', 'For Notion.'),
    github: oauthClient('GitHub', 'GITHUB'),
    onedrive: oauthClient('Microsoft', 'ONEDRIVE', 'For a plugin that mirrors OneDrive.'),
    databaseUrl: Type.Optional(
      Type.String({
        description: 'PostgreSQL 15 or newer with pgvector 0.8 or newer.',
        absent: 'the embedded database in dataDir',
        pattern: '^postgres(ql)?://.+',
        expected: 'an address such as postgresql://user:password@host:5432/memory',
        secret: true,
        aliases: ['DATABASE_URL'],
      }),
    ),
    redisUrl: Type.Optional(
      Type.String({
        description: 'Redis for the task queue. Used only together with databaseUrl.',
        absent: 'the queue runs inside the process',
        pattern: '^rediss?://.+',
        expected: 'an address such as redis://user:password@host:6379',
        secret: true,
        aliases: ['REDIS_URL'],
      }),
    ),
    redisPrefix: Type.String({
      description: 'First part of every Redis key, so that installations can share a server.',
      default: 'memoryd',
      pattern: '^[A-Za-z0-9_.-]{1,100}$',
      expected: '1 to 100 letters, digits, underscores, dots and hyphens',
    }),
    logLevel: Type.Enum(['silent', 'error', 'warn', 'info', 'debug'], {
      description: 'Least important log lines to write.',
      default: 'info',
      flag: '--log-level <level>',
    }),
    defaultContainerTag: Type.String({
      description: 'Container tag of what is written without one.',
      default: 'sm_project_default',
      pattern: '^[a-zA-Z0-9_:-]{1,100}$',
      expected: '1 to 100 letters, digits, underscores, colons and hyphens',
      aliases: ['DEFAULT_CONTAINER_TAG'],
    }),
    orgName: Type.String({
      description: 'Name of the organization that API answers show.',
      default: 'local',
      minLength: 1,
      maxLength: 100,
      aliases: ['ORG_NAME'],
    }),
    compat: Type.Array(Type.Enum([...compatSwitches]), {
      description: 'Switches that help older clients.',
      default: [],
      expected: `some of ${compatSwitches.join(', ')}, or all`,
      expand: { all: [...compatSwitches] },
      aliases: ['COMPAT'],
    }),
    threads: Type.Optional(
      Type.Integer({
        description: 'CPU threads of the embedding model.',
        absent: 'chosen by the number of cores',
        minimum: 1,
        maximum: 256,
      }),
    ),
    connectors: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Connectors to load besides the built-in ones: names of installed packages, or paths of files.',
      default: [],
      expected: 'names of packages or paths',
    }),
    embedder,
    llm: languageModel,
    ocr,
    limits: Type.Object({
      maxTextBytes: bytes('Largest text of one document.', 1 * mebibyte, 'MAX_TEXT_BYTES'),
      maxBodyBytes: bytes('Largest request body.', 2 * mebibyte, 'MAX_BODY_BYTES'),
      maxBatchBodyBytes: bytes('Largest request body of a batch.', 32 * mebibyte, 'MAX_BATCH_BODY_BYTES'),
      maxFileBytes: bytes('Largest uploaded file.', 50 * mebibyte, 'MAX_FILE_BYTES'),
    }),
    requestTimeoutMs: Type.Integer({
      description: 'How long a request may take to arrive with its body, in milliseconds; then it is answered 408.',
      default: 120_000,
      minimum: 100,
      aliases: ['REQUEST_TIMEOUT_MS'],
    }),
    rateLimit: Type.Object({
      max: Type.Integer({
        description: 'Requests that a full key may send in one window; 0 is no limit.',
        default: 0,
        minimum: 0,
        aliases: ['RATE_LIMIT_MAX'],
      }),
      windowMs: Type.Integer({
        description: 'Length of the window in milliseconds.',
        default: 60_000,
        minimum: 1,
        maximum: 3_600_000,
        aliases: ['RATE_LIMIT_WINDOW_MS'],
      }),
    }),
    metrics: Type.Boolean({
      description: 'Offers counters and durations at `GET /metrics`, for Prometheus with a full key.',
      default: false,
      aliases: ['METRICS'],
    }),
    allowPrivateUrls: Type.Boolean({
      description:
        'Lets connections and documents lead to addresses of the own network. Services that hand out credentials of cloud machines stay closed.',
      default: false,
      aliases: ['ALLOW_PRIVATE_URLS'],
    }),
    allowedPrivateHosts: Type.Array(Type.String({ pattern: '^[^\\s/?#@]+(/\\d{1,3})?$' }), {
      description:
        'Hosts of the own network that connections and documents may lead to: names (nas.lan, *.lan), addresses and ranges.',
      default: [],
      expected: 'hosts such as nas.lan, *.lan, 192.168.1.5 or 10.0.0.0/8',
      aliases: ['ALLOWED_PRIVATE_HOSTS'],
    }),
    sync: Type.Object({
      concurrency: Type.Integer({
        description: 'Steps of syncs (a page, a batch of items) that run at once in this process.',
        default: 4,
        minimum: 1,
        maximum: 256,
        aliases: ['SYNC_CONCURRENCY'],
      }),
      cron: Type.String({
        description:
          'When connections sync that have no schedule of their own: a cron expression with an optional time zone, or an interval. Each connection has its own offset.',
        default: '0 */4 * * *',
        minLength: 1,
        expected: 'a schedule such as "0 */4 * * *", "0 6 * * * Europe/Berlin" or 4h',
        aliases: ['SYNC_CRON'],
      }),
    }),
    backup: Type.Object({
      schedule: Type.String({
        description:
          'When the embedded database is backed up by itself, into the folder backups of dataDir: a cron expression with an optional time zone, an interval, or manual for never. Where there is no backup yet, the first is made at once.',
        default: 'manual',
        minLength: 1,
        expected: 'a schedule such as "0 3 * * *", "30 2 * * sun Europe/Berlin" or 1d, or manual',
      }),
      keep: Type.Integer({
        description: 'How many backups stay when one was made by itself, this one among them; older ones are deleted.',
        default: 7,
        minimum: 1,
        maximum: 1_000,
      }),
    }),
    ...protection,
    ...processing,
  },
  { additionalProperties: false },
);

export type Config = Static<typeof configSchema>;

function bytes(description: string, standard: number, alias: string) {
  return Type.Integer({
    description,
    default: standard,
    minimum: 1,
    maximum: 1024 * mebibyte,
    unit: 'bytes',
    aliases: [alias],
  });
}

/** The keywords of a field's schema that this project reads. */
export type FieldSchema = TSchema & {
  type?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  items?: FieldSchema;
  description: string;
  default?: unknown;
  absent?: string;
  secret?: boolean;
  aliases?: string[];
  flag?: string;
  path?: boolean;
  unit?: 'bytes';
  expand?: Record<string, string[]>;
  expected?: string;
};

/** One setting, flattened: what documentation, environment, flags and files know of it. */
export interface ConfigField {
  /** `port`, `embedder.kind`. */
  path: string;
  schema: FieldSchema;
  /** Environment names, the first one that is set wins. */
  environment: readonly string[];
  /** The option of `memoryd start`, e.g. `--port <number>`. */
  flag: string | null;
  secret: boolean;
}

/** Every setting in the order of the schema. */
export const configFields: readonly ConfigField[] = flatten(configSchema, []);

/** Variables that steer the command line, not the daemon. */
export const commandVariables: readonly { name: string; description: string }[] = [
  { name: 'MEMORYD_CONFIG', description: 'Path of the configuration file, as `--config`.' },
  { name: 'MEMORYD_URL', description: 'Address of the daemon that commands talk to, as `--url`.' },
];

function flatten(schema: TSchema, parents: string[]): ConfigField[] {
  const properties = (schema as { properties?: Record<string, FieldSchema> }).properties ?? {};
  return Object.entries(properties).flatMap(([name, property]) => {
    const segments = [...parents, name];
    // A group has properties; an object without is one setting that holds what it likes.
    if (property.type === 'object' && 'properties' in property) return flatten(property, segments);
    return [
      {
        path: segments.join('.'),
        schema: property,
        environment: [environmentName(segments), ...(property.aliases ?? [])],
        flag: property.flag ?? null,
        secret: property.secret === true,
      },
    ];
  });
}

function environmentName(segments: string[]): string {
  return ['MEMORYD', ...segments.map((segment) => segment.replace(/([A-Z])/g, '_$1').toUpperCase())].join('_');
}

/** The rule of a field in words, to follow "is not". */
export function expectation(schema: FieldSchema): string {
  if (schema.expected) return schema.expected;
  if (schema.enum) return `one of ${schema.enum.join(', ')}`;
  if (schema.type === 'integer')
    return `a whole number ${range(schema)}${schema.unit ? ', or a size such as 50MiB' : ''}`;
  if (schema.type === 'boolean') return 'true or false';
  return 'a text';
}

function range({ minimum = 0, maximum }: FieldSchema): string {
  return maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
}
