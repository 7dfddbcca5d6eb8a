import { publicMetadata } from '../views/metadata.ts';
import { listedDocumentView } from '../views/documents.ts';
import type { Document } from '../../engine/document.ts';
import { readScope } from '../../account/access.ts';
import type { DocumentListQuery, MemoryEntry } from '../../engine/documents.ts';
import { readDigits } from '../body.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { paginationOf } from '../pagination.ts';
import {
  graphAnswer,
  graphBody,
  graphByIdsBody,
  type GraphDocument,
  type MemoryEntryAnswer,
} from '../schemas/graph.ts';
import { requestedTags } from '../tags.ts';

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

/** Section 12.13: documents with the memories that come from them. */
function graphView(
  documents: readonly (Document & { content: string | null })[],
  entries: readonly MemoryEntry[],
  organizationId: string,
): GraphDocument[] {
  const byDocument = Map.groupBy(entries, (entry) => entry.documentId);
  return documents.map((document) => ({
    ...listedDocumentView(document, false),
    memoryEntries: (byDocument.get(document.id) ?? []).map((entry) => entryView(entry, organizationId)),
  }));
}

function entryView(entry: MemoryEntry, organizationId: string): MemoryEntryAnswer {
  const { documentId: _, containerTag, ...fields } = entry;
  return {
    ...fields,
    spaceContainerTag: containerTag,
    orgId: organizationId,
    metadata: entry.metadata && publicMetadata(entry.metadata),
    saidAt: entry.saidAt?.toISOString() ?? null,
    forgetAfter: entry.forgetAfter?.toISOString() ?? null,
    createdAt: entry.createdAt.toISOString(),
    updatedAt: entry.updatedAt.toISOString(),
  };
}
