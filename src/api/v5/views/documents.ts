import type { Chunk, Document, DocumentContent, DocumentMemory } from '../../../engine/document.ts';
import { publicMetadata } from '../../views/shared.ts';
import type { NamespaceDocumentAnswer } from '../schemas/documents.ts';

export function systemOf({ createdAt, updatedAt }: { createdAt: Date; updatedAt: Date }) {
  return { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

/** Exactly the fields of the interface specification. */
export function namespaceDocumentView(
  document: Document & DocumentContent,
  parts: { chunks: Chunk[] | null; memories: DocumentMemory[] | null },
): NamespaceDocumentAnswer {
  const { id, title, type, summary, content, status } = document;
  return {
    id,
    title,
    type,
    summary,
    content,
    metadata: publicMetadata(document.metadata),
    system: { status, ...systemOf(document) },
    ...(parts.chunks && { chunks: parts.chunks.map(chunkView) }),
    ...(parts.memories && { memories: parts.memories.map(namespaceMemoryView) }),
  };
}

/** In a list. */
export function documentLineView(document: Document) {
  const { id, title, type, summary, url, status } = document;
  return {
    ...{ id, title, type, summary, metadata: publicMetadata(document.metadata), url },
    system: { status, ...systemOf(document) },
  };
}

export function chunkView({ id, position, content, type, metadata, createdAt }: Chunk) {
  const system = { createdAt: createdAt.toISOString() };
  return { id, position, content, type, metadata: publicMetadata(metadata), system };
}

function namespaceMemoryView(source: DocumentMemory) {
  const { id, memory, isStatic, isInference, isLatest, isForgotten, version } = source;
  return {
    id,
    memory,
    isStatic,
    isInference,
    isLatest,
    isForgotten,
    version,
    metadata: publicMetadata(source.metadata),
    system: systemOf(source),
  };
}
