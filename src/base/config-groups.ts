import Type from 'typebox';
import { standardRedrives } from './redrive-pauses.ts';

/** Settings of the work on documents. */
export const processing = {
  worker: Type.Object({
    concurrency: Type.Integer({
      description: 'Batches of documents that are processed at once in this process.',
      default: 2,
      minimum: 1,
      maximum: 64,
    }),
  }),
  redriveSchedule: Type.Array(Type.String({ pattern: '^[1-9]\\d{0,5}[smhd]$' }), {
    description:
      'After which pauses documents whose processing failed, and may yet succeed, are processed again; then they are left. Memories are looked for again after the same pauses.',
    default: standardRedrives,
    expected: 'pauses such as 30s, 5m, 2h or 1d',
    aliases: ['REDRIVE_SCHEDULE'],
  }),
  memories: Type.Enum(['on', 'off'], {
    description:
      'Whether memories are made of documents. Those that are there stay, and can be written and found in either case.',
    default: 'on',
  }),
  dreaming: Type.Object({
    quietMs: Type.Integer({
      description:
        'Documents that are not read for memories at once wait until nothing has come to their container for so long, in milliseconds.',
      default: 20_000,
      minimum: 0,
      aliases: ['DREAM_QUIET_MS'],
    }),
    documents: Type.Integer({
      description: 'Once so many documents of a container wait, they wait no longer.',
      default: 20,
      minimum: 1,
      maximum: 100,
      aliases: ['DREAM_DOCUMENTS'],
    }),
    waitMs: Type.Integer({
      description: 'However busy its container is, a document waits no longer than this, in milliseconds.',
      default: 120_000,
      minimum: 0,
      aliases: ['DREAM_WAIT_MS'],
    }),
  }),
};

/** Settings of who reaches the daemon, from where, and what may be read through it. */
export const protection = {
  tls: Type.Object({
    certFile: Type.Optional(
      Type.String({
        description: 'File with the certificate, and those of its issuers, as PEM. With keyFile: the API speaks https.',
        absent: 'plain http',
        minLength: 1,
        path: true,
      }),
    ),
    keyFile: Type.Optional(
      Type.String({
        description: 'File with the private key of the certificate, as PEM.',
        absent: 'plain http',
        minLength: 1,
        path: true,
      }),
    ),
  }),
  allowedHosts: Type.Array(Type.String({ pattern: '^(\\*\\.)?[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$' }), {
    description:
      'Names by which requests may reach the daemon, beside addresses, names without dots and that of publicUrl. Requests for any other name are refused, so that web pages cannot pass theirs off as this machine.',
    default: [],
    expected: 'names such as memory.example.com or *.example.com',
  }),
  corsOrigins: Type.Array(Type.String({ pattern: '^(\\*|https?://[^/]+)$' }), {
    description: 'Origins of web pages that may call the API from a browser.',
    default: [],
    expected: 'origins such as https://app.example.com, or *',
    aliases: ['CORS_ORIGINS'],
  }),
  folderRoots: Type.Array(Type.String({ minLength: 1 }), {
    description:
      'Folders of this machine that may be connected through the API, with what lies below them. Empty: none. Commands on the machine itself may connect whatever the daemon’s user can read.',
    default: [],
    expected: 'folders such as /srv/notes',
  }),
};

/** Settings of the language model; without `url` there is none, and nothing is sent anywhere. */
export const languageModel = Type.Object({
  url: Type.Optional(
    Type.String({
      description:
        'Address of an OpenAI-compatible server whose language model finds memories; up to `/chat/completions`.',
      absent: 'memories are found by rules, without a language model',
      pattern: '^https?://.+',
      expected: 'an address such as http://127.0.0.1:11434/v1',
    }),
  ),
  model: Type.Optional(
    Type.String({ description: 'Name of the model at that server.', absent: 'needed with llm.url', minLength: 1 }),
  ),
  apiKey: Type.Optional(
    Type.String({ description: 'Key for that server.', absent: 'none is sent', minLength: 1, secret: true }),
  ),
  tokensPerDay: Type.Integer({
    description: 'Tokens of questions and answers that each container may spend in a day (UTC); then the rules go on.',
    default: 1_000_000,
    minimum: 0,
  }),
  summaries: Type.Boolean({
    description: 'Makes titles and summaries of documents once they are searchable, with at most half of the budget.',
    default: true,
  }),
  concurrency: Type.Integer({ description: 'Requests at once.', default: 2, minimum: 1, maximum: 64 }),
  timeoutMs: Type.Integer({
    description: 'How long one request may take, in milliseconds.',
    default: 120_000,
    minimum: 100,
  }),
});

