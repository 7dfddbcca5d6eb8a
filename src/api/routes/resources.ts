import { requireFullKey, requireManagement } from '../../account/access.ts';
import type { Resource } from '../../connector/contract.ts';
import { findConnection, callerOf, type Api, type RouteContext } from '../request.ts';
import { connectionParams } from '../schemas/connections.ts';
import * as schemas from '../schemas/resources.ts';

const tags = ['Connections'];

/** Sections 19.11 and 19.12 of the API. They show and choose what the account holds beyond the container. */
export function resourceRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/connections/:connectionId/resources',
    {
      schema: {
        operationId: 'listResources',
        summary: 'List what can be chosen at the source',
        description: 'One level at a time; parent_id looks into a resource.',
        tags,
        params: connectionParams,
        querystring: schemas.resourcesQuery,
        response: { 200: schemas.resourcesAnswer },
      },
    },
    async (request) => {
      const { page, per_page, parent_id } = request.query;
      const caller = callerOf(request);
      requireFullKey(caller);
      const { id } = await findConnection(services.connections, request.params.connectionId, caller);
      const query = { page: page || 1, perPage: per_page || 30, parent: parent_id || undefined };
      const { resources, total } = await services.connections.resources(id, query);
      return { resources: resources.map(resourceView), total_count: total ?? undefined };
    },
  );

  app.post(
    '/v3/connections/:connectionId/configure',
    {
      schema: {
        operationId: 'configureConnection',
        summary: 'Choose what is mirrored',
        description: 'Replaces the whole selection and starts a sync.',
        tags,
        params: connectionParams,
        querystring: schemas.configureQuery,
        body: schemas.configureBody,
        response: { 200: schemas.configureAnswer },
      },
    },
    async (request) => {
      const { resources } = request.body;
      const caller = callerOf(request);
      requireManagement(caller);
      const { id } = await findConnection(services.connections, request.params.connectionId, caller);
      const { deleteRemoved } = request.query;
      const { syncStarted, webhooksRegistered } = await services.connections.configure(id, resources, {
        ...(deleteRemoved && { deleteRemoved: deleteRemoved === 'true' }),
      });
      const what = `${resources.length} ${resources.length === 1 ? 'resource' : 'resources'} configured`;
      return {
        success: true,
        message: syncStarted ? `${what}, sync started` : what,
        webhooksRegistered: webhooksRegistered ?? undefined,
      };
    },
  );
}

/** Fields of the vendor come as the connector gives them, under the vendor's own names. */
function resourceView({ metadata, ...resource }: Resource & { selected: boolean }): Record<string, unknown> {
  return { ...resource, ...metadata };
}
