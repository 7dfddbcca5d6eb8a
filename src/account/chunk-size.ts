import type { Clock } from '../base/clock.ts';
import type { Database } from '../store/database.ts';
import { readContentSettings } from './settings.ts';

const ttlMs = 5_000;

/** Tokens of a chunk as the settings say, read anew after some seconds; null: the standard. */
export function createChunkSize({ database, clock }: { database: Database; clock: Clock }) {
  let known: { atMs: number; tokens: Promise<number | null> } | undefined;

  return function chunkSize(): Promise<number | null> {
    const nowMs = clock.now().getTime();
    if (known && nowMs - known.atMs < ttlMs) return known.tokens;
    const tokens = readContentSettings(database).then((settings) =>
      settings.chunkSize > 0 ? settings.chunkSize : null,
    );
    known = { atMs: nowMs, tokens };
    // A failed query must not stay.
    tokens.catch(() => (known = undefined));
    return tokens;
  };
}
