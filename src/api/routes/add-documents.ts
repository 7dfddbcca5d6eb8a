import { firstOf } from '../../base/collections.ts';
import { addedBy } from '../../account/caller.ts';
import { addInOrder, batchResults, readBatch } from '../batch.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { documentInputOf } from '../document-input.ts';
import * as schemas from '../schemas/documents.ts';
import { containersOfWrite } from '../tags.ts';

const tags = ['Documents'];

/** Sections 12.1 and 12.2 of the API. */
export function addDocumentRoutes(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/documents',
    {
      config: { replay: true },
      schema: {
        operationId: 'addDocument',
        summary: 'Add a document',
        description:
          'Ingests text, a URL or structured content as a string. Answers at once; poll GET /v3/documents/{id} until status is done. A customId that exists replaces that document.',
        tags,
        body: schemas.addBody,
        response: { 200: schemas.addAnswer },
      },
    },
    async (request) => {
      const input = documentInputOf(request.body, config.limits.maxTextBytes);
      const caller = callerOf(request);
      const containers = containersOfWrite(caller, request.body, config);
      const result = firstOf(await services.documents.add([{ ...input, ...containers, ...addedBy(caller) }]));
      return { id: result.id, status: result.status };
    },
  );

  app.post(
    '/v3/documents/batch',
    {
      config: { replay: true },
      bodyLimit: config.limits.maxBatchBodyBytes,
      schema: {
        operationId: 'addDocuments',
        summary: 'Add many documents',
        description:
          'Up to 600 documents. The other fields are defaults for all of them. A bad item fails alone; the answer is 200 even when every item failed.',
        tags,
        body: schemas.batchBody,
        response: { 200: schemas.batchAnswer },
      },
    },
    async (request) => {
      const items = readBatch(request.body, callerOf(request), config);
      const inputs = items.flatMap((item) => ('input' in item ? [item.input] : []));
      const results = batchResults(items, await addInOrder(services.documents, inputs));
      const failed = results.filter((result) => result.status === 'error').length;
      return { results, success: results.length - failed, failed };
    },
  );
}
