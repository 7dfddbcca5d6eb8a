import { startPrivateRedis } from './redis-server.ts';
import { openBullmqQueue } from '../../src/queue/bullmq.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
const redis = await startPrivateRedis({ appendOnly: false });
const sleep = (ms: number) => new Promise(r => setTimeout(r, ms));
let stuck = 0;
for (let i = 0; i < 30; i++) {
  const queue = await openBullmqQueue({ url: redis.url, clock: systemClock, log: silentLogger });
  let handled = 0;
  void queue.work('process-documents', async () => void handled++, { concurrency: 2 });
  void queue.enqueue('process-documents', { slot: 1 }, { key: 'x' }).catch(() => {});
  await sleep(i % 15);
  await redis.kill();
  await sleep((i * 7) % 40);
  await redis.start();
  const s = performance.now(); const before = handled;
  while (handled === before && performance.now() - s < 15000) { await queue.enqueue('process-documents', { slot: 1 }, { key: 'x' }).catch(() => {}); await sleep(20); }
  const took = Math.round(performance.now() - s);
  if (handled === before) stuck++;
  process.stdout.write(took + ' ');
  await queue.close();
}
console.log('stuck', stuck);
const queue = await openBullmqQueue({ url: redis.url, clock: systemClock, log: silentLogger });
await queue.work('process-documents', async () => {}, { concurrency: 2 });
await sleep(200);
await redis.kill();
await sleep(1000);
const s = performance.now();
await queue.close();
console.log('closed', performance.now() - s, process.getActiveResourcesInfo());
await redis[Symbol.asyncDispose]();
process.on('exit', () => console.log('exit after', performance.now() - s));
