import Type from 'typebox';
import { requireFullKey, requireManagement } from '../../account/access.ts';
import type { Resource } from '../../connector/contract.ts';
import { findConnection } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { connectionParams } from '../schemas/connections.ts';

/** Sections 19.11 and 19.12 of the API. Names with underscores are those of the published interface. */

const zeroIsDefault = 'Default and 0:';

const resourcesQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000, description: `1-based. ${zeroIsDefault} 1.` })),
  per_page: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: `${zeroIsDefault} 30.` })),
  parent_id: Type.Optional(Type.String({ maxLength: 2000, description: 'Look into this resource.' })),
});

const resource = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  required: ['id'],
  properties: {
    id: { type: ['string', 'number'] },
    name: { type: 'string' },
    kind: { type: 'string' },
    hasChildren: { type: 'boolean' },
    selectable: { type: 'boolean' },
    selected: { type: 'boolean' },
  },
});

const resourcesAnswer = Type.Object({
  resources: Type.Array(resource),
  total_count: Type.Optional(Type.Integer({ description: 'Absent when the source does not tell.' })),
});

const chosen = Type.Unsafe<{ id: string | number } & Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  required: ['id'],
  properties: {
    id: {
      anyOf: [{ type: 'string', minLength: 1, maxLength: 2000 }, { type: 'integer' }],
      'x-expected': 'the id of a resource',
    },
    name: { type: 'string', maxLength: 2000 },
    kind: { type: 'string', maxLength: 2000 },
  },
});

/** What was chosen at the source, as it was sent. */
export const selectedResource = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  required: ['id'],
  properties: { id: { type: ['string', 'number'] }, name: { type: 'string' }, kind: { type: 'string' } },
});

const configureBody = Type.Object({
  resources: Type.Array(chosen, { maxItems: 10_000, description: 'The complete new selection. Empty: everything.' }),
});

const configureQuery = Type.Object({
  deleteRemoved: Type.Optional(
    Type.Unsafe<'true' | 'false'>({
      type: 'string',
      enum: ['true', 'false'],
      description:
        'Whether the documents of what is no longer selected are deleted. Default: unless the connection keeps what its source deletes (`onSourceDelete`).',
    }),
  ),
});

const configureAnswer = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  webhooksRegistered: Type.Optional(Type.Integer()),
});

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
        querystring: resourcesQuery,
        response: { 200: resourcesAnswer },
      },
    },
    async (request) => {
      const { page, per_page, parent_id } = request.query;
      const caller = callerOf(request);
      requireFullKey(caller);
      const { id } = await findConnection(services.connections, request.params.connectionId, caller);
      const query = { page: page || 1, perPage: per_page || 30, ...(parent_id && { parent: parent_id }) };
      const { resources, total } = await services.connections.resources(id, query);
      return { resources: resources.map(resourceView), ...(total !== null && { total_count: total }) };
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
        querystring: configureQuery,
        body: configureBody,
        response: { 200: configureAnswer },
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
        ...(webhooksRegistered !== null && { webhooksRegistered }),
      };
    },
  );
}

/** Fields of the vendor come as the connector gives them, under the vendor's own names. */
function resourceView({ metadata, ...resource }: Resource & { selected: boolean }): Record<string, unknown> {
  return { ...resource, ...metadata };
}
