import { firstOf, present } from '../../base/collections.ts';
import {
  readScope,
  requireManagement,
  requireSomeWrite,
  requireWrite,
  isLocal,
  type Caller,
} from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { ConnectionChange, MemorySettings, NewConnection } from '../../connections/connection-types.ts';
import type { JsonObject } from '../../connector/contract.ts';
import { readDigits } from '../body.ts';
import {
  callerOf,
  type Api,
  type RouteContext,
  findConnection,
  getConnection,
  isProvider,
  matchingConnections,
  requireInstalled,
  requireKnown,
  requestedTags,
  singleTag,
  type TagFields,
} from '../request.ts';
import * as schemas from '../schemas/connections.ts';
import { invalidField } from '../validation.ts';
import { connectionView, createView, providerDocumentView } from '../views.ts';

const tags = ['Connections'];

/** Section 19 of the API: connections themselves. */
export function connectionRoutes(app: Api, context: RouteContext): void {
  createRoute(app, context);
  readRoutes(app, context);
  lookupRoutes(app, context);
  patchRoute(app, context);
  pauseRoutes(app, context);
  checkRoute(app, context);
  previewRoute(app, context);
  scheduleRoute(app, context);
  deleteRoute(app, context);
}

function createRoute(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/connections/:connection',
    {
      config: { sensitive: true, replay: true, audit: 'connection.create' },
      schema: {
        operationId: 'createConnection',
        summary: 'Create a connection',
        description:
          'The path names the provider. Checks the configuration and the access, stores the connection and starts the first sync. Where the user has to consent at the source, the answer has the link to send the browser to, and the connection comes to be when it is back. With connectionId that connection is authorized again.',
        tags,
        params: schemas.connectionOrProviderParams,
        body: schemas.createBody,
        response: { 200: schemas.createAnswer },
      },
    },
    async (request) => {
      const { body, params } = request;
      const caller = callerOf(request);
      await requireKnown(services.connections, params.connection);
      requireManagement(caller);
      await requireInstalled(services.connections, params.connection);
      const tag = singleTag(body);
      if (body.connectionId !== undefined) await requireSameContainer(services, body.connectionId, caller, tag);
      const input = newConnection(params.connection, tag ?? config.defaultContainerTag, body);
      const created = await services.connections.create({ ...input, readsAnyPath: isLocal(caller) });
      request.auditTarget = created.id;
      return createView(created, body.redirectUrl);
    },
  );
}

async function requireSameContainer(
  { connections }: RouteContext['services'],
  connectionId: string,
  caller: Caller,
  tag: string | undefined,
): Promise<void> {
  const { containerTag } = await findConnection(connections, connectionId, caller);
  if (tag === undefined || tag === containerTag) return;
  throw new MemorydError('invalid_request', 'containerTag of a connection cannot be changed');
}

function newConnection(provider: string, containerTag: string, body: schemas.CreateConnectionBody): NewConnection {
  const { documentLimit, schedule, allowedHours, onSourceDelete, filters, paused, redirectUrl, connectionId } = body;
  return {
    ...{ provider, containerTag, documentLimit, schedule, allowedHours, onSourceDelete, ...memorySettingsOf(body) },
    ...{ paused, redirectUrl, connectionId },
    metadata: (body.metadata ?? {}) as NewConnection['metadata'],
    filters: filters as JsonObject | undefined,
  };
}

function memorySettingsOf({
  memories,
  trust,
  author,
  inProfile,
}: Pick<schemas.PatchBody, keyof MemorySettings>): Partial<MemorySettings> {
  return present({ memories, trust, author, inProfile });
}

