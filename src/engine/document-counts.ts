import type { Clock } from '../base/clock.ts';
import { createMemo } from '../base/memo.ts';
import type { Scope } from '../base/scope.ts';
import type { Database } from '../store/database.ts';
import {
  countByStatus,
  countDocuments,
  countOpenByStatus,
  type DocumentCount,
  type StatusCount,
} from '../store/document-counts.ts';
import { inContainers } from '../store/documents.ts';
import { rawSql, type Sql } from '../store/sql.ts';
import { documentStatuses, type DocumentStatus } from './document.ts';

export interface DocumentCounts {
  /** Of those for which `where` holds, on a document `d`. */
  count(where: Sql): Promise<DocumentCount>;
  countByStatus(scope: Scope): Promise<Record<DocumentStatus, number>>;
}

export interface DocumentCountsOptions {
  database: Database;
  clock: Clock;
  /** More documents than this are counted once in `keptMs`. */
  manyRows?: number;
  keptMs?: number;
}

const isFinal = (status: string) => ['done', 'failed', 'unknown'].includes(status);
const sumOf = (counts: readonly StatusCount[]) => counts.reduce((sum, { count }) => sum + count, 0);

/**
 * Counts documents. To count many takes long, and pages ask every few seconds; those that wait are
 * always those of now, because whoever waits until all is read must not be told that of before.
 */
export function createDocumentCounts(options: DocumentCountsOptions): DocumentCounts {
  const { database, clock, manyRows = 20_000, keptMs = 5_000 } = options;
  const kept = { maxEntries: 1_000, lifetimeMs: keptMs };
  const selected = createMemo<DocumentCount>(clock, kept);
  const statuses = createMemo<StatusCount[]>(clock, kept);
  return {
    async count(where) {
      const key = JSON.stringify([where.text, where.values]);
      const known = selected.get(key);
      if (known) return { ...known, waiting: sumOf(await countOpenByStatus(database, where)) };
      const counted = await countDocuments(database, where);
      if (counted.total > manyRows) selected.set(key, counted);
      return counted;
    },
    async countByStatus({ containerTags }) {
      const key = JSON.stringify(containerTags);
      const known = statuses.get(key);
      if (known) {
        const where = inContainers(rawSql('d.container_tag'), containerTags);
        return withAll([...known, ...(await countOpenByStatus(database, where))]);
      }
      const counted = await countByStatus(database, containerTags);
      const finals = counted.filter(({ status }) => isFinal(status));
      if (sumOf(counted) > manyRows) statuses.set(key, finals);
      return withAll(counted);
    },
  };
}

/** With those that there are none of. */
function withAll(counts: readonly StatusCount[]): Record<DocumentStatus, number> {
  const none = Object.fromEntries(documentStatuses.map((status) => [status, 0])) as Record<DocumentStatus, number>;
  return { ...none, ...Object.fromEntries(counts.map(({ status, count }) => [status, count])) };
}
