import type { Clock } from '../base/clock.ts';
import { enforceLimit, fillPlaces } from '../store/sync-items-scope.ts';
import type { RunHold } from './run-hold.ts';

export const limitDetail = 'Newer items take all places under the document limit of the connection.';

/** Which items have the places under the document limit of a connection, as far as one run knows. */
export interface DocumentLimit {
  /** Something changed that decides which items are the newest, or are mirrored at all. */
  unsettle(): void;
  /**
   * Makes the newest items of the connection, as many as its document limit allows, those that are
   * mirrored, unless nothing has changed since the last time. Answers how many came in.
   */
  settle(): Promise<number>;
  /**
   * While a listing goes on, free places are given to the newest items seen by then, so that there is
   * something to read at once. Which are the newest of all shows when it ends.
   */
  fill(): Promise<void>;
}

interface LimitOptions {
  connectionId: string;
  /** Null: there is none. */
  limit: number | null;
  hold: RunHold;
  clock: Clock;
}

export function createDocumentLimit({ connectionId, limit, hold, clock }: LimitOptions): DocumentLimit {
  let isSettled = limit === null;
  let isFull = limit === null;
  return {
    unsettle() {
      isSettled = limit === null;
    },
    async settle() {
      if (limit === null || isSettled) return 0;
      isSettled = true;
      isFull = false;
      const options = { limit, detail: limitDetail, now: clock.now() };
      return hold.writeAlone((tx) => enforceLimit(tx, connectionId, options));
    },
    async fill() {
      if (limit === null || isFull) return;
      const options = { limit, now: clock.now() };
      const { admitted, free } = await hold.writeAlone((tx) => fillPlaces(tx, connectionId, options));
      isFull = admitted >= free;
    },
  };
}
