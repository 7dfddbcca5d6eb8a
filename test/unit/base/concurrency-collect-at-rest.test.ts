import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';

const workers: Worker[] = [];
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.terminate())));

/** A thread that fills its heap, is done, and tells at each look how many megabytes the heap has. */
function startThread(everyMs: number): Worker {
  const module = new URL('../../../src/base/concurrency.ts', import.meta.url).href;
  const program = `
    import { parentPort } from 'node:worker_threads';
    import { getHeapStatistics } from 'node:v8';
    import { collectAtRest } from ${JSON.stringify(module)};
    let kept = Array.from({ length: 500_000 }, (_, index) => ({ index }));
    const megabytes = () => getHeapStatistics().total_heap_size / 2 ** 20;
    parentPort.postMessage({ full: megabytes() });
    kept = null;
    collectAtRest(${everyMs});
    setInterval(() => parentPort.postMessage({ now: megabytes() }), 20);`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  workers.push(worker);
  return worker;
}

test('a thread that comes to rest gives back what its work has left', { timeout: 30_000 }, async () => {
  const worker = startThread(50);
  const [{ full }] = (await once(worker, 'message')) as [{ full: number }];
  expect(full).toBeGreaterThan(20);
  for (;;) {
    const [{ now }] = (await once(worker, 'message')) as [{ now: number }];
    if (now < full / 2) break;
  }
});
