import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

const lookEveryMs = 2_000;
/** Shares of the time between two looks that the thread's loop was busy. */
const workShare = 0.2;
const restShare = 0.05;
const looksAtRest = 2;
/** Collecting a larger heap would hold the thread for longer than a request should wait. */
const largestHeapBytes = 128 * 2 ** 20;

/**
 * Gives back what a thread's work has left in memory, once whenever the thread rests after it. V8 looks for garbage
 * only when it is asked for memory, so what a start or a sync leaves would stay for as long as nothing happens.
 */
export function collectAtRest(everyMs = lookEveryMs): void {
  let [hasWorked, restingLooks] = [true, 0];
  let seen = performance.eventLoopUtilization();
  const look = () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    if (utilization > workShare) hasWorked = true;
    restingLooks = utilization < restShare ? restingLooks + 1 : 0;
    if (!hasWorked || restingLooks < looksAtRest) return;
    hasWorked = false;
    if (getHeapStatistics().total_heap_size <= largestHeapBytes) collect();
    seen = performance.eventLoopUtilization();
  };
  setInterval(look, everyMs).unref();
}

/** The function exists only where V8 is told so. */
function collect(): void {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void;
  collectGarbage({ type: 'major', flavor: 'last-resort' });
}

/** More than the process has, of 19. On a core that another thread wants as well, a tenth of it is left. */
const niceness = 10;

/**
 * Lets the threads that answer requests go before this one where cores are few. Only Linux has a niceness for each
 * thread (setpriority(2), "C library/kernel differences"); elsewhere it would be that of the whole process.
 */
export function stepBack(): void {
  if (process.platform !== 'linux') return;
  try {
    const [thread] = readlinkSync('/proc/thread-self').split('/').slice(-1);
    setPriority(Number(thread), Math.min(getPriority(process.pid) + niceness, constants.priority.PRIORITY_LOW));
  } catch {
    // Without /proc this thread competes with the requests; it does the same work.
  }
}
