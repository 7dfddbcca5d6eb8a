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
import { createGate, type Gate } from '../../base/concurrency.ts';

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
  readonly queue: Gate;
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

export function createSharedBudget(options: BudgetOptions): SharedBudget {
  const budget = new BudgetOfProcess(options);
  const queue = createGate(1);
  const views = new Map<number, SharedBudget>();

  function weighing(need: number): SharedBudget {
    const view = views.get(need) ?? viewOf(need);
    views.set(need, view);
    return view;
  }

  function viewOf(need: number): SharedBudget {
    /** The last answer that there is nothing, and until when nobody asks again. */
    let exhausted = { until: 0, notBefore: 0 };
    return {
      spec: options.spec,
      weighing,
      queue,
      get lastUsedAt() {
        return budget.lastUsedAt;
      },
      take: () => budget.take(need),
      putBack: () => budget.putBack(need),
      async refill() {
        if (budget.now() < budget.blockedUntil) return budget.blockedUntil;
        if (budget.now() < exhausted.until) return exhausted.notBefore;
        return budget.refill(need, (notBefore) => {
          exhausted = { notBefore, until: Math.min(notBefore, budget.now() + askAgainMs) };
        });
      },
      ended: (served) => budget.ended(need, served),
      observed: (left, resetAt) => budget.observed(need, left, resetAt),
      refused: (refusal) => budget.refused(refusal),
    };
  }

  return weighing(options.spec.weight ?? 1);
}

interface BudgetOptions {
  database: Database;
  clock: Clock;
  key: BudgetKey;
  spec: BudgetSpec;
}

/** What this process holds of a budget, for requests of every weight. Times are in milliseconds of its clock. */
class BudgetOfProcess {
  readonly #options: BudgetOptions;
  readonly #usualGrantMs: number;
  #forMs: number;
  #batch: number;
  #grant: Grant | null = null;
  /** Tokens of the grant that were taken. */
  #used = 0;
  #usedInAll = 0;
  #underWay = 0;
  #settlement: Settlement | null = null;
  /** The source's statement, as if this process had used nothing since it began. */
  #said: Observation | null = null;
  #refusals = 0;
  #refilling: Promise<number | null> | null = null;
  blockedUntil = 0;
  lastUsedAt: number;

  constructor(options: BudgetOptions) {
    const { spec } = options;
    this.#options = options;
    this.#usualGrantMs = Math.max(1, Math.min(spec.perMs * grantShare, usuallyLongestMs));
    this.#forMs = this.#usualGrantMs;
    this.#batch = spec.weight ?? 1;
    this.lastUsedAt = this.now();
  }

  now(): number {
    return this.#options.clock.now().getTime();
  }

  take(need: number): boolean {
    const now = this.now();
    const grant = this.#grant;
    if (!grant || now < this.blockedUntil || now >= grant.until || grant.tokens - this.#used < need) return false;
    this.#used += need;
    this.#usedInAll += need;
    this.#underWay += need;
    this.lastUsedAt = now;
    return true;
  }

  putBack(need: number): void {
    this.#used -= need;
    this.#usedInAll -= need;
    this.#underWay -= need;
  }

  ended(need: number, served: boolean): void {
    this.#underWay -= need;
    if (served) this.#refusals = 0;
  }

  observed(need: number, left: number, resetAt: number): void {
    const { spec } = this.#options;
    const free = { left: Math.max(0, left - reserveOf(spec) - this.#underWay) + this.#usedInAll, resetAt };
    const said = this.#said && this.#said.resetAt > this.now() ? mergeObservations(this.#said, free) : free;
    this.#said = said;
    if (this.#grant && this.#grant.tokens - this.#used > said.left - this.#usedInAll) this.#close(need);
  }

  async refused({ until, slowDown }: { until: number | null; slowDown: boolean }): Promise<number> {
    const now = this.now();
    const another = now >= this.blockedUntil;
    if (another) this.#refusals += 1;
    const pauseMs = Math.min(firstPauseMs * 2 ** (this.#refusals - 1), longestPauseMs);
    const end = until ?? (another ? now + pauseMs : this.blockedUntil);
    this.blockedUntil = Math.max(this.blockedUntil, end);
    await this.#change((state) => refuse(this.#options.spec, state, { now, until: end, slowDown }));
    return end;
  }

  /** Callers at the same time share one refill; only the weight of the first one is noted as exhausted. */
  refill(need: number, exhausted: (notBefore: number) => void): Promise<number | null> {
    const fill = async () => {
      const notBefore = await this.#fill(need);
      if (notBefore !== null) exhausted(notBefore);
      return notBefore;
    };
    return (this.#refilling ??= fill().finally(() => (this.#refilling = null)));
  }

  async #fill(need: number): Promise<number | null> {
    const { spec } = this.#options;
    this.#close(need);
    let result: GrantResult | undefined;
    await this.#change((state, now) => {
      const want = Math.min(this.#batch, Math.max(need, Math.floor(capacityOf(spec, state, now) / 10)));
      result = grantTokens(spec, state, { now, need, want, forMs: this.#forMs });
      return result.state;
    });
    if (!result) return null;
    if ('notBefore' in result) return result.notBefore;
    this.#grant = result.grant;
    this.#used = 0;
    const late = this.now() >= result.grant.until;
    this.#forMs = late ? Math.min(this.#forMs * 2, longestGrantMs) : Math.max(this.#usualGrantMs, this.#forMs * 0.9);
    return null;
  }

  /** Ends the grant; what of it was not used goes back with the next statement. */
  #close(need: number): void {
    const grant = this.#grant;
    if (!grant) return;
    const used = this.#used;
    this.#batch = used < grant.tokens ? Math.max(need, used) : Math.min(this.#batch * 2, largestBatch * need);
    this.#settlement = { grant, used, lastUsedAt: this.lastUsedAt };
    this.#grant = null;
  }

  async #change(apply: (state: BudgetState, now: number) => BudgetState): Promise<void> {
    const { database, clock, key, spec } = this.#options;
    const done = this.#settlement;
    this.#settlement = null;
    let block = 0;
    await changeBudget<BudgetState>(database, key, clock.now(), (stored) => {
      // Read here: others may have held the budget for a while.
      const now = this.now();
      const known = stored ?? emptyBudget(now);
      const current = refresh(spec, done ? settle(spec, known, done) : known, now);
      const said = this.#said;
      const fresh = said && said.resetAt > now ? { ...said, left: said.left - this.#usedInAll } : null;
      const next = apply(fresh ? observe(current, fresh) : current, now);
      block = next.blockedUntil;
      return next;
    });
    this.blockedUntil = Math.max(this.blockedUntil, block);
  }
}
