import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  capacityOf,
  emptyBudget,
  grant,
  mergeObservations,
  observe,
  refresh,
  refuse,
  settle,
  type BudgetState,
  type Grant,
} from '../../../src/source/rate-limit/budget-window.ts';
import type { BudgetSpec } from '../../../src/connector/contract.ts';

const begin = Date.parse('2026-03-01T09:00:00Z');
const second: BudgetSpec = { match: '*', rate: 10, perMs: 1_000 };

/** Takes what there is at `now`, up to `want`; the tokens count as used until the grant ends. */
function take(spec: BudgetSpec, state: BudgetState, now: number, want: number, forMs = 1) {
  return grant(spec, refresh(spec, state, now), { now, need: spec.weight ?? 1, want, forMs });
}

function granted(result: ReturnType<typeof grant>): Grant {
  if (!('grant' in result)) throw new Error('nothing was granted');
  return result.grant;
}

function notBefore(result: ReturnType<typeof grant>): number {
  if ('grant' in result) throw new Error('something was granted');
  return result.notBefore;
}

/** The most weight that was used in any period. */
function busiestPeriod(uses: readonly { at: number; weight: number }[], perMs: number): number {
  const sums = uses.map(({ at }) =>
    uses.filter((use) => use.at >= at && use.at < at + perMs).reduce((sum, use) => sum + use.weight, 0),
  );
  return Math.max(0, ...sums);
}

describe('a request budget', () => {
  it('grants its rate, then nothing until the first tokens stop to count', () => {
    const first = take(second, emptyBudget(begin), begin, 10);
    expect(granted(first).tokens).toBe(10);
    const until = notBefore(take(second, first.state, begin, 1));
    expect(until).toBeGreaterThanOrEqual(begin + 1_000);
    expect(until).toBeLessThanOrEqual(begin + 1_100);
    expect(granted(take(second, first.state, until, 3)).tokens).toBe(3);
  });

  it('gets back what a grant did not use, and counts the rest from its last use', () => {
    const first = take(second, emptyBudget(begin), begin, 10, 500);
    const settled = settle(second, first.state, { grant: granted(first), used: 4, lastUsedAt: begin + 10 });
    expect(granted(take(second, settled, begin + 20, 10)).tokens).toBe(6);
    const later = refresh(second, settled, begin + 1_040);
    expect(later.held).toEqual([]);
  });

  it('leaves the reserve alone', () => {
    const spec = { ...second, reserve: 0.2 };
    expect(granted(take(spec, emptyBudget(begin), begin, 10)).tokens).toBe(8);
    expect(capacityOf({ ...second, rate: 1, reserve: 0.9 }, emptyBudget(begin), begin)).toBe(1);
  });

  it('lets a request that costs more than what is not reserved go alone', () => {
    const spec = { ...second, reserve: 0.5, weight: 8 };
    const first = take(spec, emptyBudget(begin), begin, 8);
    expect(granted(first).tokens).toBe(8);
    expect(notBefore(take(spec, first.state, begin + 500, 8))).toBeGreaterThan(begin + 1_000);
  });

  it('blocks until a refusal ends, halves the rate then, and grows it again', () => {
    const refused = refuse(second, emptyBudget(begin), { now: begin, until: begin + 60_000, slowDown: true });
    expect(notBefore(take(second, refused, begin + 59_999, 1))).toBe(begin + 60_000);
    expect(granted(take(second, refused, begin + 60_000, 10)).tokens).toBe(5);
    expect(capacityOf(second, refused, begin + 60_000 + 20_000)).toBe(7);
    expect(capacityOf(second, refused, begin + 60_000 + 50_000)).toBe(10);
  });

  it('counts refusals that come together as one, and keeps the latest end', () => {
    let state = refuse(second, emptyBudget(begin), { now: begin, until: begin + 60_000, slowDown: true });
    state = refuse(second, state, { now: begin + 5, until: begin + 90_000, slowDown: true });
    state = refuse(second, state, { now: begin + 9, until: begin + 1_000, slowDown: true });
    expect(state).toMatchObject({ blockedUntil: begin + 90_000, factor: 0.5 });
    for (let round = 0; round < 9; round++) {
      const now = state.blockedUntil;
      state = refuse(second, state, { now, until: now + 1_000, slowDown: true });
    }
    expect(state.factor).toBe(0.05);
  });

  it('does not slow down because a quota is used up', () => {
    const refused = refuse(second, emptyBudget(begin), { now: begin, until: begin + 60_000, slowDown: false });
    expect(refused).toMatchObject({ factor: 1, blockedUntil: begin + 60_000 });
  });

  it('grants no more than the source says is left, until its reset', () => {
    const state = observe(emptyBudget(begin), { left: 3, resetAt: begin + 60_000 });
    const first = take(second, state, begin, 10);
    expect(granted(first).tokens).toBe(3);
    expect(notBefore(take(second, first.state, begin + 30_000, 1))).toBe(begin + 60_000);
    expect(granted(take(second, first.state, begin + 60_000, 10)).tokens).toBe(10);
  });

  it('believes the lowest of what is said of one period, and the newest period', () => {
    const known = { left: 5, resetAt: begin + 60_000 };
    expect(mergeObservations(known, { left: 9, resetAt: begin + 60_800 })).toEqual(known);
    expect(mergeObservations(known, { left: 2, resetAt: begin + 59_500 })).toEqual({ ...known, left: 2 });
    expect(mergeObservations(known, { left: 9, resetAt: begin + 120_000 }).left).toBe(9);
    expect(mergeObservations(known, { left: 0, resetAt: begin })).toEqual(known);
  });

  it('is not blocked for long by a clock that was ahead by a day', () => {
    const day = 24 * 60 * 60_000;
    const ahead = take(second, emptyBudget(begin), begin + day, 10).state;
    expect(notBefore(take(second, ahead, begin, 1))).toBeLessThanOrEqual(begin + 62_000);
  });

  it('is never exceeded in any period, however processes take, use, settle and lose tokens', () => {
    const step = fc.record({
      process: fc.nat(2),
      // Refusals are rare: they slow down so much that the rate is no longer reached.
      kind: fc.oneof(
        { weight: 60, arbitrary: fc.constantFrom('take', 'use', 'use', 'use late') },
        { weight: 30, arbitrary: fc.constantFrom('settle', 'wait', 'wait till free') },
        { weight: 2, arbitrary: fc.constantFrom('crash', 'refuse') },
      ),
      want: fc.integer({ min: 1, max: 40 }),
      forMs: fc.integer({ min: 1, max: 1_500 }),
      waitMs: fc.integer({ min: 0, max: 700 }),
    });
    const specs = fc.record({
      match: fc.constant('*'),
      rate: fc.integer({ min: 3, max: 30 }),
      perMs: fc.constantFrom(7, 100, 1_000, 3_000),
      weight: fc.integer({ min: 1, max: 3 }),
      reserve: fc.constantFrom(0, 0.3),
    });
    fc.assert(
      fc.property(specs, fc.array(step, { minLength: 20, maxLength: 150, size: 'max' }), (spec, steps) => {
        expect(busiestPeriod(simulate(spec, steps), spec.perMs)).toBeLessThanOrEqual(spec.rate);
      }),
      { numRuns: 500 },
    );
  });
});

