import type { ContextEntry, MemoryContext, ResultDocument, SearchResult } from '../../../search/search.ts';
import { publicMetadata } from '../../views/shared.ts';
import type { SearchResultAnswer } from '../schemas/search.ts';
import { systemOf } from './documents.ts';

export interface Included {
  documents: boolean;
  related: boolean;
}

/** The id of a result made for this request alone, so that nobody takes it for a memory that can be forgotten. */
export const aggregatedPrefix = 'aggregated_';

export function searchResultView(result: SearchResult, include: Included): SearchResultAnswer {
  const { id, kind, text, metadata, similarity, isAggregated, isLatest, isForgotten, isInference } = result;
  return {
    id: isAggregated ? `${aggregatedPrefix}${id}` : id,
    ...(kind === 'memory' ? { memory: text } : { chunk: text }),
    metadata: publicMetadata(metadata ?? {}),
    similarity,
    isLatest: isLatest && !isForgotten,
    isInference,
    system: systemOf(result),
    ...((include.documents || include.related) && { included: includedView(result, include) }),
  };
}

function includedView({ documents: [document], context }: SearchResult, { documents, related }: Included) {
  return {
    ...(related && context && { related: relatedView(context) }),
    ...(documents && document && { document: documentOfMemoryView(document) }),
  };
}

function relatedView({ parents, children, related }: MemoryContext) {
  const entries = (list: (ContextEntry & { version?: number })[]) => list.map(entryView);
  return { parents: entries(parents), children: entries(children), siblings: entries(related) };
}

function entryView({ id, relation, version, memory, metadata, updatedAt }: ContextEntry & { version?: number }) {
  return {
    ...{ id, relation, memory, metadata: publicMetadata(metadata ?? {}) },
    version,
    system: { updatedAt: updatedAt.toISOString() },
  };
}

type ShownDocument = Pick<ResultDocument, 'id' | 'title' | 'type' | 'summary' | 'createdAt' | 'updatedAt'> & {
  metadata: Record<string, unknown>;
};

export function documentOfMemoryView(document: ShownDocument) {
  const { id, title, type, metadata, summary } = document;
  return { ...{ id, title, type, metadata: publicMetadata(metadata), summary }, system: systemOf(document) };
}
