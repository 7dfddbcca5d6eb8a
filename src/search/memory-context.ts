import type { Database } from '../store/database.ts';
import type { Filter } from '../store/filters.ts';
import type { Scope } from '../base/scope.ts';
import { relatedMemories, type RelatedMemoryRow } from '../store/search/related-memories.ts';
import type { MemoryContext, SearchResult } from './search.ts';

/** Entries of each list. */
const maxRelated = 10;

/** Gives each memory among the results what stands beside it. */
export async function withRelated(
  results: readonly SearchResult[],
  { database, scope, ...narrowed }: { database: Database; scope: Scope; filters?: Filter; now: Date },
): Promise<SearchResult[]> {
  const ids = results.filter(({ kind }) => kind === 'memory').map(({ id }) => id);
  const rows = await relatedMemories(database, {
    ids,
    containerTags: scope.containerTags,
    ...narrowed,
    limit: maxRelated,
  });
  const byFound = Map.groupBy(rows, ({ foundId }) => foundId);
  return results.map((result) =>
    result.kind === 'memory' ? { ...result, context: contextOf(byFound.get(result.id) ?? []) } : result,
  );
}

function contextOf(rows: readonly RelatedMemoryRow[]): MemoryContext {
  const entriesOf = (wanted: RelatedMemoryRow['list']) => rows.filter(({ list }) => list === wanted);
  return {
    parents: entriesOf('parents').map((row) => ({ ...entryOf(row), version: -row.distance })),
    children: entriesOf('children').map((row) => ({ ...entryOf(row), version: row.distance })),
    related: entriesOf('related').map(entryOf),
  };
}

function entryOf({ id, relation, memory, metadata, updatedAt }: RelatedMemoryRow) {
  return { id, relation, memory, metadata, updatedAt };
}
