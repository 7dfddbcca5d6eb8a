import type { Clock } from '../base/clock.ts';
import type { Database } from '../store/database.ts';
import type { Narrowing } from '../store/search/conditions.ts';
import { readFrequencies, readScopeSize, type ScopeSize } from '../store/search/corpus-statistics.ts';
import type { ChunkAccess } from '../store/search/search-plan.ts';
import { createMemo } from './memo.ts';

/**
 * Chooses how a search reaches chunks. What it learns about a scope is kept for some seconds, and
 * that can be stale without harm: a scope that has grown is still read completely, one that has
 * shrunk is noticed because too few nearest vectors are found.
 */
export interface ChunkAccessChooser {
  choose(narrowing: Narrowing, terms: readonly string[]): Promise<ChunkAccess>;
  /** The vector index found too few in this scope; what to do instead, also for the next searches. */
  withoutIndex(narrowing: Narrowing, access: ChunkAccess): ChunkAccess;
}

export interface ChunkAccessOptions {
  database: Database;
  clock: Clock;
  /** Scopes with more chunks than this are reached by indexes. */
  exactLimit: number;
}

const sizeLifetimeMs = 10_000;
/** Term statistics of a large scope move slowly, and a little error in them changes nothing. */
const frequencyLifetimeMs = 300_000;
/** Of a term in more chunks it is only known that it is common: counting on would take longer than the search. */
const frequencyLimit = 5_000;

export function createChunkAccess({ database, clock, exactLimit }: ChunkAccessOptions): ChunkAccessChooser {
  const sizes = createMemo<ScopeSize>(clock, { maxEntries: 1_000, lifetimeMs: sizeLifetimeMs });
  const frequencies = createMemo<number>(clock, { maxEntries: 50_000, lifetimeMs: frequencyLifetimeMs });
  const unindexed = createMemo<true>(clock, { maxEntries: 1_000, lifetimeMs: sizeLifetimeMs });

  async function sizeOf(narrowing: Narrowing): Promise<ScopeSize> {
    const key = keyOf(narrowing);
    const known = sizes.get(key);
    if (known) return known;
    const size = await readScopeSize(database, narrowing, exactLimit);
    sizes.set(key, size);
    return size;
  }

  async function frequenciesOf(containerTags: Narrowing['containerTags'], terms: readonly string[]): Promise<number[]> {
    const prefix = `${keyOf({ containerTags })} `;
    const unknown = terms.filter((term) => frequencies.get(prefix + term) === undefined);
    const read = unknown.length > 0 ? await readFrequencies(database, containerTags, unknown, frequencyLimit) : [];
    const fresh = new Map(unknown.map((term, index) => [term, read[index]!]));
    for (const [term, frequency] of fresh) frequencies.set(prefix + term, frequency);
    return terms.map((term) => fresh.get(term) ?? frequencies.get(prefix + term) ?? 0);
  }

  return {
    async choose(narrowing, terms) {
      if (narrowing.docId !== undefined) return { kind: 'all' };
      const size = await sizeOf(narrowing);
      if (size.items === null) return { kind: 'all' };
      const counted = await frequenciesOf(narrowing.containerTags, terms);
      return {
        kind: 'candidates',
        dense: unindexed.get(keyOf(narrowing)) || isScanFaster(size.items, size.total) ? 'scanned' : 'indexed',
        items: size.items,
        averageLength: size.averageLength,
        frequencies: counted.map((frequency) => estimated(frequency, size.items!)),
      };
    },
    withoutIndex(narrowing, access) {
      unindexed.set(keyOf(narrowing), true);
      return access.kind === 'all' ? access : { ...access, dense: 'scanned' };
    },
  };
}

/**
 * Comparing all vectors of the scope takes time in proportion to their number; finding 200 of them
 * in an index over all containers, in proportion to how many others come between. Measured on both
 * engines: 2 µs a vector, and 20 µs for each of 200 × total / items.
 */
function isScanFaster(items: number, total: number): boolean {
  return items * items < 2_000 * total;
}

/** Past the limit it lies between limit and items; their geometric mean is the middle for a logarithmic weight. */
function estimated(counted: number, items: number): number {
  return counted > frequencyLimit ? Math.sqrt(frequencyLimit * Math.max(items, counted)) : counted;
}

function keyOf({ containerTags, namedTags, filters, filepath }: Narrowing): string {
  return JSON.stringify([containerTags && containerTags.toSorted(), namedTags?.toSorted(), filters, filepath]);
}
