import { expect, it } from 'vitest';
import { createPauses } from '../../../src/engine/write-batch.ts';

function workFor(durationMs: number): void {
  const end = performance.now() + durationMs;
  while (performance.now() < end);
}

it('lets everything else have turns during long work', async () => {
  let turns = 0;
  const stop = new AbortController();
  const turn = () => {
    turns += 1;
    if (!stop.signal.aborted) setImmediate(turn);
  };
  setImmediate(turn);
  const pause = createPauses();
  for (let step = 0; step < 20; step++) {
    workFor(2);
    await pause();
  }
  stop.abort();
  expect(turns).toBeGreaterThanOrEqual(20);
});
