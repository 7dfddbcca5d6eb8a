import Type, { type Static } from 'typebox';
import { jsonObject, nullable, timestamp, words } from './shared.ts';

/** Section 19.20 of the API, and the whole description of a connector. */

const capabilities = Type.Object({
  selectable: Type.Boolean({ description: 'Resources to mirror can be chosen.' }),
  push: Type.Boolean({ description: 'The source reports changes by itself.' }),
  incremental: Type.Boolean({ description: 'It reads changes instead of listing everything.' }),
  deletes: Type.Boolean({ description: 'Deletions at the source are mirrored.' }),
});

const described = {
  description: Type.String({ description: 'The mirrored content.' }),
  kind: Type.String(),
  version: Type.String(),
  configured: Type.Boolean({ description: 'False: an OAuth client must be registered first.' }),
  capabilities,
};

export const connectorsAnswer = Type.Array(
  Type.Object({
    provider: Type.String(),
    displayName: Type.String(),
    auth: words(['oauth2', 'token', 'config']),
    ...described,
    configSchema: jsonObject,
  }),
);
export type ConnectorAnswer = Static<typeof connectorsAnswer>[number];

export const connectorParams = Type.Object({
  name: Type.String({
    description: 'Name of a connector, see GET /v3/connectors.',
    pattern: '^[a-z][a-z0-9-]{1,31}$',
    'x-expected': 'the name of a connector',
  }),
});

const authorization = Type.Object({
  type: words(['oauth2', 'xoauth2', 'apiKey', 'basic', 'serviceAccount', 'githubApp']),
  title: Type.Optional(Type.String()),
  scopes: Type.Optional(Type.Array(Type.String(), { description: 'Scopes that the user is asked for.' })),
  fields: Type.Optional(Type.Unsafe<Record<string, unknown>>({ ...jsonObject, description: 'JSON Schema.' })),
});

export const sharedHookBody = Type.Object({
  secret: Type.String({ minLength: 1, maxLength: 200, description: 'The secret that is offered.' }),
});

/** The hook that serves all connections of a connector. */
export const sharedHookAnswer = Type.Object({
  address: nullable(Type.String(), { description: 'Where the source sends to. Null: publicUrl is not set.' }),
  state: words(['none', 'offered', 'set'], {
    description: 'offered: the source has named a secret, which is to be accepted. set: its hooks are taken.',
  }),
  offered: nullable(Type.Object({ secret: Type.String(), at: timestamp })),
});
export type SharedHookAnswer = Static<typeof sharedHookAnswer>;

export const connectorSpecAnswer = Type.Object({
  name: Type.String(),
  title: Type.String(),
  ...described,
  config: Type.Unsafe<Record<string, unknown>>({ ...jsonObject, description: 'JSON Schema of the configuration.' }),
  auth: Type.Array(authorization, { description: 'Ways to authorize, the first is the default.' }),
  callbackAddress: nullable(Type.String(), {
    description:
      'The redirect address that the OAuth client at the source must list, exactly. Null: there is no OAuth.',
  }),
  limits: Type.Array(
    Type.Object({
      match: Type.String(),
      rate: Type.Number(),
      perMs: Type.Number(),
      weight: Type.Optional(Type.Number()),
    }),
    { description: 'At most rate requests in each period of perMs.' },
  ),
  schedule: nullable(Type.Object({ everyMs: Type.Integer(), reconcileEveryMs: Type.Optional(Type.Integer()) }), {
    description: 'When it syncs unless the connection says otherwise.',
  }),
  maxItemBytes: Type.Integer({ description: 'Larger items are skipped.' }),
  documentType: nullable(Type.String()),
});
export type ConnectorSpecAnswer = Static<typeof connectorSpecAnswer>;
