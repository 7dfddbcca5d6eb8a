import type { Database } from '../store/database.ts';
import type { MemoryRow } from '../store/memories.ts';
import { findMemoryById } from '../store/memory-lists.ts';
import { newestSources, type SourceDocument } from '../store/memory-sources.ts';
import { relatedMemories, type RelatedMemoryRow } from '../store/search/related-memories.ts';

export type { RelatedMemoryRow as RelatedMemory, SourceDocument };

export interface FoundMemory {
  memory: MemoryRow;
  /** Earlier and later versions, at most three steps away, and what extends it or was derived; nearest first. */
  related: RelatedMemoryRow[];
  /** By memory, of all of these: the source that changed last. */
  documents: ReadonlyMap<string, SourceDocument>;
}

const mostSteps = 3;

export async function findMemory(
  database: Database,
  wanted: { containerTag: string; id: string; relatedLimit: number; now: Date },
): Promise<FoundMemory | null> {
  const { containerTag, id, relatedLimit, now } = wanted;
  const memory = await findMemoryById(database, containerTag, id);
  if (!memory) return null;
  const beside = { ids: [id], containerTags: [containerTag], now, limit: relatedLimit };
  const related = (relatedLimit === 0 ? [] : await relatedMemories(database, beside)).filter(
    ({ list, distance }) => list === 'related' || distance <= mostSteps,
  );
  const documents = await newestSources(database, [id, ...related.map((one) => one.id)]);
  return { memory, related, documents: new Map(documents.map((one) => [one.memoryId, one])) };
}
