import { firstOf } from '../../../base/collections.ts';
import { requireWrite } from '../../../account/access.ts';
import { addedBy, type Caller } from '../../../account/caller.ts';
import { MemorydError } from '../../../base/errors.ts';
import type { DocumentInput } from '../../../engine/document.ts';
import { addInOrder } from '../../batch.ts';
import { callerOf, type Api, type RouteContext } from '../../context.ts';
import { addAnswer } from '../../schemas/documents.ts';
import { addedDocumentOf } from '../document-input.ts';
import * as schemas from '../schemas/documents.ts';
import { namespaceParams } from '../schemas/shared.ts';

const tags = ['Namespaces'];

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
        ...(error.details !== undefined && { details: error.details }),
        ...(/^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(content) && { url: content }),
      },
    };
  }
}
