import Type from 'typebox';
import { readScope, requireSomeWrite, requireWrite } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { findDocument } from '../find-document.ts';
import * as schemas from '../schemas/documents.ts';
import { chunksView, documentView } from '../views/documents.ts';

const tags = ['Documents'];

/** Operations on one document: sections 12.4, 12.8, 12.10 and 12.12 of the API. */
export function documentRoutes(app: Api, context: RouteContext): void {
  readRoutes(app, context);
  changeRoutes(app, context);
}

function readRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/documents/:id',
    {
      schema: {
        operationId: 'getDocument',
        summary: 'Get a document',
        description: 'By id or customId; an id match wins. A customId that stands in several containers is 409.',
        tags,
        params: schemas.documentParams,
        response: { 200: schemas.documentAnswer },
      },
    },
    async (request) => {
      const document = await findDocument(services, request.params.id, readScope(callerOf(request), []));
      const memories = document.hasMemories ? await services.documents.memories(document.id) : [];
      return documentView(document, memories);
    },
  );

  app.delete(
    '/v3/documents/:id',
    {
      config: { audit: 'document.delete' },
      schema: {
        operationId: 'deleteDocument',
        summary: 'Delete a document',
        description: 'For good, with its chunks and the memories that come from nothing else.',
        tags,
        params: schemas.documentParams,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      requireSomeWrite(caller);
      const document = await findDocument(services, request.params.id, readScope(caller, []));
      requireWrite(caller, document.containerTag);
      if ((await services.documents.remove([document.id])) === 0) {
        throw new MemorydError('not_found', 'Document not found');
      }
      return reply.code(204).send(null);
    },
  );
}

function changeRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/documents/:id/chunks',
    {
      schema: {
        operationId: 'listChunks',
        summary: 'List the chunks of a document',
        tags,
        params: schemas.documentParams,
        response: { 200: schemas.chunksAnswer },
      },
    },
    async (request) => {
      const document = await findDocument(services, request.params.id, readScope(callerOf(request), []));
      return chunksView(document.id, await services.documents.chunks(document.id));
    },
  );

  app.post(
    '/v3/documents/:id/retry',
    {
      schema: {
        operationId: 'retryDocument',
        summary: 'Process a failed document again',
        tags,
        params: schemas.documentParams,
        response: { 200: schemas.addAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      requireSomeWrite(caller);
      const document = await findDocument(services, request.params.id, readScope(caller, []));
      requireWrite(caller, document.containerTag);
      const { id, status } = await services.documents.retry(document.id);
      return { id, status };
    },
  );
}
