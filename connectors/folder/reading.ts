import { constants } from 'node:fs';
import type { FileFacts } from './facts.ts';

/** Never waits for the other end of a pipe, nor follows a link that has taken the file's place. */
export const openFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** Whether two looks found the same file with the same content, as far as the file system tells. */
export function isSame(facts: FileFacts, expected: FileFacts): boolean {
  return (
    facts.bytes === expected.bytes &&
    facts.modifiedMs === expected.modifiedMs &&
    facts.changedMs === expected.changedMs &&
    Number(facts.inode) === Number(expected.inode) &&
    Number(facts.device) === Number(expected.device)
  );
}

/**
 * How long after a write a further one may leave the same modification time. Times in whole seconds are taken for
 * those of FAT, whose clock ticks every 2 s; others tick every 10 ms at most (ext4 and XFS on Linux before 6.13).
 */
export function tickMsOf(facts: FileFacts): number {
  return facts.modifiedMs % 1_000 === 0 ? 2_000 : 10;
}

/** Programs that write a file in pieces seldom pause for longer between them. */
const quietMs = 250;

/** How long after its last write a file is taken to be whole. */
export function settleMsOf(facts: FileFacts): number {
  return Math.max(tickMsOf(facts), quietMs);
}

/** Where Linux says which path the file that is open as `descriptor` really has. */
export function descriptorPath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}
