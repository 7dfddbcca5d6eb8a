import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { touchApiKey, type ApiKeyRow } from '../store/api-keys.ts';
import type { Database } from '../store/database.ts';

const touchEveryMs = 60_000;

/** Writes when a key was last used, at most once a minute per key, without holding up the request. */
export function createLastUse({ database, clock, log }: { database: Database; clock: Clock; log: Logger }) {
  const writtenAtMs = new Map<string, number>();
  const writing = new Set<Promise<void>>();

  async function write(id: string, usedAt: Date): Promise<void> {
    try {
      await touchApiKey(database, id, usedAt);
    } catch (error) {
      log.warn({ keyId: id, error: error instanceof Error ? error.name : 'unknown' }, 'time of last use not stored');
    }
  }

  return {
    note(row: ApiKeyRow): void {
      const now = clock.now();
      const writtenMs = writtenAtMs.get(row.id) ?? row.lastUsedAt?.getTime() ?? 0;
      if (now.getTime() - writtenMs < touchEveryMs) return;
      writtenAtMs.set(row.id, now.getTime());
      const done = write(row.id, now).finally(() => writing.delete(done));
      writing.add(done);
    },
    async close(): Promise<void> {
      await Promise.all(writing);
    },
  };
}
