import { paired, createMemo } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { Database } from '../store/database.ts';
import { readFrequencies, readScopeSize, type ScopeSize } from '../store/search/bm25.ts';
import type { Access, CandidateAccess, CandidatePlan, QueryTerm } from '../store/search/search-plan.ts';

/** The scope of a search, without the query. */
export type Scoped = Omit<
  CandidatePlan,
  'periods' | 'access' | 'linked' | 'model' | 'vector' | 'terms' | 'keywords' | 'scoring'
>;

/**
 * Chooses how a search reaches chunks or memories. What it learns about a scope is kept for some
 * seconds, and that can be stale without harm: a scope that has grown is still read completely, one
 * that has shrunk is noticed because too few nearest vectors are found.
 */
export interface AccessChooser {
  choose(scope: Scoped, terms: readonly QueryTerm[]): Promise<Access>;
  /** The vector index found too few in this scope; what to do instead, also for the next searches. */
  withoutIndex(scope: Scoped, access: CandidateAccess): CandidateAccess;
}

export interface AccessOptions {
  database: Database;
  clock: Clock;
  /** Scopes with more texts of a kind than this are reached by indexes. */
  exactLimit: number;
}

const sizeLifetimeMs = 10_000;
/** Term statistics of a large scope move slowly, and a little error in them changes nothing. */
const frequencyLifetimeMs = 300_000;
/** Of a term in more texts it is only known that it is common: counting on would take longer than the search. */
const frequencyLimit = 5_000;

export function createAccess({ database, clock, exactLimit }: AccessOptions): AccessChooser {
  const sizes = createMemo<ScopeSize>(clock, { maxEntries: 1_000, lifetimeMs: sizeLifetimeMs });
  const frequencies = createMemo<number>(clock, { maxEntries: 50_000, lifetimeMs: frequencyLifetimeMs });
  const unindexed = createMemo<true>(clock, { maxEntries: 1_000, lifetimeMs: sizeLifetimeMs });

  async function sizeOf(scope: Scoped): Promise<ScopeSize> {
    const key = keyOf(scope);
    const known = sizes.get(key);
    if (known) return known;
    const size = await readScopeSize(database, scope, exactLimit);
    sizes.set(key, size);
    return size;
  }

  async function frequenciesOf(scope: Scoped, terms: readonly QueryTerm[]): Promise<number[]> {
    const prefix = `${JSON.stringify([scope.kind, scope.containerTags?.toSorted()])} `;
    const forms = new Set(terms.flatMap((term) => term.forms));
    const unknown = [...forms].filter((term) => frequencies.get(prefix + term) === undefined);
    const read = unknown.length > 0 ? await readFrequencies(database, scope, unknown, frequencyLimit) : [];
    const fresh = new Map(paired(unknown, read));
    for (const [term, frequency] of fresh) frequencies.set(prefix + term, frequency);
    const frequencyOf = (term: string) => fresh.get(term) ?? frequencies.get(prefix + term) ?? 0;
    return terms.map(({ forms }) => Math.max(...forms.map(frequencyOf)));
  }

  return {
    async choose(scope, terms) {
      if (scope.docId !== undefined) return { kind: 'all' };
      const size = await sizeOf(scope);
      if (size.items === null) return { kind: 'all' };
      const counted = await frequenciesOf(scope, terms);
      const isScanned = unindexed.get(keyOf(scope)) || isOutsideIndex(scope) || isScanFaster(size.items, size.total);
      return {
        kind: 'candidates',
        dense: isScanned ? 'scanned' : 'indexed',
        items: size.items,
        averageLength: size.averageLength,
        frequencies: counted.map((frequency) => estimated(frequency, size.items!)),
      };
    },
    withoutIndex(scope, access) {
      unindexed.set(keyOf(scope), true);
      return { ...access, dense: 'scanned' };
    },
  };
}

/** The vector index of memories holds those that are neither replaced nor forgotten. */
function isOutsideIndex({ kind, asOf, forgottenToo }: Scoped): boolean {
  return kind === 'memories' && (asOf !== undefined || forgottenToo);
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

function keyOf({ kind, containerTags, namedTags, filters, filepath, dates, asOf, forgottenToo }: Scoped): string {
  const tags = [containerTags?.toSorted(), namedTags?.toSorted()];
  return JSON.stringify([kind, tags, filters, filepath, dates, asOf, forgottenToo]);
}