/** Settings of reading text in images; without `url` no file is sent anywhere. */
export const ocr = Type.Object({
  url: Type.Optional(
    Type.String({
      description:
        'Server that reads the text in images and scanned PDF files: a file is posted to this address, and its text is the answer (docs/ocr.md).',
      absent: 'images and scans fail with a sentence that says so',
      pattern: '^https?://.+',
      expected: 'an address such as http://127.0.0.1:9998/ocr',
    }),
  ),
  apiKey: Type.Optional(
    Type.String({ description: 'Key for that server.', absent: 'none is sent', minLength: 1, secret: true }),
  ),
  concurrency: Type.Integer({ description: 'Files that are sent at once.', default: 2, minimum: 1, maximum: 64 }),
  timeoutMs: Type.Integer({
    description: 'How long the server may be silent over one file, in milliseconds.',
    default: 300_000,
    minimum: 100,
  }),
});

/** Settings of the model that turns text into vectors. */
export const embedder = Type.Object({
  kind: Type.Enum(['chosen', 'minilm', 'onnx', 'http', 'hashing'], {
    description:
      'Model that turns text into vectors: chosen (by `memoryd models use`; the built-in one until then), minilm (the built-in one), onnx (a folder), http (an OpenAI-compatible server), hashing (no model, for tests).',
    default: 'chosen',
  }),
  hub: Type.String({
    description:
      'Where `memoryd models pull` gets models: an address with the paths of the Hugging Face hub, `/<repository>/resolve/<revision>/<file>`.',
    default: 'https://huggingface.co',
    pattern: '^https?://[^\\s/?#]+[^\\s?#]*$',
    expected: 'an address such as https://huggingface.co or http://hub.lan:8080/models',
    aliases: ['HF_ENDPOINT'],
  }),
  folder: Type.Optional(
    Type.String({
      description: 'Folder of the model, for onnx.',
      absent: 'needed when the kind is onnx',
      minLength: 1,
      path: true,
    }),
  ),
  baseUrl: Type.Optional(
    Type.String({
      description: 'Address of the server, for http.',
      absent: 'needed when the kind is http',
      pattern: '^https?://.+',
      expected: 'an address such as http://127.0.0.1:11434/v1',
    }),
  ),
  model: Type.Optional(
    Type.String({
      description: 'Name of the model at the server, for http.',
      absent: 'needed when the kind is http',
      minLength: 1,
    }),
  ),
  apiKey: Type.Optional(
    Type.String({
      description: 'Key for the server, for http.',
      absent: 'none is sent',
      minLength: 1,
      secret: true,
    }),
  ),
  dimensions: Type.Optional(
    Type.Integer({
      description: 'Length of the vectors, for http and hashing.',
      absent: 'what the model gives',
      minimum: 1,
      maximum: 8192,
    }),
  ),
});

/** Settings of an OAuth client that serves one or two connectors. `alias` begins its further environment names. */
export function oauthClient(source: string, alias: string, more = '') {
  const field = (description: string, name: string, secret: boolean) =>
    Type.Optional(
      Type.String({
        description: [description, more].filter(Boolean).join(' '),
        absent: 'authorizations use the client of oauthClients or of the settings',
        minLength: 1,
        secret,
        aliases: [`${alias}_${name}`],
      }),
    );
  return Type.Object({
    clientId: field(`Id of the OAuth client that is registered at ${source}.`, 'CLIENT_ID', false),
    clientSecret: field(`Secret of the OAuth client that is registered at ${source}.`, 'CLIENT_SECRET', true),
  });
}
