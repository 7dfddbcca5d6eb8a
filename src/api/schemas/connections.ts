import Type, { type Static } from 'typebox';
import { containerTag, containerTags, jsonObject, nullable, timestamp, words } from './shared.ts';

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

export const createBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  documentLimit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  metadata: Type.Optional(
    nullable(jsonObject, {
      description: 'Configuration of the connector, and what else is put on every synced document.',
    }),
  ),
  redirectUrl: Type.Optional(
    Type.String({ pattern: '^https?://[^\\s/]+', maxLength: 2048, 'x-expected': 'an absolute http(s) URL' }),
  ),
  schedule: Type.Optional(
    nullable(Type.String({ maxLength: 100, description: 'Cron expression. Null: manual only.' })),
  ),
  onSourceDelete: Type.Optional(words(['delete', 'keep'])),
  connectionId: Type.Optional(Type.String({ description: 'Authorizes this connection again.' })),
});
export type CreateConnectionBody = Static<typeof createBody>;

export const createAnswer = Type.Object({
  id: Type.String(),
  authLink: nullable(Type.String(), { description: 'Where the user gives consent; null when nothing is to consent.' }),
  expiresIn: nullable(Type.String()),
  redirectsTo: Type.Optional(Type.String()),
});

const errorCode = nullable(Type.String());

const lastSyncRun = Type.Object({
  status: words(['running', 'completed', 'failed']),
  errorCode,
  error: nullable(Type.String()),
  startedAt: timestamp,
  completedAt: nullable(timestamp),
});

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
    schedule: nullable(Type.String()),
    nextSyncAt: nullable(timestamp),
    onSourceDelete: words(['delete', 'keep']),
    documentCount: Type.Integer(),
  },
  { $id: 'Connection', title: 'Connection' },
);
export type ConnectionAnswer = Static<typeof connectionAnswer>;

const syncRunFields = {
  id: Type.String(),
  connectionId: Type.String(),
  status: words(['running', 'completed', 'failed']),
  triggerType: words(['event', 'cron', 'manual']),
  mode: words(['full', 'incremental']),
  startedAt: timestamp,
  completedAt: nullable(timestamp),
  itemsSeen: Type.Integer(),
  itemsTotal: nullable(Type.Integer()),
  itemsProcessed: Type.Integer(),
  itemsAdded: Type.Integer(),
  itemsUpdated: Type.Integer(),
  itemsDeleted: Type.Integer(),
  itemsSkipped: Type.Integer(),
  itemsFailed: Type.Integer(),
  error: nullable(Type.String()),
  errorCode,
  failures: Type.Array(
    Type.Object({
      customId: Type.String(),
      documentId: nullable(Type.String()),
      title: nullable(Type.String()),
      error: Type.String(),
    }),
    { description: 'At most 50.' },
  ),
};

export const syncRunAnswer = Type.Object(syncRunFields, { $id: 'SyncRun', title: 'SyncRun' });
export type SyncRunAnswer = Static<typeof syncRunAnswer>;

export const connectionRef = Type.Unsafe<ConnectionAnswer>({ $ref: 'Connection#' });
export const syncRunRef = Type.Unsafe<SyncRunAnswer>({ $ref: 'SyncRun#' });

export const connectionsAnswer = Type.Array(connectionRef);

export const syncRunsAnswer = Type.Array(syncRunRef);

export const listConnectionsBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  provider: Type.Optional(Type.String()),
});

/** Which containers an operation on a provider's connections covers. */
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

export const syncBody = Type.Object({
  mode: Type.Optional(words(['incremental', 'full'], { description: 'Default incremental.' })),
  restoreDeleted: Type.Optional(Type.Boolean()),
});

export const patchBody = Type.Object({
  paused: Type.Optional(Type.Boolean()),
  documentLimit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  schedule: Type.Optional(nullable(Type.String({ maxLength: 100 }))),
  metadata: Type.Optional(jsonObject),
  onSourceDelete: Type.Optional(words(['delete', 'keep'])),
});

export const runsQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50.' })),
  before: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Id of a run: only older ones.' })),
});

export const importAnswer = {
  description: 'A line of text; as JSON when only that is accepted.',
  content: {
    'text/plain': { schema: Type.String({ examples: ['Importing connections...'] }) },
    'application/json': {
      schema: Type.Object({
        message: Type.String(),
        provider: Type.String(),
        runs: Type.Array(Type.Object({ connectionId: Type.String(), runId: Type.String() })),
      }),
    },
  },
};

export const progressAnswer = Type.Object({
  run: nullable(Type.Object(syncRunFields)),
  items: Type.Object({
    pending: Type.Integer(),
    done: Type.Integer(),
    failed: Type.Integer(),
    skipped: Type.Integer(),
  }),
  documents: Type.Object({ waiting: Type.Integer(), done: Type.Integer(), failed: Type.Integer() }),
  heldDeletes: Type.Integer({ description: 'Documents that a sweep would delete and the brake holds.' }),
});
export type ProgressAnswer = Static<typeof progressAnswer>;

export const connectorsAnswer = Type.Array(
  Type.Object({
    provider: Type.String(),
    displayName: Type.String(),
    description: Type.String(),
    kind: Type.String(),
    version: Type.String(),
    auth: words(['oauth2', 'token', 'config']),
    configSchema: jsonObject,
  }),
);
export type ConnectorAnswer = Static<typeof connectorsAnswer>[number];
