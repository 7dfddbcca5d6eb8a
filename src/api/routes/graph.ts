import Type from 'typebox';
import { publicMetadata, paginationOf, listedDocumentView } from '../views.ts';
import type { Document, DocumentListQuery, MemoryEntry } from '../../engine/document.ts';
import { readScope } from '../../account/access.ts';
import { readDigits } from '../body.ts';
import { callerOf, type Api, type RouteContext, requestedTags } from '../request.ts';
import { listedDocument } from '../schemas/documents.ts';
import {
  containerTag,
  containerTags,
  jsonObject,
  memoryKind,
  memoryOrigin,
  nullable,
  pagination,
  timestamp,
  words,
  type Answered,
} from '../schemas/shared.ts';

const graphBody = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: '1-based. Default 1.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Default 10.' })),
  sort: Type.Optional(words(['createdAt', 'updatedAt'])),
  order: Type.Optional(words(['desc', 'asc'])),
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
  sources: Type.Optional(Type.Array(Type.String())),
});

const graphByIdsBody = Type.Object({
  ids: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 100 }),
  by: Type.Optional(words(['id', 'customId'], { description: 'The kind of the ids. Default id.' })),
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(containerTags),
});

const memoryEntry = Type.Object({
  id: Type.String(),
  memory: Type.String(),
  kind: memoryKind,
  ...memoryOrigin,
  spaceId: Type.String({ description: 'Id of the container.' }),
  spaceContainerTag: Type.String(),
  orgId: Type.String(),
  version: Type.Integer(),
  isLatest: Type.Boolean(),
  isForgotten: Type.Boolean(),
  isStatic: Type.Boolean(),
  isInference: Type.Boolean(),
  forgetAfter: nullable(timestamp),
  forgetReason: nullable(Type.String()),
  parentMemoryId: nullable(Type.String()),
  rootMemoryId: nullable(Type.String()),
  memoryRelations: nullable(jsonObject, { description: 'By the id of the other memory.' }),
  sourceCount: Type.Integer(),
  metadata: nullable(jsonObject),
  createdAt: timestamp,
  updatedAt: timestamp,
});
type MemoryEntryAnswer = Answered<typeof memoryEntry>;

const graphDocument = Type.Object({ ...listedDocument.properties, memoryEntries: Type.Array(memoryEntry) });
type GraphDocument = Answered<typeof graphDocument>;

const graphAnswer = Type.Object({ documents: Type.Array(graphDocument), pagination });

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
      return answer({ scope, page, limit, sort, order, sources: sources && sources.length > 0 ? sources : undefined });
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

/** Section 12.13 of the API: documents with the memories that come from them. */
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
  };
}
