import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { failDocuments, type ClaimedDocument } from '../store/processing.ts';
import { nextAttempt } from './retry.ts';

/** A document that took this many workers with it, most of them alone, is not given to another one. */
const mostLostWorkers = 10;

export interface Failure {
  document: Pick<ClaimedDocument, 'id' | 'type' | 'attempts' | 'redrives'>;
  error: unknown;
}

interface Failing {
  database: Database;
  clock: Clock;
  log: Logger;
  redrivesMs?: number[] | undefined;
}

/** Throws when too many workers were lost with a document. */
export function requireHarmless({ lost_workers }: Pick<ClaimedDocument, 'lost_workers'>): void {
  if (lost_workers >= mostLostWorkers)
    throw new MemorydError('lost_worker', 'Workers keep dying while they process this.');
}

/** Whether one text of several may be to blame, so that each has to be tried on its own. */
export function mayBePoisoned(error: unknown): boolean {
  return !(MemorydError.is(error) && error.retryAfterMs !== undefined);
}

/** Gives failed documents another time, or ends them with a reason. */
export async function fail(
  options: Failing,
  batch: { leaseToken: string; stages: Map<string, string> },
  failures: readonly Failure[],
): Promise<void> {
  if (failures.length === 0) return;
  for (const { document } of failures) batch.stages.delete(document.id);
  const now = options.clock.now();
  const rows = failures.map(({ document, error }) => {
    const row = { id: document.id, type: document.type, ...nextAttempt(error, document, now, options.redrivesMs) };
    const unexpected = !MemorydError.is(error);
    options.log[unexpected ? 'error' : 'debug'](
      { documentId: row.id, code: row.error_code, status: row.status, ...(unexpected ? { err: error } : {}) },
      'document not processed',
    );
    return row;
  });
  await failDocuments(options.database, rows, { leaseToken: batch.leaseToken, now });
}
