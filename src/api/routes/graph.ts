import { readScope } from '../../account/access.ts';
import type { DocumentListQuery } from '../../engine/documents.ts';
import { readDigits } from '../body.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { paginationOf } from '../pagination.ts';
import { graphAnswer, graphBody, graphByIdsBody } from '../schemas/graph.ts';
import { requestedTags } from '../tags.ts';
import { graphView } from '../views/graph.ts';

const tags = ['Documents'];

/** Section 12.13 of the API. */
export function graphRoutes(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/documents/documents',
    {
      preValidation: readDigits('page', 'limit'),
      schema: {
        operationId: 'listDocumentsWithMemories',
        summary: 'List documents with their memories',
        description: 'Data for drawing a graph of documents and memories.',
        tags,
        body: graphBody,
        response: { 200: graphAnswer },
      },
    },
    async (request) => {
      const { page = 1, limit = 10, sort = 'createdAt', order = 'desc', sources } = request.body;
      const scope = readScope(callerOf(request), requestedTags(request.body));
      return answer({ scope, page, limit, sort, order, ...(sources && sources.length > 0 && { sources }) });
    },
  );

  app.post(
    '/v3/documents/documents/by-ids',
    {
      schema: {
        operationId: 'getDocumentsWithMemories',
        summary: 'Get documents with their memories',
        description: 'Ids that are not there are left out.',
        tags,
        body: graphByIdsBody,
        response: { 200: graphAnswer },
      },
    },
    async (request) => {
      const { ids, by = 'id' } = request.body;
      const scope = readScope(callerOf(request), requestedTags(request.body));
      const wanted = by === 'id' ? { ids } : { customIds: ids };
      // One customId may stand in several containers.
      return answer({ scope, page: 1, limit: 1_000, sort: 'createdAt', order: 'desc', ...wanted });
    },
  );

  async function answer(query: DocumentListQuery) {
    const { documents, total } = await services.documents.list(query);
    const entries = await services.documents.memoryEntries(documents.map((document) => document.id));
    return {
      documents: graphView(documents, entries, config.organization.id),
      pagination: paginationOf({ ...query, total }),
    };
  }
}
