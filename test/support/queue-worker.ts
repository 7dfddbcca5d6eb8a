/**
 * A process of its own that works on `process-documents`, for tests that kill or share. Writes
 * `ready`, then `start <slot>` and `end <slot>` lines. Arguments: the URL of Redis, the key prefix,
 * and how many milliseconds a task takes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openBullmqQueue } from '../../src/queue/bullmq.ts';

const [url = '', prefix = '', durationMs = '0'] = process.argv.slice(2);
const queue = await openBullmqQueue({ url, prefix, clock: systemClock, log: silentLogger });

await queue.work(
  'process-documents',
  async ({ slot }) => {
    process.stdout.write(`start ${slot}\n`);
    await sleep(Number(durationMs));
    process.stdout.write(`end ${slot}\n`);
  },
  { concurrency: 2 },
);
process.stdout.write('ready\n');
process.on('SIGTERM', () => void queue.close());
