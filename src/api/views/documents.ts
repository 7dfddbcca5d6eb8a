import type { Chunk, Document, DocumentContent, DocumentMemory } from '../../engine/document.ts';
import type { DocumentAnswer, ListedDocument } from '../schemas/documents.ts';
import { publicMetadata } from './shared.ts';

/** Section 10.3 of the API. */
export function documentView(document: Document & DocumentContent, memories: DocumentMemory[]): DocumentAnswer {
  const { containerTag: _tag, revision: _revision, ...fields } = document;
  return {
    ...fields,
    metadata: publicMetadata(document.metadata),
    spatialPoint: null,
    documentDate: document.documentDate?.toISOString() ?? null,
    createdAt: document.createdAt.toISOString(),
    updatedAt: document.updatedAt.toISOString(),
    error: document.error && { ...document.error, nextRetryAt: document.error.nextRetryAt?.toISOString() ?? null },
    ...(memories.length === 0 ? {} : { memories: memories.map(memoryView) }),
  };
}

function memoryView(memory: DocumentMemory) {
  return {
    ...memory,
    saidAt: memory.saidAt?.toISOString() ?? null,
    metadata: publicMetadata(memory.metadata),
    createdAt: memory.createdAt.toISOString(),
    updatedAt: memory.updatedAt.toISOString(),
  };
}

/** Section 12.6 of the API. `content` is left out unless asked for. */
export function listedDocumentView(
  document: Document & { content: string | null; size?: number | null },
  includeContent: boolean,
): ListedDocument {
  const { id, customId, connectionId, title, summary, type, status, url, filepath } = document;
  return {
    id,
    customId,
    connectionId,
    title,
    summary,
    type,
    status,
    url,
    filepath,
    metadata: publicMetadata(document.metadata),
    containerTags: listedTags(document.containerTags),
    createdAt: document.createdAt.toISOString(),
    updatedAt: document.updatedAt.toISOString(),
    ...(document.size === undefined ? {} : { size: document.size }),
    ...(includeContent ? { content: document.content ?? '' } : {}),
  };
}

/**
 * Of several tags, which only the switch `plural-tags` allows, lists leave out those of projects: the
 * callers that write them (`@supermemory/tools/claude-memory`) take a document for theirs by exactly the rest.
 */
function listedTags(tags: string[]): string[] {
  const rest = tags.filter((tag) => !tag.startsWith('sm_project_'));
  return tags.length > 1 && rest.length > 0 ? rest : tags;
}

/** Section 12.10 of the API. */
export function chunksView(documentId: string, chunks: Chunk[]) {
  return {
    documentId,
    chunks: chunks.map((chunk) => ({
      ...chunk,
      metadata: publicMetadata(chunk.metadata),
      createdAt: chunk.createdAt.toISOString(),
    })),
    total: chunks.length,
  };
}
