import type { Clock } from '../base/clock.ts';
import { findApiKeyByHash, type ApiKeyRow } from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';

const ttlMs = 5_000;
const maxEntries = 1_000;

/**
 * Remembers found keys for a few seconds, so that a search does not cost a key query. A key that
 * another process disables works here until then. Unknown keys are not remembered.
 */
export function createKeyCache({ database, clock }: { database: Database; clock: Clock }) {
  const entries = new Map<string, { loadedAtMs: number; row: Promise<ApiKeyRow | null> }>();

  function load(hash: string, nowMs: number): Promise<ApiKeyRow | null> {
    const row = findApiKeyByHash(database, hash);
    const entry = { loadedAtMs: nowMs, row };
    entries.delete(hash);
    entries.set(hash, entry);
    const forget = () => {
      if (entries.get(hash) === entry) entries.delete(hash);
    };
    row.then((found) => (found === null ? forget() : undefined), forget);
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries) break;
      entries.delete(oldest);
    }
    return row;
  }

  return {
    find(hash: string): Promise<ApiKeyRow | null> {
      const nowMs = clock.now().getTime();
      const entry = entries.get(hash);
      return entry && nowMs - entry.loadedAtMs < ttlMs ? entry.row : load(hash, nowMs);
    },
    clear: () => entries.clear(),
  };
}
