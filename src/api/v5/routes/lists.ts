import { readScope } from '../../../account/access.ts';
import type { Scope } from '../../../base/scope.ts';
import { callerOf, type Api, type RouteContext } from '../../request.ts';
import type { Filter } from '../../filters.ts';
import { paginationOf } from '../../views.ts';
import { invalidField } from '../../validation.ts';
import { parseFilterTree } from '../filter-tree.ts';
import { listAnswer, listBody, listParams, listQuery, type ListAnswer } from '../schemas/lists.ts';
import { chunkView, documentLineView, memoryView } from '../views.ts';

interface Listing {
  scope: Scope;
  namespace: string;
  filters?: Filter;
  sort: 'createdAt' | 'updatedAt' | 'position';
  order: 'asc' | 'desc';
  page: number;
  limit: number;
  includeForgotten: boolean;
}

type Listed = Partial<Omit<ListAnswer, 'pagination'>> & { total: number };

export function namespaceListRoutes(app: Api, { services, clock }: RouteContext): void {
  app.post(
    '/ns/:namespace/list/:type',
    {
      schema: {
        operationId: 'listNamespace',
        summary: 'List the documents, chunks or memories of a namespace',
        description: 'Newest first unless asked otherwise. The arrays of the other types are empty.',
        tags: ['Namespaces'],
        params: listParams,
        querystring: listQuery,
        body: listBody,
        response: { 200: listAnswer },
      },
    },
    async (request) => {
      const { namespace, type } = request.params;
      const scope = readScope(callerOf(request), [namespace]);
      const { page = 1, limit = 10, sort = 'createdAt', order = 'desc' } = request.query;
      if (sort === 'position' && type !== 'chunks') {
        throw invalidField(['sort'], 'sort can be position for chunks alone');
      }
      const { filter, include } = request.body;
      const includeForgotten = include?.forgotten ?? false;
      const listing = { scope, namespace, page, limit, sort, order, includeForgotten, ...parseFilterTree(filter) };
      const { total, ...rows } = await listers[type](listing);
      return { documents: [], chunks: [], memories: [], ...rows, pagination: paginationOf({ page, limit, total }) };
    },
  );

  const listers: Record<'documents' | 'chunks' | 'memories', (listing: Listing) => Promise<Listed>> = {
    async documents(listing) {
      const { documents, total } = await services.documents.list({ ...listing, sort: ofTime(listing.sort) });
      return { documents: documents.map(documentLineView), total };
    },
    async chunks(listing) {
      // Chunks never change: the newer text of a document has others.
      const sort = listing.sort === 'position' ? 'position' : 'createdAt';
      const { chunks, total } = await services.documents.listChunks({ ...listing, sort });
      return { chunks: chunks.map((chunk) => ({ ...chunkView(chunk), documentId: chunk.documentId })), total };
    },
    async memories({ scope, namespace, sort, ...listing }) {
      const containerTags = scope.containerTags ?? [namespace];
      const { memories, total } = await services.memories.list({ ...listing, containerTags, sort: ofTime(sort) });
      const now = clock.now();
      return { memories: memories.map((memory) => memoryView(memory, now)), total };
    },
  };
}

function ofTime(sort: Listing['sort']): 'createdAt' | 'updatedAt' {
  return sort === 'updatedAt' ? sort : 'createdAt';
}
