import Type, { type Static } from 'typebox';
import { filtersSchema } from '../../sync/filters.ts';
import { selectedResource } from './resources.ts';
import {
  containerTag,
  containerTags,
  documentStatus,
  jsonObject,
  nullable,
  timestamp,
  words,
  type Answered,
} from './shared.ts';

/** Section 19 of the API. */

export const providerParams = Type.Object({
  provider: Type.String({
    description: 'Name of a connector, see GET /v3/connectors.',
    pattern: '^[a-z][a-z0-9-]{1,31}$',
    'x-expected': 'the name of a connector',
  }),
});

/** Ids and provider names share this place in the path; no id equals a provider name. */
export const connectionOrProviderParams = Type.Object({
  connection: Type.String({
    description: 'Id of a connection, or where the operation says so the name of a provider.',
    minLength: 1,
    maxLength: 255,
  }),
});

export const connectionParams = Type.Object({
  connectionId: Type.String({ description: 'Id of a connection.', minLength: 1, maxLength: 255 }),
});

const documentLimit = Type.Integer({ minimum: 1, maximum: 10_000 });

const schedule = nullable(
  Type.String({
    maxLength: 200,
    description:
      'An interval (10m, 4h, 1d) or a cron expression of five fields, with an optional time zone. Null: only on request.',
    examples: ['0 */6 * * *', '0 8 * * mon-fri Europe/Berlin'],
  }),
);

const allowedHours = nullable(
  Type.String({
    maxLength: 500,
    description: 'Windows of time in which it syncs by itself, with an optional time zone. Null: at any time.',
    examples: ['22:00-06:00', 'mon-fri 19:00-07:00 Europe/Berlin'],
  }),
);

/** How a connection's items enter memory; see docs/memories.md. */
const memorySettings = {
  memories: nullable(words(['off', 'facts', 'facts+episodes']), {
    description:
      'Which content becomes a memory. Null: as the container says, else facts and episodes from the owner’s own texts and from transcripts, and none from the rest.',
  }),
  trust: words(['own', 'read'], {
    description: 'own: its items are the owner’s own, except those that name another author. read: they are only read.',
  }),
  author: nullable(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'The author of items that name nobody, as a name or as Name <address>; with own, also whose items are own.',
      examples: ['Alice Example <alice@example.com>'],
    }),
  ),
  inProfile: Type.Boolean({ description: 'Facts from this source may enter profiles.' }),
};
const memoryChanges = {
  memories: Type.Optional(memorySettings.memories),
  trust: Type.Optional(memorySettings.trust),
  author: Type.Optional(memorySettings.author),
  inProfile: Type.Optional(memorySettings.inProfile),
};

/** Checked by `parseFilters`, which names the remedy for each mistake. */
const filters = Type.Unsafe<Record<string, unknown>>(filtersSchema);

export const createBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  documentLimit: Type.Optional(documentLimit),
  metadata: Type.Optional(
    nullable(jsonObject, {
      description: 'Configuration of the connector, and what else is put on every synced document.',
    }),
  ),
  redirectUrl: Type.Optional(
    Type.String({ pattern: '^https?://[^\\s/]+', maxLength: 2048, 'x-expected': 'an absolute http(s) URL' }),
  ),
  schedule: Type.Optional(schedule),
  allowedHours: Type.Optional(allowedHours),
  onSourceDelete: Type.Optional(words(['delete', 'keep'])),
  ...memoryChanges,
  filters: Type.Optional(filters),
  paused: Type.Optional(Type.Boolean({ description: 'It waits for its first sync until it is resumed.' })),
  connectionId: Type.Optional(
    Type.String({
      description: 'Authorizes this connection again; metadata may hold new credentials only.',
      minLength: 1,
      maxLength: 255,
    }),
  ),
});
export type CreateConnectionBody = Static<typeof createBody>;

export const createAnswer = Type.Object({
  id: Type.String(),
  authLink: nullable(Type.String(), { description: 'Where the user gives consent; null when nothing is to consent.' }),
  expiresIn: nullable(Type.String()),
  redirectsTo: Type.Optional(Type.String()),
});
export type CreateConnectionAnswer = Answered<typeof createAnswer>;

const errorCode = nullable(Type.String());

const lastSyncRun = Type.Object({
  status: words(['running', 'completed', 'failed']),
  errorCode,
  error: nullable(Type.String()),
  startedAt: timestamp,
  completedAt: nullable(timestamp),
});

export const problems = Type.Array(
  Type.Object({
    partition: nullable(Type.String(), { description: 'Null: it is about the whole connection.' }),
    title: nullable(Type.String()),
    state: words(['parked', 'paused'], {
      description: 'paused: somebody has to do something at the source. parked: it only takes time.',
    }),
    code: Type.String(),
    reason: Type.String({ description: 'Which part, why, and what to do.' }),
    until: nullable(timestamp, { description: 'When it is tried again, or when missing documents go.' }),
  }),
  { description: 'Parts of the source that are left alone or cannot be read for now, or that are found late.' },
);

