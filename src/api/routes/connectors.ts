import type { FastifyRequest } from 'fastify';
import type { ConnectorAnswer, ConnectorSpecAnswer, SharedHookAnswer } from '../schemas/connectors.ts';
import type { SharedHook } from '../../inbound/hooks/shared-hooks.ts';
import type { AuthSpec, ConnectorSpec } from '../../connector/contract.ts';
import { limitsOf } from '../../source/http/budgets.ts';
import type { InstalledConnector } from '../../connections/connections.ts';
import { requireManagement } from '../../account/access.ts';
import { requireInstalled } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import * as schemas from '../schemas/connectors.ts';

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
        response: { 200: schemas.connectorsAnswer },
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
        params: schemas.connectorParams,
        response: { 200: schemas.connectorSpecAnswer },
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
  const common = { tags, params: schemas.connectorParams, response: { 200: schemas.sharedHookAnswer } };

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
        body: schemas.sharedHookBody,
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

/** Section 19.20. */
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
  return { address, state, offered: offered && { secret: offered.secret, at: offered.at.toISOString() } };
}

/** Bytes that an item may have unless its connector says otherwise. */
const standardItemBytes = 25 * 1024 * 1024;

/** All that a connector says about itself, without what is code. */
function connectorSpecView(
  { spec, configured, capabilities }: InstalledConnector,
  callbackAddress: string,
): ConnectorSpecAnswer {
  const { name, title, description, kind, version, config, auth, schedule } = spec;
  return {
    name,
    title,
    description,
    kind,
    version,
    configured,
    capabilities,
    config,
    auth: auth.map(authorizationView),
    callbackAddress: auth.some(({ type }) => type === 'oauth2' || type === 'xoauth2') ? callbackAddress : null,
    limits: limitsOf(spec, {}).map(({ match, rate, perMs, weight }) => ({
      match,
      rate,
      perMs,
      ...(weight && { weight }),
    })),
    schedule: schedule ?? null,
    maxItemBytes: spec.maxItemBytes ?? standardItemBytes,
    documentType: spec.documentType ?? null,
  };
}

function authorizationView(auth: AuthSpec): ConnectorSpecAnswer['auth'][number] {
  const { type, title } = auth;
  return {
    type,
    ...(title !== undefined && { title }),
    ...('scopes' in auth && auth.scopes && { scopes: auth.scopes }),
    ...('fields' in auth && { fields: auth.fields }),
  };
}
