import { readScope, requireSomeWrite, requireWrite, addedBy, type Caller } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Scope } from '../../base/scope.ts';
import {
  callerOf,
  type Api,
  type RouteContext,
  findDocument,
  removeEach,
  containersOfWrite,
  requestedTags,
} from '../request.ts';
import { documentChangeOf } from '../document-input.ts';
import * as schemas from '../schemas/document-changes.ts';
import { addAnswer, documentParams } from '../schemas/documents.ts';

const tags = ['Documents'];

/** Sections 12.5, 12.9 and the second half of 12.12 of the API. */
export function changeDocumentRoutes(app: Api, context: RouteContext): void {
  changeRoute(app, context);
  bulkDeleteRoute(app, context);
  retryFailedRoute(app, context);
}

function changeRoute(app: Api, { services, config }: RouteContext): void {
  app.patch(
    '/v3/documents/:id',
    {
      schema: {
        operationId: 'updateDocument',
        summary: 'Change a document',
        description:
          'New content is processed again; all else holds at once. containerTag moves the document with what hangs on it.',
        tags,
        params: documentParams,
        body: schemas.changeBody,
        response: { 200: addAnswer },
      },
    },
    async (request) => {
      const { body } = request;
      const caller = callerOf(request);
      const change = documentChangeOf(body, config.limits.maxTextBytes);
      const moves = body.containerTag !== undefined || body.containerTags !== undefined;
      const target = moves ? containersOfWrite(caller, body, config) : {};
      requireSomeWrite(caller);
      const document = await findDocument(services, request.params.id, readScope(caller, []));
      requireWrite(caller, document.containerTag);
      const { id, status } = await services.documents.change(document.id, {
        ...change,
        ...target,
        ...(change.body && addedBy(caller)),
      });
      return { id, status };
    },
  );
}

function bulkDeleteRoute(app: Api, { services }: RouteContext): void {
  app.delete(
    '/v3/documents/bulk',
    {
      config: { audit: 'document.delete' },
      schema: {
        operationId: 'deleteDocuments',
        summary: 'Delete many documents',
        description:
          'Deletes documents with the ids, of the containers, and at the path. Beyond 10,000 the rest is invisible at once and deleted later.',
        tags,
        body: schemas.bulkDeleteBody,
        response: { 200: schemas.bulkDeleteAnswer },
      },
    },
    async (request): Promise<schemas.BulkDeleteAnswer> => {
      const { ids = [], filepath, containerTags } = request.body;
      const caller = callerOf(request);
      const named = requestedTags(request.body);
      if (ids.length === 0 && named.length === 0 && filepath === undefined) {
        throw new MemorydError('invalid_request', 'Provide ids, containerTag or filepath');
      }
      const scope = writableScope(caller, named);
      const { deleted, errors } = await removeEach(services, ids, caller, readScope(caller, []));
      let deletedCount = deleted;
      if (named.length > 0) deletedCount += await services.documents.removeSelected({ containerTags: named });
      if (filepath !== undefined) {
        deletedCount += await services.documents.removeSelected({ containerTags: scope.containerTags, filepath });
      }
      return {
        success: errors.length === 0 || errors.length < ids.length,
        deletedCount,
        errors: errors.length > 0 ? errors : undefined,
        containerTags,
      };
    },
  );
}

function retryFailedRoute(app: Api, { services }: RouteContext): void {
  app.post(
    '/v3/documents/retry-failed',
    {
      schema: {
        operationId: 'retryFailedDocuments',
        summary: 'Process all failed documents again',
        tags,
        body: schemas.retryFailedBody,
        response: { 200: schemas.retryFailedAnswer },
      },
    },
    async (request) => {
      const { connectionId } = request.body;
      const scope = writableScope(callerOf(request), requestedTags(request.body));
      return { requeued: await services.documents.retryFailed({ scope, connectionId }) };
    },
  );
}

/** The named containers, or all that the key may write in. */
function writableScope(caller: Caller, named: readonly string[]): Scope {
  const scope = readScope(caller, named);
  for (const tag of named) requireWrite(caller, tag);
  if (caller.kind === 'full' || caller.permission !== 'write') {
    if (caller.permission !== 'write') throw new MemorydError('forbidden', 'This key may only read');
    return scope;
  }
  const writable = caller.grants.filter((grant) => grant.permission === 'write').map((grant) => grant.containerTag);
  return { containerTags: (scope.containerTags ?? []).filter((tag) => writable.includes(tag)) };
}
