import type { Clock } from '../../base/clock.ts';
import { changeBudget, type BudgetKey } from '../../store/budgets.ts';
import type { Database } from '../../store/database.ts';
import type { BudgetSpec } from '../../connector/contract.ts';
import {
  capacityOf,
  emptyBudget,
  grant as grantTokens,
  longestGrantMs,
  observe,
  refresh,
  refuse,
  reserveOf,
  settle,
  type BudgetState,
  mergeObservations,
  type Grant,
  type GrantResult,
  type Observation,
  type Settlement,
} from './budget-window.ts';
import { createGate, type Gate } from '../../base/gate.ts';

/** One budget as this process sees it. It takes tokens in batches, so that most requests cost no statement. */
export interface SharedBudget {
  readonly spec: BudgetSpec;
  /** The same budget for requests of another weight. */
  weighing(weight: number): SharedBudget;
  /** Takes the tokens of one request if this process has them. */
  take(): boolean;
  /** Undoes a `take` in the same turn of the event loop. */
  putBack(): void;
  /** Gets tokens out of the common budget. Answers null when `take` is worth a try, else when to ask again. */
  refill(): Promise<number | null>;
  /** A request that took tokens has ended; `served` when the source did what it asked for. */
  ended(served: boolean): void;
  /** Notes how many requests the source says are left until `resetAt` (by this process's clock). */
  observed(left: number, resetAt: number): void;
  /**
   * The source refused a request until a time; when it does not say, for a minute, doubled with each
   * refusal in a row. Answers the time once every process can know it.
   */
  refused(refusal: { until: number | null; slowDown: boolean }): Promise<number>;
  /** Where those wait who found nothing to take: the budget is asked by one at a time. */
  readonly turns: Gate;
  readonly lastUsedAt: number;
}

const largestBatch = 1_024;
/** How long tokens may be kept, as a share of the period; longer only where the database is slower than that. */
const grantShare = 0.05;
const usuallyLongestMs = 500;
/** Another process may give something back earlier than could be known. */
const askAgainMs = 5_000;
const firstPauseMs = 60_000;
const longestPauseMs = 60 * 60_000;

export function createSharedBudget(options: {
  database: Database;
  clock: Clock;
  key: BudgetKey;
  spec: BudgetSpec;
}): SharedBudget {
  const { database, clock, key, spec } = options;
  const time = () => clock.now().getTime();
  const usualGrantMs = Math.max(1, Math.min(spec.perMs * grantShare, usuallyLongestMs));
  let forMs = usualGrantMs;
  let batch = spec.weight ?? 1;
  let grant: Grant | null = null;
  let used = 0;
  let lastUsedAt = time();
  let settlement: Settlement | null = null;
  let blockedUntil = 0;
  let refusals = 0;
  let underWay = 0;
  let usedInAll = 0;
  /** The source's statement, as if this process had used nothing since it began. */
  let said: Observation | null = null;
  let refilling: Promise<number | null> | null = null;

  /** Ends the grant; what of it was not used goes back with the next statement. */
  function close(need: number): void {
    if (!grant) return;
    batch = used < grant.tokens ? Math.max(need, used) : Math.min(batch * 2, largestBatch * need);
    settlement = { grant, used, lastUsedAt };
    grant = null;
  }

  async function change(apply: (state: BudgetState, now: number) => BudgetState): Promise<void> {
    const done = settlement;
    settlement = null;
    let block = 0;
    await changeBudget<BudgetState>(database, key, clock.now(), (stored) => {
      // Read here: others may have held the budget for a while.
      const now = time();
      const known = stored ?? emptyBudget(now);
      const current = refresh(spec, done ? settle(spec, known, done) : known, now);
      const fresh = said && said.resetAt > now ? { ...said, left: said.left - usedInAll } : null;
      const next = apply(fresh ? observe(current, fresh) : current, now);
      block = next.blockedUntil;
      return next;
    });
    blockedUntil = Math.max(blockedUntil, block);
  }

  async function fill(need: number): Promise<number | null> {
    close(need);
    let result: GrantResult | undefined;
    await change((state, now) => {
      const want = Math.min(batch, Math.max(need, Math.floor(capacityOf(spec, state, now) / 10)));
      result = grantTokens(spec, state, { now, need, want, forMs });
      return result.state;
    });
    if (!result) return null;
    if ('notBefore' in result) return result.notBefore;
    grant = result.grant;
    used = 0;
    const late = time() >= grant.until;
    forMs = late ? Math.min(forMs * 2, longestGrantMs) : Math.max(usualGrantMs, forMs * 0.9);
    return null;
  }

  async function refused({ until, slowDown }: { until: number | null; slowDown: boolean }): Promise<number> {
    const now = time();
    const another = now >= blockedUntil;
    if (another) refusals += 1;
    const pauseMs = Math.min(firstPauseMs * 2 ** (refusals - 1), longestPauseMs);
    const end = until ?? (another ? now + pauseMs : blockedUntil);
    blockedUntil = Math.max(blockedUntil, end);
    await change((state) => refuse(spec, state, { now, until: end, slowDown }));
    return end;
  }

  const turns = createGate(1);
  const views = new Map<number, SharedBudget>();

  function weighing(need: number): SharedBudget {
    const view = views.get(need) ?? viewOf(need);
    views.set(need, view);
    return view;
  }

  function viewOf(need: number): SharedBudget {
    /** The last answer that there is nothing, and until when nobody asks again. */
    let exhausted = { until: 0, notBefore: 0 };
    const ask = async () => {
      const notBefore = await fill(need);
      if (notBefore !== null) exhausted = { notBefore, until: Math.min(notBefore, time() + askAgainMs) };
      return notBefore;
    };
    return {
      spec,
      weighing,
      turns,
      get lastUsedAt() {
        return lastUsedAt;
      },
      take() {
        const now = time();
        if (!grant || now < blockedUntil || now >= grant.until || grant.tokens - used < need) return false;
        used += need;
        usedInAll += need;
        underWay += need;
        lastUsedAt = now;
        return true;
      },
      putBack() {
        used -= need;
        usedInAll -= need;
        underWay -= need;
      },
      async refill() {
        if (time() < blockedUntil) return blockedUntil;
        if (time() < exhausted.until) return exhausted.notBefore;
        return (refilling ??= ask().finally(() => (refilling = null)));
      },
      ended(served) {
        underWay -= need;
        if (served) refusals = 0;
      },
      observed(left, resetAt) {
        const free = { left: Math.max(0, left - reserveOf(spec) - underWay) + usedInAll, resetAt };
        said = said && said.resetAt > time() ? mergeObservations(said, free) : free;
        if (grant && grant.tokens - used > said.left - usedInAll) close(need);
      },
      refused,
    };
  }

  return weighing(spec.weight ?? 1);
}
