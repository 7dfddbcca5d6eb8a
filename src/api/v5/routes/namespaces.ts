import Type from 'typebox';
import { pageFields } from '../schemas/lists.ts';
import { containerTag, nullable, pagination, words } from '../../schemas/shared.ts';
import { readScope, requireWrite } from '../../../account/access.ts';
import type { ContainerTagSummary } from '../../../account/container-tags.ts';
import { MemorydError } from '../../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../../request.ts';
import { paginationOf } from '../../views.ts';
import { invalidField } from '../../validation.ts';
import { closedBody, namespaceParams, times } from '../schemas/shared.ts';
import { systemOf } from '../views.ts';

const namespacesQuery = Type.Object(pageFields);

const namespacesAnswer = Type.Object({
  namespaces: Type.Array(
    Type.Object({
      id: Type.String(),
      namespace: Type.String(),
      documentCount: Type.Integer(),
      memoryCount: Type.Integer({ description: 'Memories that can be recalled.' }),
      description: nullable(Type.String()),
      system: Type.Object(times),
    }),
  ),
  pagination,
});

const context = Type.String({
  minLength: 1,
  maxLength: 1_500,
  description: 'Guides what is taken from the documents of the namespace.',
});

const namespaceAnswer = Type.Object({
  namespace: Type.String(),
  supportingContext: nullable(Type.String()),
  system: Type.Object(times),
});

const namespaceBody = closedBody({ supportingContext: nullable(context) });

const moveQuery = Type.Object({
  moveTo: Type.Optional(
    Type.Unsafe<string>({ ...containerTag, description: 'The namespace that everything moves to instead of going.' }),
  ),
});

const deletedAnswer = Type.Object(
  {
    status: words(['deleted']),
    namespace: Type.String(),
    deletedDocumentsCount: Type.Integer(),
    deletedMemoriesCount: Type.Integer(),
  },
  { description: 'Everything in it is gone.' },
);

const movedAnswer = Type.Object(
  {
    status: words(['queued']),
    operationId: Type.String({ description: 'GET /v3/container-tags/merge/{mergeId} says how far it is.' }),
    namespace: Type.String(),
    moveTo: Type.String(),
  },
  { description: 'It moves, and is gone afterwards.' },
);

const tags = ['Namespaces'];

export function ownNamespaceRoutes(app: Api, context: RouteContext): void {
  listRoutes(app, context);
  settingsRoutes(app, context);
  deleteRoute(app, context);
}

function listRoutes(app: Api, { services }: RouteContext): void {
  for (const [path, operationId] of Object.entries({ '/namespaces': 'listNamespaces', '/ns': 'listNamespacesAlias' })) {
    app.get(
      path,
      {
        schema: {
          operationId,
          summary: 'List namespaces',
          description: 'All namespaces that the key may read, newest first.',
          tags,
          querystring: namespacesQuery,
          response: { 200: namespacesAnswer },
        },
      },
      async (request) => {
        const { page = 1, limit = 10 } = request.query;
        const { containers, total } = await services.containerTags.page(readScope(callerOf(request), []), {
          page,
          limit,
        });
        return { namespaces: containers.map(namespaceLine), pagination: paginationOf({ page, limit, total }) };
      },
    );
  }
}

function namespaceLine(summary: ContainerTagSummary) {
  const { id, containerTag, documentCount, memoryCount, description } = summary;
  return { ...{ id, namespace: containerTag, documentCount, memoryCount, description }, system: systemOf(summary) };
}

function settingsRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/ns/:namespace',
    {
      schema: {
        operationId: 'getNamespace',
        summary: 'Get a namespace',
        tags,
        params: namespaceParams,
        response: { 200: namespaceAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      readScope(callerOf(request), [namespace]);
      const container = await services.containerTags.find(namespace);
      if (!container) throw namespaceNotFound();
      return { namespace, supportingContext: container.entityContext, system: systemOf(container) };
    },
  );

  app.patch(
    '/ns/:namespace',
    {
      config: { audit: 'container.change' },
      schema: {
        operationId: 'updateNamespace',
        summary: 'Change what is said of a namespace',
        description: 'null takes it away. Holds for what is added afterwards.',
        tags,
        params: namespaceParams,
        body: namespaceBody,
        response: { 200: namespaceAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      requireWrite(callerOf(request), namespace);
      const change = { entityContext: request.body.supportingContext };
      const container = await services.containerTags.change(namespace, change, { makes: false });
      return { namespace, supportingContext: container.entityContext, system: systemOf(container) };
    },
  );
}

function deleteRoute(app: Api, { services }: RouteContext): void {
  app.delete(
    '/ns/:namespace',
    {
      config: { audit: 'container.delete' },
      schema: {
        operationId: 'deleteNamespace',
        summary: 'Delete a namespace with everything in it, or move that into another one',
        description:
          'With moveTo nothing is lost: where both have an id, the one that moves goes on with _merge at its end.',
        tags,
        params: namespaceParams,
        querystring: moveQuery,
        response: { 200: deletedAnswer, 202: movedAnswer },
      },
    },
    async (request, reply) => {
      const { namespace } = request.params;
      const { moveTo } = request.query;
      const caller = callerOf(request);
      requireWrite(caller, namespace);
      requireNoBody(request.body);
      if (moveTo === undefined) {
        const removed = await services.containerTags.remove(namespace);
        if (!removed) throw namespaceNotFound();
        const { documents: deletedDocumentsCount, memories: deletedMemoriesCount } = removed;
        return { status: 'deleted' as const, namespace, deletedDocumentsCount, deletedMemoriesCount };
      }
      if (moveTo === namespace) throw invalidField(['moveTo'], 'moveTo must be another namespace');
      requireWrite(caller, moveTo);
      const options = { makesTarget: true, renamesIds: true };
      const { id: operationId } = await services.merges.start([namespace], moveTo, options);
      return reply.code(202).send({ status: 'queued', operationId, namespace, moveTo });
    },
  );
}

/** Refuses `moveTo` there: its sender does not want everything deleted. */
function requireNoBody(body: unknown): void {
  if (typeof body !== 'object' || body === null || Object.keys(body).length === 0) return;
  throw new MemorydError('invalid_request', 'This operation takes no body; moveTo belongs into the query');
}

function namespaceNotFound(): MemorydError {
  return new MemorydError('not_found', 'Namespace not found');
}
