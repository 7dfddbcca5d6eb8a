import type { DocumentStatus } from '../../engine/document.ts';
import type { DocumentListQuery } from '../../engine/documents.ts';
import { readDigits } from '../body.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { parseFilters } from '../filters.ts';
import { paginationOf } from '../pagination.ts';
import * as schemas from '../schemas/documents.ts';
import { listedTags } from '../tags.ts';
import { listedDocumentView } from '../views/documents.ts';

const tags = ['Documents'];
const processingStatuses: DocumentStatus[] = ['queued', 'extracting', 'chunking', 'embedding', 'indexing'];

/** Sections 12.6 and 12.7 of the API. */
export function documentListRoutes(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/documents/list',
    {
      preValidation: readDigits('page', 'limit'),
      schema: {
        operationId: 'listDocuments',
        summary: 'List documents',
        description: 'One page of documents, newest first unless asked otherwise. The array is called memories.',
        tags,
        body: schemas.listBody,
        response: { 200: schemas.listAnswer },
      },
    },
    async (request) => {
      const query = {
        ...listQuery(request.body),
        ...listedTags(callerOf(request), request.body, config),
      };
      const { documents, total } = await services.documents.list(query);
      return {
        memories: documents.map((document) => listedDocumentView(document, query.includeContent ?? false)),
        pagination: paginationOf({ ...query, total }),
      };
    },
  );

  app.get(
    '/v3/documents/processing',
    {
      schema: {
        operationId: 'listProcessingDocuments',
        summary: 'List documents in processing',
        tags,
        querystring: schemas.processingQuery,
        response: { 200: schemas.processingAnswer },
      },
    },
    async (request) => {
      const { documents, total } = await services.documents.list({
        ...listedTags(callerOf(request), request.query, config),
        statuses: processingStatuses,
        sort: 'createdAt',
        order: 'desc',
        limit: 100,
        page: 1,
      });
      return { documents: documents.map((document) => listedDocumentView(document, false)), totalCount: total };
    },
  );
}

function listQuery(body: schemas.ListBody): Omit<DocumentListQuery, 'scope'> {
  const { filepath, q: text, connectionId, type, includeContent } = body;
  const filters = parseFilters(body.filters);
  const statuses = body.status === undefined ? undefined : ([body.status].flat() as DocumentStatus[]);
  const sources = [...(body.source === undefined ? [] : [body.source]), ...(body.sources ?? [])];
  return {
    sort: body.sort ?? 'createdAt',
    order: body.order ?? 'desc',
    limit: body.limit ?? 10,
    page: body.page ?? 1,
    ...(filters && { filters }),
    ...(statuses && { statuses }),
    ...(sources.length > 0 && { sources }),
    ...(filepath !== undefined && { filepath }),
    ...(text !== undefined && { text }),
    ...(connectionId !== undefined && { connectionId }),
    ...(type !== undefined && { type }),
    ...(includeContent !== undefined && { includeContent }),
  };
}
