import { ConnectorError } from '../connector/contract.ts';

/** Watches how fetching goes in a partition. */
export interface Breaker {
  /** One item; `error` is undefined when it went well. */
  add(error: unknown): void;
  /** Why fetching had better stop for a while; null when it need not. */
  trip(): Trip | null;
}

export interface Trip {
  reason: string;
  /** Nothing at all went well lately. */
  outage: boolean;
}

const failuresInARow = 10;
const windowSize = 100;
const leastSamples = 20;
const worstShare = 0.15;

/**
 * Trips when ten items in a row failed, or more than 15 % of the last hundred (of at least twenty).
 * Items that the account may not read say nothing about the source as a whole unless all are such.
 */
export function createBreaker(): Breaker {
  const recent: boolean[] = [];
  let inARow = 0;
  let last = '';

  return {
    add(error) {
      if (ConnectorError.is(error) && error.kind === 'skip') return;
      const failed = error !== undefined;
      inARow = failed ? inARow + 1 : 0;
      if (failed && ConnectorError.is(error)) last = ` The last error: ${error.message}`;
      recent.push(failed && !(ConnectorError.is(error) && error.kind === 'forbidden'));
      if (recent.length > windowSize) recent.shift();
    },
    trip() {
      if (inARow >= failuresInARow) {
        return { reason: `${inARow} items in a row could not be fetched.${last}`, outage: true };
      }
      const failed = recent.filter(Boolean).length;
      if (recent.length < leastSamples || failed <= recent.length * worstShare) return null;
      return { reason: `${failed} of the last ${recent.length} items could not be fetched.${last}`, outage: false };
    },
  };
}
