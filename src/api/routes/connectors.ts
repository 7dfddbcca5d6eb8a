import Type from 'typebox';
import type { FastifyRequest } from 'fastify';
import type { SharedHook } from '../../inbound/hooks/shared-hooks.ts';
import type { AuthSpec, ConnectorSpec } from '../../connector/contract.ts';
import { limitsOf } from '../../source/rate-limit/budgets.ts';
import type { InstalledConnector } from '../../connections/connection-types.ts';
import { requireManagement } from '../../account/access.ts';
import { requireInstalled, callerOf, type Api, type RouteContext } from '../request.ts';
import { jsonObject, nullable, timestamp, words, type Answered } from '../schemas/shared.ts';

const capabilities = Type.Object({
  selectable: Type.Boolean({ description: 'Resources to mirror can be chosen.' }),
  push: Type.Boolean({ description: 'The source reports changes by itself.' }),
  offersHookSecret: Type.Boolean({
    description: 'The source makes the secret of its hooks by itself: GET /v3/connectors/{name}/hook shows it.',
  }),
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

const connectorsAnswer = Type.Array(
  Type.Object({
    provider: Type.String(),
    displayName: Type.String(),
    auth: words(['oauth2', 'token', 'config']),
    ...described,
    configSchema: jsonObject,
  }),
);
type ConnectorAnswer = Answered<typeof connectorsAnswer>[number];

const connectorParams = Type.Object({
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

const sharedHookBody = Type.Object({
  secret: Type.String({ minLength: 1, maxLength: 200, description: 'The secret that is offered.' }),
});

/** The hook that serves all connections of a connector. */
const sharedHookAnswer = Type.Object({
  address: nullable(Type.String(), { description: 'Where the source sends to. Null: publicUrl is not set.' }),
  state: words(['none', 'offered', 'set'], {
    description: 'offered: the source has named a secret, which is to be accepted. set: its hooks are taken.',
  }),
  offered: nullable(Type.Object({ secret: Type.String(), at: timestamp })),
});
type SharedHookAnswer = Answered<typeof sharedHookAnswer>;

const connectorSpecAnswer = Type.Object({
  name: Type.String(),
  title: Type.String(),
  ...described,
  config: Type.Unsafe<Record<string, unknown>>({ ...jsonObject, description: 'JSON Schema of the configuration.' }),
  auth: Type.Array(authorization, { description: 'Ways to authorize, the first is the default.' }),
  callbackAddress: nullable(Type.String(), {
    description:
      'The redirect address that the OAuth client at the source must list, exactly. Null: there is no OAuth.',
  }),
  missingClient: nullable(Type.String(), {
    description:
      'What sets the OAuth client that the log-in at the source lacks. Null: it is set, or there is no OAuth.',
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
type ConnectorSpecAnswer = Answered<typeof connectorSpecAnswer>;

const tags = ['Connections'];

/** Section 19.20 of the API, and the whole of what a connector says about itself. */
export function connectorRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/connectors',
    {
      schema: {
        operationId: 'listConnectors',
        summary: 'List the installed connectors',
        tags,
        response: { 200: connectorsAnswer },
      },
    },
    async () => (await services.connections.connectors()).map(connectorView),
  );

  app.get(
    '/v3/connectors/:name/spec',
    {
      schema: {
        operationId: 'getConnectorSpec',
        summary: 'Get what a connector says about itself',
        description: 'Its configuration and ways to authorize as JSON Schema, its limits and its schedule.',
        tags,
        params: connectorParams,
        response: { 200: connectorSpecAnswer },
      },
    },
    async (request) => {
      const connector = await requireInstalled(services.connections, request.params.name);
      return connectorSpecView(connector, services.consents.callbackAddress(connector.spec.name));
    },
  );
  sharedHookRoutes(app, services);
}

const hookPath = '/v3/connectors/:name/hook';

/** For sources that make the secret of their hooks by themselves: the operator sees it, and says whether it is taken. */
function sharedHookRoutes(app: Api, { hooks, connections }: RouteContext['services']): void {
  const common = { tags, params: connectorParams, response: { 200: sharedHookAnswer } };

  async function managed(request: FastifyRequest, name: string): Promise<string> {
    requireManagement(callerOf(request));
    return (await requireInstalled(connections, name)).spec.name;
  }

  app.get(
    hookPath,
    {
      schema: {
        ...common,
        operationId: 'getConnectorHook',
        summary: 'Get the hook of a source that makes its secret by itself',
        description:
          'With the secret that the source offers. Anybody can send one: compare it with what the source shows.',
      },
    },
    async (request) => sharedHookView(await hooks.shared(await managed(request, request.params.name))),
  );

  app.post(
    hookPath,
    {
      config: { audit: 'hook.accept', sensitive: true },
      schema: {
        ...common,
        operationId: 'acceptConnectorHook',
        summary: 'Take the hooks that are signed with the secret that the source offers',
        body: sharedHookBody,
      },
    },
    async (request) => {
      const name = await managed(request, request.params.name);
      return sharedHookView(await hooks.accept(name, request.body.secret));
    },
  );

  app.delete(
    hookPath,
    {
      config: { audit: 'hook.forget' },
      schema: { ...common, operationId: 'forgetConnectorHook', summary: 'Forget the secret of the hooks of a source' },
    },
    async (request) => sharedHookView(await hooks.forget(await managed(request, request.params.name))),
  );
}

/** Section 19.20 of the API. */
function connectorView({ spec, configured, capabilities }: InstalledConnector): ConnectorAnswer {
  return {
    provider: spec.name,
    displayName: spec.title,
    description: spec.description,
    kind: spec.kind,
    version: spec.version,
    auth: authKindOf(spec),
    configured,
    capabilities,
    configSchema: spec.config,
  };
}

function authKindOf({ auth: [first] }: ConnectorSpec): ConnectorAnswer['auth'] {
  if (!first) return 'config';
  return first.type === 'oauth2' || first.type === 'xoauth2' ? 'oauth2' : 'token';
}

function sharedHookView({ address, state, offered }: SharedHook): SharedHookAnswer {
  return { address, state, offered: offered && { secret: offered.secret, at: offered.at } };
}

/** Bytes that an item may have unless its connector says otherwise. */
const standardItemBytes = 25 * 1024 * 1024;

/** All that a connector says about itself, without what is code. */
function connectorSpecView(
  { spec, configured, missingClient, capabilities }: InstalledConnector,
  callbackAddress: string,
): ConnectorSpecAnswer {
  const { name, title, description, kind, version, config, auth, schedule } = spec;
  return {
    ...{ name, title, description, kind, version, configured, missingClient, capabilities, config },
    auth: auth.map(authorizationView),
    callbackAddress: auth.some(({ type }) => type === 'oauth2' || type === 'xoauth2') ? callbackAddress : null,
    limits: limitsOf(spec, {}).map(({ match, rate, perMs, weight }) => ({ match, rate, perMs, weight })),
    schedule: schedule ?? null,
    maxItemBytes: spec.maxItemBytes ?? standardItemBytes,
    documentType: spec.documentType ?? null,
  };
}

function authorizationView(auth: AuthSpec): ConnectorSpecAnswer['auth'][number] {
  const { type, title } = auth;
  return {
    type,
    title,
    scopes: 'scopes' in auth ? auth.scopes : undefined,
    fields: 'fields' in auth ? auth.fields : undefined,
  };
}
