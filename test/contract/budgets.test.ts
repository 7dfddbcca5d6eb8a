import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { admit } from '../../src/source/rate-limit/admission.ts';
import { createGate } from '../../src/base/concurrency.ts';
import { createSharedBudget, type SharedBudget } from '../../src/source/rate-limit/shared-budget.ts';
import { ConnectorError, type BudgetSpec } from '../../src/connector/contract.ts';
import { removeUnusedBudgets } from '../../src/store/budgets.ts';
import type { Database } from '../../src/store/database.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';

const signal = new AbortController().signal;
const spec: BudgetSpec = { match: '*', rate: 10, perMs: 1_000 };

/** Sleeps by moving the time, as long as nobody else does. */
function createMovingClock(): TestClock {
  const clock = createTestClock();
  return { ...clock, sleep: async (ms) => clock.advance(ms) };
}

describe.each(engines)('request budgets on %s', (engine) => {
  let opened: TestDatabase;
  let database: Database;
  let statements = 0;
  let names = 0;
  beforeAll(async () => {
    opened = await openTestDatabase(engine);
    database = {
      ...opened.database,
      transaction(work) {
        statements += 1;
        return opened.database.transaction(work);
      },
    };
  });
  afterAll(() => opened.close());

  /** The same budget as two processes see it. */
  function openTwice(clock: TestClock, one: BudgetSpec = spec) {
    const key = { scope: `test ${names++}`, class: '*' };
    const open = () => createSharedBudget({ database, clock, key, spec: one });
    return { key, first: open(), second: open(), open };
  }

  /** Sends as many requests as there are tokens for. */
  async function exhaust(budget: SharedBudget): Promise<{ sent: number; notBefore: number }> {
    for (let sent = 0; ;) {
      while (budget.take()) sent += 1;
      const notBefore = await budget.refill();
      if (notBefore !== null) return { sent, notBefore };
    }
  }

  it('are shared: two processes together send no more than the rate', async () => {
    const clock = createTestClock();
    const { first, second } = openTwice(clock);
    const sent = [await exhaust(first), await exhaust(second)];
    expect(sent.map((one) => one.sent)).toEqual([10, 0]);
    clock.advance(sent[1]!.notBefore - clock.now().getTime());
    const [left, right] = await Promise.all([exhaust(first), exhaust(second)]);
    expect(left.sent + right.sent).toBeLessThanOrEqual(10);
    expect(left.sent + right.sent).toBeGreaterThanOrEqual(8);
  });

  it('count requests of different weights against one rate', async () => {
    const clock = createTestClock();
    const { first } = openTwice(clock, { match: '*', rate: 100, perMs: 1_000, weight: 40 });
    const light = first.weighing(5);
    expect((await exhaust(first)).sent).toBe(2);
    expect((await exhaust(light)).sent).toBe(4);
    expect((await exhaust(light)).sent).toBe(0);
    expect((await exhaust(first)).sent).toBe(0);
  });

  it('cost far fewer statements than requests', async () => {
    const clock = createTestClock();
    const { first } = openTwice(clock, { match: '*', rate: 10_000, perMs: 1_000 });
    statements = 0;
    const { sent } = await exhaust(first);
    expect(sent).toBe(10_000);
    expect(statements).toBeLessThan(30);
  });

  it('use what one process took and left over', async () => {
    const clock = createTestClock();
    const { first, second } = openTwice(clock, { match: '*', rate: 100, perMs: 60_000 });
    for (let sent = 0; sent < 3;) {
      if (first.take()) sent += 1;
      else await first.refill();
    }
    clock.advance(600);
    expect(first.take()).toBe(false);
    await first.refill();
    expect(first.take()).toBe(true);
    clock.advance(600);
    await first.refill();
    expect((await exhaust(second)).sent).toBeGreaterThanOrEqual(90);
  });

  it('stop in every process when the source refuses in one', async () => {
    const clock = createTestClock();
    const { first, second } = openTwice(clock);
    await first.refill();
    expect(first.take()).toBe(true);
    const until = clock.now().getTime() + 30_000;
    expect(await first.refused({ until, slowDown: true })).toBe(until);
    expect(first.take()).toBe(false);
    expect(await first.refill()).toBe(until);
    expect(await exhaust(second)).toEqual({ sent: 0, notBefore: until });
    clock.advance(29_999);
    expect((await exhaust(second)).sent).toBe(0);
    clock.advance(1);
    expect((await exhaust(second)).sent).toBe(5);
  });

  it('pause for longer and longer when the source refuses and does not say for how long', async () => {
    const clock = createTestClock();
    const { first } = openTwice(clock);
    const pauses: number[] = [];
    for (let round = 0; round < 8; round++) {
      const now = clock.now().getTime();
      const [until, same] = [
        await first.refused({ until: null, slowDown: true }),
        await first.refused({ until: null, slowDown: true }),
      ];
      expect(same).toBe(until);
      pauses.push((until - now) / 60_000);
      clock.advance(until - now);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    first.ended(true);
    expect((await first.refused({ until: null, slowDown: true })) - clock.now().getTime()).toBe(60_000);
  });

  it('follow what the source says is left, in every process, minus the reserve and what is under way', async () => {
    const clock = createTestClock();
    const limits: BudgetSpec = { match: '*', rate: 1_000, perMs: 3_600_000, reserve: 0.1 };
    const { first, second } = openTwice(clock, limits);
    await first.refill();
    expect(first.take()).toBe(true);
    first.ended(true);
    const resetAt = clock.now().getTime() + 1_800_000;
    first.observed(107, resetAt);
    expect((await exhaust(first)).sent).toBe(7);
    expect(await exhaust(second)).toEqual({ sent: 0, notBefore: resetAt });
    clock.advance(1_800_000);
    expect((await exhaust(second)).sent).toBeGreaterThan(800);
  });

  it('throw a wait of more than 5 seconds, and sleep through a shorter one', async () => {
    const clock = createMovingClock();
    const send = async (budget: SharedBudget) => {
      const gate = createGate(4);
      const leave = await admit({ budgets: [budget], gate, signal, clock, target: 'GET host/path' });
      leave();
    };
    const quick = openTwice(clock, { match: '*', rate: 2, perMs: 4_000 }).first;
    for (let count = 0; count < 7; count++) await send(quick);
    const slow = openTwice(clock, { match: '*', rate: 2, perMs: 60_000 }).first;
    await send(slow);
    await send(slow);
    const before = clock.now().getTime();
    const error = await send(slow).catch((thrown: unknown) => thrown);
    expect(ConnectorError.is(error) && error).toMatchObject({ kind: 'rate_limited' });
    expect((error as ConnectorError).retryAt!.getTime() - before).toBeGreaterThanOrEqual(59_000);
    expect(clock.now().getTime()).toBe(before);
  });

  it('take of all budgets or of none', async () => {
    const clock = createTestClock();
    const wide = openTwice(clock, { match: '*', rate: 10, perMs: 60_000 });
    const narrow = openTwice(clock, { match: 'GET host/search', rate: 1, perMs: 60_000 });
    const entry = { gate: createGate(4), signal, clock, target: 'GET host/search' };
    await admit({ ...entry, budgets: [wide.first, narrow.first] });
    for (let count = 0; count < 5; count++) {
      await expect(admit({ ...entry, budgets: [wide.first, narrow.first] })).rejects.toThrow('request budget');
    }
    clock.advance(1_000);
    expect((await exhaust(wide.first)).sent).toBe(9);
  });

  it('are exact under random interleavings of two processes', async () => {
    const step = fc.record({
      process: fc.nat(1),
      kind: fc.constantFrom('send', 'send', 'send', 'together', 'wait', 'restart'),
      waitMs: fc.integer({ min: 1, max: 400 }),
    });
    const limits = fc.record({
      match: fc.constant('*'),
      rate: fc.integer({ min: 1, max: 12 }),
      perMs: fc.constant(1_000),
    });
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { minLength: 10, maxLength: 40 }), async (one, steps) => {
        const clock = createTestClock();
        const { first, second, open } = openTwice(clock, one);
        const processes = [first, second];
        const sentAt: number[] = [];
        const send = async (budget: SharedBudget) => {
          const taken = budget.take() || ((await budget.refill()) === null && budget.take());
          if (taken) sentAt.push(clock.now().getTime());
        };
        for (const { process, kind, waitMs } of steps) {
          if (kind === 'wait') clock.advance(waitMs);
          if (kind === 'restart') processes[process] = open();
          if (kind === 'send') await send(processes[process]!);
          if (kind === 'together') await Promise.all([send(processes[0]!), send(processes[1]!), send(processes[0]!)]);
        }
        const sums = sentAt.map((at) => sentAt.filter((other) => other >= at && other < at + 1_000).length);
        expect(Math.max(0, ...sums)).toBeLessThanOrEqual(one.rate);
      }),
      { numRuns: engine === 'pglite' ? 40 : 60 },
    );
  });

  it('are forgotten when nobody used them for long', async () => {
    const clock = createTestClock('2020-01-01T00:00:00Z');
    const { first, key } = openTwice(clock);
    await first.refill();
    expect(await removeUnusedBudgets(database, new Date('2020-01-02T00:00:00Z'))).toBe(1);
    expect(await database.query(sql`select 1 from budgets where scope = ${key.scope}`)).toEqual([]);
  });
});
