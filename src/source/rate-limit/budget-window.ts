import type { BudgetSpec } from '../../connector/contract.ts';

/**
 * The processes' common knowledge of one budget. All times are milliseconds since 1970.
 *
 * A sliding window: a grant may be used until its `until`, and its tokens count until a period after that. So no
 * period has more than `rate` requests. Clocks that differ between machines shorten the period by the difference.
 */
export interface BudgetState {
  /** Tokens that count, by the number of the slot from which on they no longer count. */
  held: [slot: number, tokens: number][];
  /** No request before. */
  blockedUntil: number;
  /** Requests left until `resetAt` according to the source, without the reserve. */
  left: number | null;
  resetAt: number;
  /** Share of the rate that is used since the source refused, and since when it grows again. */
  factor: number;
  factorAt: number;
}

export interface Grant {
  tokens: number;
  /** When they may no longer be used. */
  until: number;
  slot: number;
}

export type GrantResult = { state: BudgetState; grant: Grant } | { state: BudgetState; notBefore: number };

/** A grant that is over: what of it was used, and when last. */
export interface Settlement {
  grant: Grant;
  used: number;
  lastUsedAt: number;
}

/** The state of the budget according to an answer. */
export interface Observation {
  left: number;
  resetAt: number;
}

const slotsPerPeriod = 50;

/** Nobody keeps tokens for longer, however slow the database is. */
export const longestGrantMs = 60_000;

/** Headers give a reset as a whole second, relative to an answer that took a while. */
const resetSlackMs = 2_000;
const smallestFactor = 0.05;

/** Of the rate, for each period (of at least ten seconds) without a refusal. */
const recovery = 0.1;

export function emptyBudget(now: number): BudgetState {
  return { held: [], blockedUntil: 0, left: null, resetAt: 0, factor: 1, factorAt: now };
}

/** Tokens that may count at once. */
export function capacityOf(spec: BudgetSpec, state: BudgetState, now: number): number {
  const whole = Math.max(1, Math.floor(spec.rate * (1 - (spec.reserve ?? 0))));
  return Math.max(1, Math.floor(whole * factorAt(spec, state, now)));
}

export function reserveOf(spec: BudgetSpec): number {
  return Math.ceil(spec.rate * (spec.reserve ?? 0));
}

/** Drops what no longer counts. */
export function refresh(spec: BudgetSpec, state: BudgetState, now: number): BudgetState {
  // Entries of a clock that was far ahead would block for as long as it was.
  const lastSlot = slotAfter(spec, now + Math.max(spec.perMs, longestGrantMs));
  const held = state.held
    .filter(([slot]) => slot * slotMs(spec) > now)
    .map(([slot, tokens]): [number, number] => [Math.min(slot, lastSlot), tokens]);
  const over = state.left !== null && now >= state.resetAt;
  return { ...state, held, left: over ? null : state.left };
}

/** Replaces what a grant could have used by what it did use. */
export function settle(spec: BudgetSpec, state: BudgetState, settlement: Settlement): BudgetState {
  const { grant, used, lastUsedAt } = settlement;
  const slot = Math.min(grant.slot, slotAfter(spec, lastUsedAt));
  return {
    ...state,
    held: add(add(state.held, grant.slot, -grant.tokens), slot, used),
    left: state.left === null ? null : state.left + grant.tokens - used,
  };
}

/** Between `need` and `want` tokens that may be used for `forMs`, or the time at which there may be some. */
export function grant(
  spec: BudgetSpec,
  state: BudgetState,
  request: { now: number; need: number; want: number; forMs: number },
): GrantResult {
  const { now, need, forMs } = request;
  if (state.blockedUntil > now) return { state, notBefore: state.blockedUntil };
  if (state.left !== null && state.left < need) return { state, notBefore: state.resetAt };
  const capacity = capacityOf(spec, state, now);
  const room = capacity - state.held.reduce((sum, [, tokens]) => sum + tokens, 0);
  // A request that costs more than the whole budget is sent when nothing else counts, else it never would be.
  if (room < Math.min(need, capacity))
    return { state, notBefore: freeAt(spec, state, Math.min(need, capacity) - room) };
  const tokens = Math.max(need, Math.min(request.want, room, state.left ?? Infinity));
  const slot = slotAfter(spec, now + forMs);
  const left = state.left === null ? null : state.left - tokens;
  return {
    state: { ...state, held: add(state.held, slot, tokens), left },
    grant: { tokens, until: now + forMs, slot },
  };
}

/** The lowest that was said of the same period counts, because answers overtake each other. */
export function mergeObservations(known: Observation, seen: Observation): Observation {
  if (seen.resetAt > known.resetAt + resetSlackMs) return seen;
  if (seen.resetAt < known.resetAt - resetSlackMs) return known;
  return { left: Math.min(known.left, seen.left), resetAt: known.resetAt };
}

export function observe(state: BudgetState, seen: Observation): BudgetState {
  const { left, resetAt } = state;
  return { ...state, ...(left === null ? seen : mergeObservations({ left, resetAt }, seen)) };
}

/** The source refused: nothing before `until`, and afterwards half as much as before, slowly growing again. */
export function refuse(
  spec: BudgetSpec,
  state: BudgetState,
  refusal: { now: number; until: number; slowDown: boolean },
): BudgetState {
  const { now, until } = refusal;
  const blockedUntil = Math.max(state.blockedUntil, until);
  // Requests that were under way together are refused together; that is one refusal.
  if (!refusal.slowDown || state.blockedUntil > now) return { ...state, blockedUntil };
  const factor = Math.max(smallestFactor, factorAt(spec, state, now) / 2);
  return { ...state, blockedUntil, factor, factorAt: blockedUntil };
}

/** Adds to a slot, in order; below zero only when the slot was dropped already. */
function add(held: BudgetState['held'], slot: number, tokens: number): BudgetState['held'] {
  const sums = new Map<number, number>();
  for (const [one, sum] of [...held, [slot, tokens] as const]) sums.set(one, (sums.get(one) ?? 0) + sum);
  return [...sums].filter(([, sum]) => sum > 0).toSorted(([left], [right]) => left - right);
}

/** When so many tokens have stopped to count. */
function freeAt(spec: BudgetSpec, state: BudgetState, missing: number): number {
  let freed = 0;
  for (const [slot, tokens] of state.held) {
    freed += tokens;
    if (freed >= missing) return slot * slotMs(spec);
  }
  return 0;
}

function factorAt(spec: BudgetSpec, state: BudgetState, now: number): number {
  const periods = Math.max(0, now - state.factorAt) / Math.max(spec.perMs, 10_000);
  return Math.min(1, state.factor + recovery * periods);
}

function slotMs(spec: BudgetSpec): number {
  return Math.max(1, Math.floor(spec.perMs / slotsPerPeriod));
}

/** The slot at whose begin tokens stop to count that are used at `time` the latest. */
function slotAfter(spec: BudgetSpec, time: number): number {
  return Math.ceil((time + spec.perMs) / slotMs(spec));
}
