import { setImmediate as nextTurn } from 'node:timers/promises';

const everyMs = 1;

/**
 * For work that fills the event loop: to be awaited between its steps. Lets everything else have its turn
 * once a millisecond, so that requests are answered and statements of others sent meanwhile.
 */
export function createPauses(): () => Promise<void> | undefined {
  let last = performance.now();
  async function pause(): Promise<void> {
    await nextTurn();
    last = performance.now();
  }
  return () => (performance.now() - last < everyMs ? undefined : pause());
}
