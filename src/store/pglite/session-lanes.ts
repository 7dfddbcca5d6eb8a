import type { SessionUse } from '../session.ts';

/** Statements that may pass waiting transactions before one of these gets its turn. */
const statementBurst = 16;

/**
 * Who gets the one session next. Within a lane it is first come, first served. Waiting statements
 * go before waiting transactions, up to a burst, so that a search waits for one transaction at the
 * most and not for every one that writers have queued; after a burst a transaction has its turn,
 * so that neither lane starves.
 */
export interface SessionLanes {
  /** Resolves when the caller holds the session; what it resolves to gives it back. */
  enter(use: SessionUse): Promise<() => void>;
  /** True when nobody holds or waits for the session. */
  readonly idle: boolean;
  /** How often somebody has entered. */
  readonly entries: number;
}

export function createSessionLanes(): SessionLanes {
  const waiting: Record<SessionUse, (() => void)[]> = { statement: [], transaction: [] };
  let held = false;
  let burst = 0;
  let entries = 0;

  function next(): void {
    const turn = laneOf(waiting, burst);
    if (turn === undefined) {
      held = false;
      burst = 0;
      return;
    }
    burst = turn === 'statement' ? burst + 1 : 0;
    waiting[turn].shift()!();
  }

  return {
    enter(use) {
      entries++;
      return new Promise((resolve) => {
        waiting[use].push(() => resolve(next));
        if (held) return;
        held = true;
        next();
      });
    },
    get idle() {
      return !held;
    },
    get entries() {
      return entries;
    },
  };
}

function laneOf(waiting: Record<SessionUse, readonly unknown[]>, burst: number): SessionUse | undefined {
  if (waiting.transaction.length > 0 && (waiting.statement.length === 0 || burst >= statementBurst)) {
    return 'transaction';
  }
  return waiting.statement.length > 0 ? 'statement' : undefined;
}
