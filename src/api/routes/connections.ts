import { readScope, requireManagement } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { NewConnection } from '../../connect/connections.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { findConnection, isInstalled, matchingConnections, requireInstalled } from '../connection-lookup.ts';
import * as schemas from '../schemas/connections.ts';
import { requestedTags, singleTag, type TagFields } from '../tags.ts';
import { invalidField } from '../validation.ts';
import { connectionView, connectorView } from '../views/connections.ts';

const tags = ['Connections'];

/** Section 19 of the API, without what concerns syncs. */
export function connectionRoutes(app: Api, context: RouteContext): void {
  createRoute(app, context);
  readRoutes(app, context);
  lookupRoutes(app, context);
  patchRoute(app, context);
  deleteRoute(app, context);
}

function createRoute(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/connections/:connection',
    {
      config: { sensitive: true, replay: true },
      schema: {
        operationId: 'createConnection',
        summary: 'Create a connection',
        description:
          'The path names the provider. Checks the configuration and the access, stores the connection and starts the first sync.',
        tags,
        params: schemas.connectionOrProviderParams,
        body: schemas.createBody,
        response: { 200: schemas.createAnswer },
      },
    },
    async (request) => {
      const { body, params } = request;
      await requireInstalled(services.connections, params.connection);
      if (body.connectionId !== undefined) {
        throw new MemorydError('unsupported_operation', 'A connection cannot be authorized again yet');
      }
      const containerTag = singleTag(body) ?? config.defaultContainerTag;
      requireManagement(callerOf(request));
      const connection = await services.connections.create(newConnection(params.connection, containerTag, body));
      return {
        id: connection.id,
        authLink: null,
        expiresIn: null,
        ...(body.redirectUrl !== undefined && { redirectsTo: body.redirectUrl }),
      };
    },
  );
}

function newConnection(provider: string, containerTag: string, body: schemas.CreateConnectionBody): NewConnection {
  const { documentLimit, schedule, onSourceDelete } = body;
  return {
    provider,
    containerTag,
    metadata: (body.metadata ?? {}) as NewConnection['metadata'],
    ...(documentLimit !== undefined && { documentLimit }),
    ...(typeof schedule === 'string' && { schedule }),
    ...(onSourceDelete !== undefined && { onSourceDelete }),
  };
}

function readRoutes(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/list',
    {
      schema: {
        operationId: 'listConnections',
        summary: 'List connections',
        description: 'Newest first.',
        tags,
        body: schemas.listConnectionsBody,
        response: { 200: schemas.connectionsAnswer },
      },
    },
    async (request) => {
      const scope = readScope(callerOf(request), requestedTags(request.body));
      const connections = await services.connections.list(scope, request.body.provider);
      return connections.map(connectionView);
    },
  );

  app.get(
    '/v3/connections/:connection',
    {
      schema: {
        operationId: 'getConnection',
        summary: 'Get a connection',
        tags,
        params: schemas.connectionOrProviderParams,
        response: { 200: schemas.connectionRef },
      },
    },
    async (request) =>
      connectionView(await findConnection(services.connections, request.params.connection, callerOf(request))),
  );
}

function lookupRoutes(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/:provider/connection',
    {
      schema: {
        operationId: 'getConnectionByTag',
        summary: 'Get the connection of a provider in a container',
        description: 'The newest one in any of the containers, of which at least one is named.',
        tags,
        params: schemas.providerParams,
        body: schemas.tagsBody,
        response: { 200: schemas.connectionRef },
      },
    },
    async (request) => {
      requireTags(request.body);
      const [newest] = await matchingConnections(services.connections, request.params.provider, {
        caller: callerOf(request),
        tags: request.body,
      });
      return connectionView(newest);
    },
  );

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
}

function patchRoute(app: Api, { services }: RouteContext): void {
  app.patch(
    '/v3/connections/:connection',
    {
      config: { sensitive: true },
      schema: {
        operationId: 'changeConnection',
        summary: 'Change a connection',
        description: 'Pauses or resumes it. Other fields cannot be changed yet.',
        tags,
        params: schemas.connectionOrProviderParams,
        body: schemas.patchBody,
        response: { 200: schemas.connectionRef },
      },
    },
    async (request) => {
      const { paused, ...others } = request.body;
      const caller = callerOf(request);
      requireManagement(caller);
      const connection = await findConnection(services.connections, request.params.connection, caller);
      const fixed = ['documentLimit', 'schedule', 'metadata', 'onSourceDelete'].find((name) => name in others);
      if (fixed) throw new MemorydError('unsupported_operation', `${fixed} of a connection cannot be changed yet`);
      if (paused === undefined) return connectionView(connection);
      return connectionView(await services.connections.setPaused(connection.id, paused));
    },
  );
}

function deleteRoute(app: Api, { services }: RouteContext): void {
  app.delete(
    '/v3/connections/:connection',
    {
      schema: {
        operationId: 'deleteConnection',
        summary: 'Delete a connection, or those of a provider',
        description:
          'By id; or by the name of a provider, with the containers in the body. Credentials are erased. Documents are deleted unless deleteDocuments is false.',
        tags,
        params: schemas.connectionOrProviderParams,
        querystring: schemas.deleteQuery,
        body: schemas.tagsBody,
        response: { 200: schemas.deleteAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const name = request.params.connection;
      const byProvider = await isInstalled(services.connections, name);
      if (byProvider) requireTags(request.body);
      requireManagement(caller);
      const doomed = byProvider
        ? await matchingConnections(services.connections, name, { caller, tags: request.body })
        : [await findConnection(services.connections, name, caller)];
      const options = { deleteDocuments: request.query.deleteDocuments !== 'false' };
      for (const { id } of doomed) await services.connections.remove(id, options);
      const deleted = doomed.map(({ id, provider }) => ({ id, provider }));
      return { ...deleted[0]!, ...(byProvider && { deleted }) };
    },
  );
}

function requireTags(body: TagFields): void {
  if (requestedTags(body).length === 0) throw invalidField(['containerTags'], 'containerTags is required');
}
