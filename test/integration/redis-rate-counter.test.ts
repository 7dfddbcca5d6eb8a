import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createRedisRateCounter } from '../../src/queue/redis.ts';
import { describeWithService } from '../support/services.ts';

describeWithService('REDIS_URL', 'requests counted in Redis', (url) => {
  const open = (prefix: string, at = url) =>
    createRedisRateCounter({ url: at, prefix, clock: systemClock, log: silentLogger, patienceMs: 10_000 });

  it('are counted together by all processes, until their window ends', async () => {
    const prefix = `test-${randomUUID()}`;
    const processes = [open(prefix), open(prefix)];
    // Until it is connected each counts for itself, from one on.
    const inTurn = async (name: string) => {
      const [first, second] = [await processes[0]!.count(name, 60_000), await processes[1]!.count(name, 60_000)];
      return second.count - first.count;
    };
    await expect.poll(() => inTurn('warm')).toBe(1);
    const counts = [];
    for (let index = 0; index < 6; index++) counts.push((await processes[index % 2]!.count('key', 60_000)).count);
    expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
    const { endsAtMs } = await processes[0]!.count('key', 60_000);
    expect(endsAtMs).toBeLessThanOrEqual(Date.now() + 60_000);
    await processes[0]!.count('short', 1);
    await expect.poll(async () => (await processes[1]!.count('short', 1)).count).toBe(1);
    for (const one of processes) await one.close();
  });

  it('are counted by each process for itself while Redis does not answer', async () => {
    const alone = open('test', 'redis://127.0.0.1:1');
    expect((await alone.count('key', 60_000)).count).toBe(1);
    expect((await alone.count('key', 60_000)).count).toBe(2);
    await alone.close();
  });
});
