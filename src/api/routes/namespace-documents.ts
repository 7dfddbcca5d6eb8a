import { readScope } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import * as schemas from '../schemas/namespace-documents.ts';
import { namespaceDocumentView } from '../views/documents.ts';

/** Section 13 of the API: what the interface specification says to the letter. */
export function namespaceDocumentRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/ns/:namespace/document/:id',
    {
      schema: {
        operationId: 'getNamespaceDocument',
        summary: 'Get a document of a namespace',
        description:
          'Canonical content, metadata and processing state, by document id or customId. `include` adds its chunks, its memories, or both.',
        tags: ['Namespaces'],
        params: schemas.namespaceDocumentParams,
        querystring: schemas.namespaceDocumentQuery,
        response: { 200: schemas.namespaceDocumentAnswer },
      },
    },
    async (request) => {
      const { namespace, id } = request.params;
      const scope = readScope(callerOf(request), [namespace]);
      const document = await services.documents.find(id, scope);
      if (!document) throw new MemorydError('not_found', 'Document not found');
      const include = request.query.include ?? [];
      const [chunks, memories] = await Promise.all([
        include.includes('chunks') ? services.documents.chunks(document.id) : null,
        include.includes('memories') ? services.documents.memories(document.id) : null,
      ]);
      return namespaceDocumentView(document, { chunks, memories });
    },
  );
}
