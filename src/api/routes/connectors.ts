import { requireInstalled } from '../connection-lookup.ts';
import type { Api, RouteContext } from '../context.ts';
import * as schemas from '../schemas/connectors.ts';
import { connectorSpecView, connectorView } from '../views/connectors.ts';

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
    async (request) => connectorSpecView(await requireInstalled(services.connections, request.params.name)),
  );
}
