import type { FastifyRequest } from 'fastify';
import { requireManagement } from '../../account/access.ts';
import { requireInstalled } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import * as schemas from '../schemas/connectors.ts';
import { connectorSpecView, connectorView, sharedHookView } from '../views/connectors.ts';

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
