import { addInOrder } from '../../batch.ts';
import type { DocumentInput } from '../../../engine/document.ts';
import { firstOf } from '../../../base/collections.ts';
import { readScope, requireWrite, addedBy, type Caller } from '../../../account/access.ts';
import { MemorydError } from '../../../base/errors.ts';
import { callerOf, type Api, type RouteContext, findDocument, removeEach } from '../../request.ts';
import { addAnswer } from '../../schemas/documents.ts';
import { addedDocumentOf, documentChangeOf } from '../document-input.ts';
import * as schemas from '../schemas/documents.ts';
import { namespaceDocumentParams, namespaceParams } from '../schemas/shared.ts';
import { namespaceDocumentView } from '../views.ts';

const tags = ['Namespaces'];

export function namespaceDocumentRoutes(app: Api, context: RouteContext): void {
  getRoute(app, context);
  patchRoute(app, context);
  deleteRoute(app, context);
}

/** Follows the interface specification to the letter. */
function getRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/ns/:namespace/document/:id',
    {
      schema: {
        operationId: 'getNamespaceDocument',
        summary: 'Get a document of a namespace',
        description:
          'Canonical content, metadata and processing state, by document id or customId. `include` adds its chunks, its memories, or both.',
        tags,
        params: namespaceDocumentParams,
        querystring: schemas.namespaceDocumentQuery,
        response: { 200: schemas.namespaceDocumentAnswer },
      },
    },
    async (request) => {
      const { namespace, id } = request.params;
      const document = await findDocument(services, id, readScope(callerOf(request), [namespace]));
      const include = request.query.include ?? [];
      const [chunks, memories] = await Promise.all([
        include.includes('chunks') ? services.documents.chunks(document.id) : null,
        include.includes('memories') ? services.documents.memories(document.id) : null,
      ]);
      return namespaceDocumentView(document, { chunks, memories });
    },
  );
}

function patchRoute(app: Api, { services, config }: RouteContext): void {
  app.patch(
    '/ns/:namespace/document/:id',
    {
      schema: {
        operationId: 'updateNamespaceDocument',
        summary: 'Change a document of a namespace',
        description:
          'New content replaces the old, with all that was taken from it. Metadata is merged key by key; what is left out stays.',
        tags,
        params: namespaceDocumentParams,
        body: schemas.patchDocumentBody,
        response: { 200: addAnswer },
      },
    },
    async (request) => {
      const { namespace, id } = request.params;
      const { taskType: _task, dreaming: _dreaming, ...changes } = request.body;
      const caller = callerOf(request);
      requireWrite(caller, namespace);
      if (Object.keys(changes).length === 0) {
        throw new MemorydError('invalid_request', 'Give content, supportingContext, metadata, group or date');
      }
      const change = documentChangeOf(request.body, config.limits.maxTextBytes);
      const document = await findDocument(services, id, { containerTags: [namespace] });
      const after = await services.documents.change(document.id, { ...change, ...(change.body && addedBy(caller)) });
      return { id: after.id, status: after.status };
    },
  );
}

function deleteRoute(app: Api, { services }: RouteContext): void {
  app.delete(
    '/ns/:namespace/document',
    {
      config: { audit: 'document.delete' },
      schema: {
        operationId: 'deleteNamespaceDocuments',
        summary: 'Delete documents of a namespace',
        description: 'For good, each on its own, with their chunks and the memories that come from nothing else.',
        tags,
        params: namespaceParams,
        body: schemas.deleteDocumentsBody,
        response: { 200: schemas.deleteDocumentsAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      const caller = callerOf(request);
      requireWrite(caller, namespace);
      const { deleted, errors } = await removeEach(services, request.body.ids, caller, { containerTags: [namespace] });
      return { count: deleted, errors };
    },
  );
}

export function namespaceAddRoutes(app: Api, context: RouteContext): void {
  addRoute(app, context);
  batchRoute(app, context);
}

function addRoute(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/ns/:namespace/document',
    {
      config: { replay: 'without id' },
      schema: {
        operationId: 'addNamespaceDocument',
        summary: 'Add a document to a namespace, or more to one that is there',
        description:
          'Takes a text or one address. Answers at once; poll GET /ns/{namespace}/document/{id} until status is done.',
        tags,
        params: namespaceParams,
        querystring: schemas.processingQuery,
        body: schemas.addDocumentBody,
        response: { 200: addAnswer },
      },
    },
    async (request) => {
      const { namespace } = request.params;
      const caller = callerOf(request);
      requireWrite(caller, namespace);
      const input = addedDocumentOf({ ...request.query, ...request.body }, config.limits.maxTextBytes);
      const result = firstOf(await services.documents.add([{ ...input, containerTag: namespace, ...addedBy(caller) }]));
      return { id: result.id, status: result.status };
    },
  );
}

function batchRoute(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/ns/:namespace/document/batch',
    {
      config: { replay: 'without id' },
      bodyLimit: config.limits.maxBatchBodyBytes,
      schema: {
        operationId: 'addNamespaceDocuments',
        summary: 'Add many documents to a namespace',
        description:
          'Up to 600. One that cannot be taken fails alone; what does not match the schema is refused as a whole.',
        tags,
        params: namespaceParams,
        querystring: schemas.processingQuery,
        body: schemas.batchDocumentsBody,
        response: { 200: schemas.batchDocumentsAnswer },
      },
    },
    async (request): Promise<schemas.BatchDocumentsAnswer> => {
      const { namespace } = request.params;
      const caller = callerOf(request);
      requireWrite(caller, namespace);
      const { documents, ...processing } = { ...request.query, ...request.body };
      const read = documents.map((document) =>
        readOne({ ...processing, ...document }, { namespace, caller, maxTextBytes: config.limits.maxTextBytes }),
      );
      const inputs = read.flatMap((one) => ('input' in one ? [one.input] : []));
      const failures = read.flatMap((one) => ('failure' in one ? [one.failure] : []));
      const taken = await addInOrder(services.documents, inputs);
      return {
        results: [...taken.map(({ id, status }) => ({ id, status })), ...failures],
        count: taken.length,
        failed: failures.length,
      };
    },
  );
}

type Failure = BatchResult & { status: 'error' };
type BatchResult = schemas.BatchDocumentsAnswer['results'][number];

function readOne(
  document: Parameters<typeof addedDocumentOf>[0],
  { namespace, caller, maxTextBytes }: { namespace: string; caller: Caller; maxTextBytes: number },
): { input: DocumentInput } | { failure: Failure } {
  try {
    const input = addedDocumentOf(document, maxTextBytes);
    return { input: { ...input, containerTag: namespace, ...addedBy(caller) } };
  } catch (error) {
    if (!MemorydError.is(error)) throw error;
    const content = document.content.trim();
    return {
      failure: {
        id: document.id ?? '',
        status: 'error',
        error: error.issues?.[0]?.message ?? error.message,
        details: error.details,
        url: /^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(content) ? content : undefined,
      },
    };
  }
}