function readRoutes(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/list',
    {
      schema: {
        operationId: 'listConnections',
        summary: 'List connections',
        description: 'Newest first; with limit page by page.',
        tags,
        body: schemas.listConnectionsBody,
        response: { 200: schemas.connectionsAnswer },
      },
    },
    async (request) => {
      const scope = readScope(callerOf(request), requestedTags(request.body));
      const { provider, limit, cursor, order = 'newest' } = request.body;
      if (limit === undefined && (cursor !== undefined || order !== 'newest'))
        throw invalidField(['limit'], 'limit goes with cursor and order');
      if (cursor !== undefined && order !== 'newest')
        throw invalidField(['cursor'], 'cursor goes with the order newest only');
      if (limit === undefined) return (await services.connections.list(scope, provider)).map(connectionView);
      const page = await services.connections.page(scope, { provider, order, before: cursor, limit });
      return page.map((one) => ({ ...connectionView(one), standing: one.standing }));
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
      connectionView(await getConnection(services.connections, request.params.connection, callerOf(request))),
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

  app.post(
    '/v3/connections/:provider/documents',
    {
      preValidation: readDigits('page', 'limit'),
      schema: {
        operationId: 'listProviderDocuments',
        summary: 'List the documents of a provider',
        description: 'Newest first.',
        tags,
        params: schemas.providerParams,
        body: schemas.providerDocumentsBody,
        response: { 200: schemas.providerDocumentsAnswer },
      },
    },
    async (request) => {
      const { provider } = request.params;
      const { page = 1, limit = 1000 } = request.body;
      await requireInstalled(services.connections, provider);
      const scope = readScope(callerOf(request), requestedTags(request.body));
      const query = { scope, sources: [provider], sort: 'createdAt', order: 'desc', page, limit } as const;
      return (await services.documents.list(query)).documents.map(providerDocumentView);
    },
  );
}

function patchRoute(app: Api, { services }: RouteContext): void {
  app.patch(
    '/v3/connections/:connection',
    {
      config: { sensitive: true, audit: 'connection.change' },
      schema: {
        operationId: 'changeConnection',
        summary: 'Change a connection',
        description:
          'Fields that are not named stay as they are. New settings of the connector, filters or a new limit start a sync that adds and removes what follows from them.',
        tags,
        params: schemas.connectionOrProviderParams,
        body: schemas.patchBody,
        response: { 200: schemas.connectionRef },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      requireManagement(caller);
      const { id } = await findConnection(services.connections, request.params.connection, caller);
      const change = { ...connectionChange(request.body), readsAnyPath: isLocal(caller) };
      return connectionView(await services.connections.change(id, change));
    },
  );
}

function connectionChange(body: schemas.PatchBody): ConnectionChange {
  const { paused, documentLimit, schedule, allowedHours, metadata, onSourceDelete, filters } = body;
  return {
    ...{ paused, documentLimit, schedule, allowedHours, onSourceDelete, ...memorySettingsOf(body) },
    metadata: metadata as JsonObject | undefined,
    filters: filters as JsonObject | undefined,
  };
}

const verbs = {
  pause: { paused: true, summary: 'Pause a connection', description: 'Its documents stay and can be found.' },
  resume: { paused: false, summary: 'Resume a paused connection', description: 'It is synced at once.' },
} as const;

function pauseRoutes(app: Api, { services }: RouteContext): void {
  for (const [verb, { paused, summary, description }] of Object.entries(verbs)) {
    app.post(
      `/v3/connections/:connectionId/${verb}`,
      {
        schema: {
          operationId: `${verb}Connection`,
          summary,
          description,
          tags,
          params: schemas.connectionParams,
          response: { 200: schemas.connectionRef },
        },
      },
      async (request) => {
        const caller = callerOf(request);
        requireManagement(caller);
        const { id } = await findConnection(services.connections, request.params.connectionId, caller);
        return connectionView(await services.connections.setPaused(id, paused));
      },
    );
  }
}

function checkRoute(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/check',
    {
      schema: {
        operationId: 'checkConnection',
        summary: 'Check whether a connection works',
        description: 'Asks the source now, and changes nothing.',
        tags,
        params: schemas.connectionParams,
        response: { 200: schemas.checkAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      requireSomeWrite(caller);
      const { id, containerTag } = await findConnection(services.connections, request.params.connectionId, caller);
      requireWrite(caller, containerTag);
      const checks = await services.connections.check(id);
      return { ok: checks.every(({ status }) => status !== 'failed'), checks };
    },
  );
}

function previewRoute(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/preview',
    {
      schema: {
        operationId: 'previewConnection',
        summary: 'Count what filters would take',
        description:
          'Asks the source for a listing and counts what of it these filters take, without filters those of the connection. Changes nothing. What the source has shown is kept for five minutes, so that filters can be tried out.',
        tags,
        params: schemas.connectionParams,
        body: schemas.previewBody,
        response: { 200: schemas.previewAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      requireManagement(caller);
      const { id } = await findConnection(services.connections, request.params.connectionId, caller);
      return services.connections.preview(id, request.body.filters as JsonObject | undefined);
    },
  );
}

const shownTimes = 5;

function scheduleRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/schedule-times',
    {
      schema: {
        operationId: 'getScheduleTimes',
        summary: 'Show when a schedule comes next',
        description: 'Connections with equal schedules are spread a little around these times.',
        tags,
        querystring: schemas.scheduleQuery,
        response: { 200: schemas.scheduleAnswer },
      },
    },
    async (request) => {
      return { next: services.connections.upcoming(request.query, shownTimes) };
    },
  );
}

function deleteRoute(app: Api, { services }: RouteContext): void {
  app.delete(
    '/v3/connections/:connection',
    {
      config: { audit: 'connection.delete' },
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
      const byProvider = await isProvider(services.connections, name);
      if (byProvider) requireTags(request.body);
      requireManagement(caller);
      const doomed = byProvider
        ? await matchingConnections(services.connections, name, { caller, tags: request.body })
        : [await findConnection(services.connections, name, caller)];
      const options = { deleteDocuments: request.query.deleteDocuments !== 'false' };
      for (const { id } of doomed) await services.connections.remove(id, options);
      const deleted = doomed.map(({ id, provider }) => ({ id, provider }));
      return { ...firstOf(deleted), deleted: byProvider ? deleted : undefined };
    },
  );
}

function requireTags(body: TagFields): void {
  if (requestedTags(body).length === 0) throw invalidField(['containerTags'], 'containerTags is required');
}