interface Step {
  process: number;
  kind: string;
  want: number;
  forMs: number;
  waitMs: number;
}

/** Three processes over one state; answers what was used when. */
function simulate(spec: BudgetSpec & { weight: number }, steps: readonly Step[]) {
  let state = emptyBudget(begin);
  let now = begin;
  let freeAt = begin;
  const uses: { at: number; weight: number }[] = [];
  const held: ({ grant: Grant; used: number; lastUsedAt: number } | null)[] = [null, null, null];
  for (const { process, kind, want, forMs, waitMs } of steps) {
    const mine = held[process] ?? null;
    if (kind === 'wait') now += waitMs;
    if (kind === 'crash') held[process] = null;
    if (kind === 'refuse')
      state = refuse(spec, refresh(spec, state, now), { now, until: now + waitMs, slowDown: true });
    if (kind === 'wait till free') now = Math.max(now, freeAt);
    if (kind === 'use late' && mine) now = Math.max(now, Math.ceil(mine.grant.until) - 1);
    while (kind.startsWith('use') && mine && now < mine.grant.until && mine.grant.tokens - mine.used >= spec.weight) {
      mine.used += spec.weight;
      mine.lastUsedAt = now;
      uses.push({ at: now, weight: spec.weight });
    }
    if ((kind === 'settle' || kind === 'take') && mine) {
      state = settle(spec, state, mine);
      held[process] = null;
    }
    if (kind !== 'take') continue;
    const result = grant(spec, refresh(spec, state, now), { now, need: spec.weight, want, forMs });
    // As it is stored and read again.
    state = JSON.parse(JSON.stringify(result.state)) as BudgetState;
    if ('notBefore' in result) freeAt = Math.ceil(result.notBefore);
    if ('grant' in result) held[process] = { grant: result.grant, used: 0, lastUsedAt: now };
  }
  return uses;
}
