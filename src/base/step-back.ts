import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

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
