import type { Clock } from '../base/clock.ts';
import { createMemo } from '../base/collections.ts';
import { countDocumentsOf, countOpenDocumentsOf, type DocumentCounts } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { countItems, type ItemCounts } from '../store/sync-items.ts';

export interface Counts {
  /** Of connections that have documents, by their ids. Those that wait are always those of now. */
  documentsOf(connectionIds: readonly string[]): Promise<Map<string, DocumentCounts>>;
  /** Of the items of a connection; counted anew when another run begins, or this one ends. */
  itemsOf(connectionId: string, run: { id: string; status: string } | undefined): Promise<ItemCounts>;
}

export interface CountsOptions {
  database: Database;
  clock: Clock;
  /** More rows than this are counted once in `keptMs`. */
  manyRows?: number;
  keptMs?: number;
}

/** Counts what a connection holds. To count many takes long, and pages ask every few seconds. */
export function createCounts({ database, clock, manyRows = 20_000, keptMs = 5_000 }: CountsOptions): Counts {
  const kept = { maxEntries: 1_000, lifetimeMs: keptMs };
  const documents = createMemo<DocumentCounts>(clock, kept);
  const items = createMemo<ItemCounts>(clock, kept);
  return {
    async documentsOf(connectionIds) {
      const found = new Map(connectionIds.map((id) => [id, documents.get(id)]));
      const known = connectionIds.filter((id) => found.get(id) !== undefined);
      const unknown = connectionIds.filter((id) => found.get(id) === undefined);
      const counted = unknown.length > 0 ? await countDocumentsOf(database, unknown) : [];
      for (const one of counted)
        if (one.waiting + one.done + one.failed > manyRows) documents.set(one.connectionId, one);
      // Whoever waits until all is read must not be told that of before.
      const open = known.length > 0 ? await countOpenDocumentsOf(database, known) : [];
      const openOf = new Map(open.map((one) => [one.connectionId, one]));
      const kept = known.map((id) => ({ ...found.get(id)!, waiting: 0, foundByWords: 0, ...openOf.get(id) }));
      return new Map([...counted, ...kept].map((one) => [one.connectionId, one]));
    },
    async itemsOf(connectionId, run) {
      const key = `${connectionId} ${run?.id} ${run?.status}`;
      const known = items.get(key);
      if (known) return known;
      const { rows, ...counted } = await countItems(database, connectionId);
      if (rows > manyRows) items.set(key, counted);
      return counted;
    },
  };
}
