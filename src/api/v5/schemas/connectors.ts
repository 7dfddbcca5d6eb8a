import Type from 'typebox';
import { createBody } from '../../schemas/connections.ts';
import { jsonObject, nullable, pagination, timestamp, words, type Answered } from '../../schemas/shared.ts';
import { pageFields } from './lists.ts';
import { closedBody, listStyle, namespace } from './shared.ts';

const provider = Type.String({ maxLength: 100, description: 'Name of a connector, see GET /v3/connectors.' });

export const connectorParams = Type.Object({ namespace, id: Type.String({ minLength: 1, maxLength: 255 }) });

export const createConnectorBody = closedBody({
  provider,
  documentLimit: createBody.properties.documentLimit,
  redirectUrl: createBody.properties.redirectUrl,
  config: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      ...jsonObject,
      description: 'Settings of the connector, secrets included; see configSchema of GET /v3/connectors.',
    }),
  ),
});

const authorization = Type.Object({ url: Type.String(), expiresAt: timestamp });

export const createConnectorAnswer = Type.Object({
  id: Type.String(),
  authorization: nullable(authorization, { description: 'Where the user gives consent; null: nothing is to consent.' }),
});

export const connectorsQuery = Type.Object({ provider: Type.Optional(provider), ...pageFields });

const run = {
  errorCode: nullable(words(['auth_expired', 'rate_limited', 'plan_required', 'provider_unavailable', 'internal'])),
  error: nullable(Type.String()),
  system: Type.Object({
    status: words(['running', 'completed', 'failed']),
    startedAt: timestamp,
    completedAt: nullable(timestamp),
  }),
};

const sync = Type.Object({
  ...run,
  id: Type.String(),
  trigger: words(['event', 'cron', 'manual']),
  itemsProcessed: Type.Integer(),
  itemsFailed: Type.Integer(),
  failures: Type.Array(
    Type.Object({
      documentId: nullable(Type.String()),
      title: nullable(Type.String()),
      errorCode: nullable(Type.String()),
      errorMessage: Type.String(),
      failedAt: timestamp,
    }),
    { description: 'At most 50.' },
  ),
});

export const connectorAnswer = Type.Object({
  id: Type.String(),
  provider: Type.String(),
  namespace: nullable(Type.String()),
  account: nullable(Type.String()),
  capabilities: Type.Object({ selectable: Type.Boolean(), webhooks: Type.Boolean() }),
  config: nullable(jsonObject, { description: 'Without secrets.' }),
  selection: Type.Unsafe<Record<string, { id: string; name: string }[]> | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'array', items: { type: 'object', additionalProperties: true } },
    description: 'Resources to mirror, by kind; null: all.',
  }),
  documentLimit: nullable(Type.Integer()),
  documentCount: Type.Integer(),
  latestRun: nullable(Type.Object(run)),
  system: Type.Object({
    status: words(['pending_authorization', 'active']),
    createdAt: timestamp,
    lastSuccessfulSyncAt: nullable(timestamp),
  }),
  authorization: Type.Optional(authorization),
  syncs: Type.Optional(Type.Array(sync, { description: 'The ten newest, when asked for.' })),
  picker: Type.Optional(
    nullable(authorization, { description: 'When asked for: null, what to mirror is chosen with PATCH.' }),
  ),
});
export type ConnectorAnswer = Answered<typeof connectorAnswer>;

export const connectorsAnswer = Type.Object({ connectors: Type.Array(connectorAnswer), pagination });

export const connectorQuery = Type.Object(
  {
    include: Type.Optional(
      Type.Array(words(['syncs', 'picker']), { description: 'Parts to add to the answer, separated by commas.' }),
    ),
    returnUrl: Type.Optional(
      Type.String({ maxLength: 2_048, description: 'For a picker, of which there is none here; without effect.' }),
    ),
  },
  listStyle,
);

const ids = Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 500 }), { maxItems: 500 }));

export const changeConnectorBody = closedBody({
  selection: Type.Optional(
    Type.Unsafe<{ repos?: string[]; labels?: string[]; files?: string[]; folders?: string[] }>({
      ...closedBody({ repos: ids, labels: ids, files: ids, folders: ids }),
      description: 'Ids of what is mirrored, all of them; an empty selection is everything.',
    }),
  ),
  documentLimit: createBody.properties.documentLimit,
});

export const removeConnectorQuery = Type.Object({
  deleteDocuments: Type.Optional(words(['true', 'false'], { description: 'Default true.' })),
});

export const removeConnectorAnswer = Type.Object({ id: Type.String(), deleted: Type.Boolean() });
export const syncConnectorBody = closedBody({});
export const syncConnectorAnswer = Type.Object({ id: Type.String(), status: words(['queued']) });