export const connectionAnswer = Type.Object(
  {
    id: Type.String(),
    provider: Type.String(),
    createdAt: timestamp,
    email: Type.Optional(Type.String()),
    expiresAt: Type.Optional(timestamp),
    documentLimit: Type.Optional(Type.Integer()),
    metadata: jsonObject,
    containerTags: Type.Array(Type.String()),
    lastSyncRun: Type.Optional(lastSyncRun),
    status: words(['active', 'paused', 'needs_reauth', 'needs_configuration', 'deleting']),
    statusReason: nullable(Type.String(), { description: 'Why it is not active, and what to do.' }),
    containerTag: Type.String(),
    schedule: nullable(Type.String(), { description: 'Null: only on request.' }),
    allowedHours: nullable(Type.String(), { description: 'Null: at any time.' }),
    filters: jsonObject,
    selection: Type.Array(selectedResource, { description: 'Chosen resources. Empty: everything.' }),
    nextSyncAt: nullable(timestamp),
    onSourceDelete: words(['delete', 'keep']),
    ...memorySettings,
    documentCount: Type.Integer(),
    problems,
    standing: Type.Optional(
      Type.Object(
        {
          waiting: Type.Integer({ description: 'Documents that are not searchable yet.' }),
          failed: Type.Integer({
            description: 'Items that could not be mirrored, and those whose document could not be read.',
          }),
          heldDeletes: Type.Integer({ description: 'Deletions that are held back.' }),
        },
        { description: 'In lists with limit.' },
      ),
    ),
  },
  { $id: 'Connection', title: 'Connection' },
);
export type ConnectionAnswer = Answered<typeof connectionAnswer>;

export const connectionRef = Type.Unsafe<ConnectionAnswer>({ $ref: 'Connection#' });

export const connectionsAnswer = Type.Array(connectionRef);

export const listConnectionsBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  provider: Type.Optional(Type.String()),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 500,
      description: 'At most so many, each with its standing. Fewer: there are no more. Default: all of them.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'With limit: only those after this one, the id of the last connection of the page before.',
    }),
  ),
  order: Type.Optional(
    words(['newest', 'attention'], {
      description:
        'With limit. attention: first what needs a hand, then what runs, then the rest, on one page. Default newest.',
    }),
  ),
});

/** The containers that an operation on a provider's connections covers. */
export const tagsBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
});

export const deleteQuery = Type.Object({
  deleteDocuments: Type.Optional(
    words(['true', 'false'], { description: 'false keeps the documents, without their connection. Default true.' }),
  ),
});

const deletedConnection = { id: Type.String(), provider: Type.String() };

export const deleteAnswer = Type.Object({
  ...deletedConnection,
  deleted: Type.Optional(Type.Array(Type.Object(deletedConnection))),
});

export const patchBody = Type.Object({
  paused: Type.Optional(Type.Boolean()),
  documentLimit: Type.Optional(
    nullable(documentLimit, { description: 'At most so many items are mirrored. Null: the standard limit.' }),
  ),
  schedule: Type.Optional(schedule),
  allowedHours: Type.Optional(allowedHours),
  metadata: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      ...jsonObject,
      description: 'Merged into what is there; null takes a field away. Secrets replace stored ones.',
    }),
  ),
  onSourceDelete: Type.Optional(words(['delete', 'keep'])),
  ...memoryChanges,
  filters: Type.Optional(filters),
});
export type PatchBody = Static<typeof patchBody>;

export const previewBody = Type.Object({ filters: Type.Optional(filters) });

const amount = (description: string) =>
  Type.Object(
    {
      items: Type.Integer(),
      bytes: Type.Integer({ description: 'Size of the items whose size the source tells.' }),
    },
    { description },
  );
const names = Type.Array(Type.String());

export const previewAnswer = Type.Object({
  listed: amount('Items that the source shows.'),
  chosen: amount('Items that the filters let through.'),
  examples: Type.Object({ chosen: names, leftOut: names }, { description: 'A few paths or titles.' }),
  complete: Type.Boolean({ description: 'False: the source shows more than was counted.' }),
});

export const scheduleQuery = Type.Object({
  schedule: Type.Optional(
    Type.String({ maxLength: 200, description: 'As of a connection. None: what connections without one follow.' }),
  ),
  allowedHours: Type.Optional(Type.String({ maxLength: 500 })),
});

export const scheduleAnswer = Type.Object({
  next: Type.Array(timestamp, { description: 'The next five times; none of a schedule that is `manual`.' }),
});

export const checkAnswer = Type.Object({
  ok: Type.Boolean({ description: 'No check failed.' }),
  checks: Type.Array(
    Type.Object({
      name: Type.String(),
      title: Type.String(),
      status: words(['ok', 'failed', 'unknown'], { description: 'unknown: it could not be found out.' }),
      detail: Type.Optional(Type.String()),
      remedy: Type.Optional(Type.String({ description: 'How to mend it.' })),
    }),
  ),
});

export const providerDocumentsBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: '1-based. Default 1.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default 1000.' })),
});

export const providerDocumentsAnswer = Type.Array(
  Type.Object({
    id: Type.String(),
    createdAt: timestamp,
    updatedAt: timestamp,
    status: documentStatus,
    title: nullable(Type.String()),
    summary: nullable(Type.String()),
    type: Type.String(),
    customId: nullable(Type.String()),
    url: nullable(Type.String()),
    connectionId: nullable(Type.String()),
    metadata: jsonObject,
  }),
);
export type ProviderDocument = Answered<typeof providerDocumentsAnswer>[number];
