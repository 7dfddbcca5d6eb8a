import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIdempotency, type FirstRequest, type Idempotency } from '../../src/account/idempotency.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

const answer = { status: 200, contentType: 'application/json', text: '{"id":"a"}' };
const day = 24 * 60 * 60_000;

describe('answers under an Idempotency-Key', () => {
  let opened: TestDatabase;
  beforeAll(async () => {
    opened = await openTestDatabase();
  });
  afterAll(() => opened.close());

  /** Two processes on one database. */
  const open = (clock = createTestClock()) => {
    const { database } = opened;
    return { clock, one: createIdempotency({ database, clock }), two: createIdempotency({ database, clock }) };
  };
  const begin = async (process: Idempotency, name: string, body = 'hash') =>
    ((await process.begin(name, body)) as { first: FirstRequest }).first;

  it('are given again by any process, for a day', async () => {
    const { clock, one, two } = open();
    await one.end(await begin(one, 'kept'), answer);
    expect(await two.begin('kept', 'hash')).toEqual({ answer });
    clock.advance(day - 1);
    expect(await two.begin('kept', 'hash')).toEqual({ answer });
    clock.advance(1);
    expect(await two.begin('kept', 'hash')).toHaveProperty('first');
  });

  it('are waited for by the same request that came to another process', async () => {
    const { one, two } = open(systemClock as never);
    const [left, right] = [one.begin('both', 'hash'), two.begin('both', 'hash')];
    const winner = await Promise.race([left, right]);
    await one.end((winner as { first: FirstRequest }).first, answer);
    const both = await Promise.all([left, right]);
    expect(both.filter((each) => 'first' in each)).toHaveLength(1);
    expect(both).toContainEqual({ answer });
  });

  it('belong to one body, also while the first request is worked on', async () => {
    const { one, two } = open();
    const first = await begin(one, 'body');
    await expect(two.begin('body', 'other')).rejects.toMatchObject({ code: 'conflict', shouldRetry: false });
    await one.end(first, answer);
    await expect(two.begin('body', 'other')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('that are none let the next request be the first, as does a process that died', async () => {
    const { clock, one, two } = open();
    await one.end(await begin(one, 'failed'), null);
    const second = await begin(two, 'failed');
    clock.advance(5 * 60_000);
    const third = await begin(one, 'failed');
    // The one that was thought dead comes too late.
    await two.end(second, answer);
    await one.end(third, { ...answer, text: 'third' });
    expect(await two.begin('failed', 'hash')).toEqual({ answer: { ...answer, text: 'third' } });
  });
});
