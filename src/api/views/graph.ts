import type { Document } from '../../engine/document.ts';
import type { MemoryEntry } from '../../engine/documents.ts';
import type { GraphDocument, MemoryEntryAnswer } from '../schemas/graph.ts';
import { listedDocumentView } from './documents.ts';
import { publicMetadata } from './metadata.ts';

/** Section 12.13: documents with the memories that come from them. */
export function graphView(
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
