import type { Clock } from '../base/clock.ts';
import type { Database } from '../store/database.ts';
import { forgetExpired } from '../store/memories.ts';

const expiredAtOnce = 500;

/** Writes down what is forgotten by now; reads leave it out before. */
export async function forgetOutdated(
  { database, clock }: { database: Database; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && (await forgetExpired(database, clock.now(), expiredAtOnce)) === expiredAtOnce);
}
