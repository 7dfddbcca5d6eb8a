import type { ListedMemory, Memory } from '../../memory/memories.ts';
import type { CitedMemory, Profile, ProfileLine } from '../../memory/profiles.ts';
import type { CitedMemoryAnswer, MemoryEntryAnswer } from '../schemas/memories.ts';
import { publicMetadata } from './shared.ts';

/** Section 16 of the API; what a write of a memory answers. */
export function writtenMemoryView({ id, memory, createdAt, forgetAfter, forgetReason, ...source }: Memory) {
  return {
    id,
    memory,
    createdAt: createdAt.toISOString(),
    forgetAfter: forgetAfter?.toISOString() ?? null,
    forgetReason,
    metadata: metadataView(source),
  };
}

/** The caller's metadata with the dates (section 10.4 rule 6 of the API). */
function metadataView({ metadata, temporalContext }: Pick<Memory, 'metadata' | 'temporalContext'>) {
  if (metadata === null && temporalContext === null) return null;
  return { ...publicMetadata(metadata ?? {}), ...(temporalContext && { temporalContext }) };
}

/** Section 15 of the API. */
export function profileView({ facts, buckets, ...lists }: Profile) {
  const profile = {
    ...textsOf(lists),
    ...(buckets && { buckets: textsOf(buckets) }),
  };
  return { profile, facts: facts.map(citedMemoryView) };
}

/** The lines of sections as texts alone. */
function textsOf<Name extends string>(sections: Partial<Record<Name, ProfileLine[]>>): Record<Name, string[]> {
  const entries = Object.entries<ProfileLine[] | undefined>(sections);
  return Object.fromEntries(entries.map(([name, lines = []]) => [name, lines.map(({ memory }) => memory)])) as never;
}

function citedMemoryView(cited: CitedMemory): CitedMemoryAnswer {
  const { id, memory, version, isInference, createdAt, updatedAt } = cited;
  return {
    ...{ id, memory, version, isInference, ...provenanceView(cited) },
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

function provenanceView({ kind, category, author, trust, saidAt, sources }: CitedMemory) {
  return {
    ...{ kind, category, author, trust },
    saidAt: saidAt?.toISOString() ?? null,
    sources: sources.map((source) => ({ ...source, date: new Date(source.date).toISOString() })),
  };
}

export function memoryEntryView(entry: ListedMemory, orgId: string): MemoryEntryAnswer {
  const { id, memory, version, isLatest, isForgotten, isStatic, isInference, parentMemoryId, rootMemoryId } = entry;
  const { spaceId, sourceCount, forgetReason, memoryRelations, temporalContext, documentIds } = entry;
  return {
    ...{ id, memory, version, isLatest, isForgotten, isStatic, isInference, parentMemoryId, rootMemoryId },
    ...{ orgId, spaceId, sourceCount, forgetReason, memoryRelations, temporalContext, documentIds },
    ...provenanceView(entry),
    createdAt: entry.createdAt.toISOString(),
    updatedAt: entry.updatedAt.toISOString(),
    forgetAfter: entry.forgetAfter?.toISOString() ?? null,
    metadata: entry.metadata && publicMetadata(entry.metadata),
    history: entry.history.map((earlier) => ({
      ...earlier,
      createdAt: new Date(earlier.createdAt).toISOString(),
      updatedAt: new Date(earlier.updatedAt).toISOString(),
    })),
  };
}
