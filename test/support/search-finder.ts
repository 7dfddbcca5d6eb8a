import { silentLogger, type Logger } from '../../src/base/log.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { createSearch } from '../../src/search/create-search.ts';
import type { SearchRequest, SearchResult } from '../../src/search/search.ts';
import type { Database } from '../../src/store/database.ts';
import { createTestClock } from './clock.ts';
import { createTableEmbedder, worldTime, type WorldChunk } from './search-world.ts';

// Axes of meaning.
export const nothing = [1, 0, 0, 0];
export const animals = [0, 1, 0, 0];
export const ships = [0, 0, 1, 0];
export const cooking = [0, 0, 0, 1];
export const relatedAt = 0.4;

export function chunk(
  id: string,
  text: string,
  vector: readonly number[] | null = nothing,
  more: Partial<WorldChunk> = {},
): WorldChunk {
  return { id, text, vector, ...more };
}

/** A direction whose cosine with the axis is `share`. */
export function near(axis: readonly number[], share: number): number[] {
  const rest = Math.sqrt(1 - share * share);
  return axis.map((value, index) => value * share + (index === 0 ? rest : 0));
}

/** Texts that no test looks for. */
export const filler = Array.from({ length: 12 }, (_, index) =>
  chunk(`filler${index}`, `Minutes of the weekly meeting number ${index}, nothing decided.`),
);

export interface FindOptions {
  /** What the model gives for the query. Default: nothing. */
  vector?: readonly number[];
  embedder?: Embedder;
  log?: Logger;
  exactLimit?: number;
}

/** One search in the chunks of container `team`, unless the request says otherwise. */
export function find(
  database: Database,
  request: Partial<SearchRequest> & { q: string },
  { vector = nothing, log = silentLogger, ...options }: FindOptions = {},
): Promise<SearchResult[]> {
  const search = createSearch({
    database,
    embedder: createTableEmbedder({ [request.q]: vector }, { dimensions: 4, relatedAt }),
    clock: createTestClock(worldTime.toISOString()),
    log,
    ...options,
  });
  return search.search({ scope: { containerTags: ['team'] }, mode: 'documents', threshold: 0, limit: 10, ...request });
}

export function ids(results: readonly { id: string }[]): string[] {
  return results.map(({ id }) => id);
}
