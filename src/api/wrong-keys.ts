import { isIPv6 } from 'node:net';
import { forgetOldest } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';

/** So many wrong keys cost an address nothing: somebody mistypes, a program has an old key. */
const free = 10;
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** Addresses that are remembered; the one that was quiet longest gives way. */
const maxAddresses = 10_000;

interface Attempts {
  count: number;
  /** The pause that the next wrong key costs begins to be forgotten then. */
  lastAtMs: number;
}

export interface WrongKeys {
  /** Notes a wrong key. Answers how long its sender is to wait in milliseconds; 0: not at all. */
  note(remoteAddress: string): number;
}

/**
 * Counts wrong keys by address. Who sends many is told to wait, longer each time, up to a minute; the pauses are
 * forgotten one by one in quiet times. Only wrong keys are counted and refused: a right one is taken from any address
 * at any time, so nobody is locked out by what others send from the same address.
 */
export function createWrongKeys(clock: Clock): WrongKeys {
  const addresses = new Map<string, Attempts>();

  function countNow(address: string, nowMs: number): number {
    const before = addresses.get(address);
    if (!before) return 0;
    const forgotten = Math.floor((nowMs - before.lastAtMs) / longestPauseMs);
    return Math.max(0, before.count - forgotten);
  }

  return {
    note(remoteAddress) {
      const nowMs = clock.now().getTime();
      const address = networkOf(remoteAddress);
      const count = Math.min(countNow(address, nowMs) + 1, free + 8);
      addresses.delete(address);
      addresses.set(address, { count, lastAtMs: nowMs });
      forgetOldest(addresses, maxAddresses);
      return count <= free ? 0 : Math.min(firstPauseMs * 2 ** (count - free - 1), longestPauseMs);
    },
  };
}

/** An owner of one IPv6 address has 2^64 of them. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === '' ? [] : tail.split(':');
  const whole = address.includes('::')
    ? [...groups, ...Array<string>(8 - groups.length - rest.length).fill('0'), ...rest]
    : groups;
  return whole.slice(0, 4).join(':');
}
