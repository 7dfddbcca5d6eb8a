import { type Memory, isForgotten } from '../../../memory/memories.ts';
import type { FoundMemory, RelatedMemory, SourceDocument } from '../../../memory/find-memory.ts';
import { publicMetadata } from '../../views/shared.ts';
import { systemOf } from './documents.ts';
import { documentOfMemoryView } from './search.ts';

/** Follows the interface specification; an expired memory counts as forgotten. */
export function memoryView(source: Memory, now: Date) {
  const { id, memory, metadata, temporalContext, isStatic, isInference, isLatest, version } = source;
  return {
    ...{ id, memory, isStatic, isInference, isLatest, version },
    isForgotten: isForgotten(source, now),
    metadata: publicMetadata({ ...metadata, ...(temporalContext && { temporalContext }) }),
    system: systemOf(source),
  };
}

export function includedView(
  { memory, related, documents }: FoundMemory,
  include: { related: boolean; documents: boolean },
) {
  const sources = include.documents ? documents : new Map<string, SourceDocument>();
  const listed = (wanted: RelatedMemory['list']) =>
    related.filter(({ list }) => list === wanted).map((one) => relatedView(one, sources.get(one.id)));
  const document = sources.get(memory.id);
  return {
    ...(include.related && {
      related: { parents: listed('parents'), children: listed('children'), siblings: listed('related') },
    }),
    ...(document && { document: documentOfMemoryView(document) }),
  };
}

function relatedView(
  { id, list, relation, memory, metadata, updatedAt, distance }: RelatedMemory,
  document: SourceDocument | undefined,
) {
  return {
    ...{ id, relation, memory, metadata: publicMetadata(metadata ?? {}) },
    ...(list !== 'related' && { version: list === 'parents' ? -distance : distance }),
    system: { updatedAt: updatedAt.toISOString() },
    ...(document && { document: documentOfMemoryView(document) }),
  };
}
