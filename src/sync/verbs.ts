import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { transient } from '../connector/contract.ts';
import { judgeError } from './failure.ts';

/** Calls into a connector, which may throw anything, take for ever, or not heed its signal. */
export interface Verbs {
  /**
   * Calls one verb. Throws `ConnectorError` for whatever the connector throws and for one that does
   * not answer in time, `MemorydError` as it is, and the signal's reason when it aborts.
   */
  call<T>(verb: string, invoke: () => T | Promise<T>): Promise<T>;
  close(): void;
}

/** How long an aborted call may take to end by itself. */
const graceMs = 5_000;
const looks = 10;

interface Call {
  verb: string;
  sinceMs: number;
  giveUp(error: unknown): void;
}

export function createVerbs(options: {
  provider: string;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  timeoutMs: number;
}): Verbs {
  const { provider, clock, log, signal, timeoutMs } = options;
  const calls = new Set<Call>();
  const closed = new AbortController();
  void watch();
  signal.addEventListener('abort', () => void abandon(), { once: true });

  /** One watch over all calls: a timer for each would cost more than the calls. */
  async function watch(): Promise<void> {
    while (!closed.signal.aborted) {
      await clock.sleep(timeoutMs / looks, closed.signal);
      const now = clock.now().getTime();
      for (const call of calls) {
        if (now - call.sinceMs < timeoutMs) continue;
        call.giveUp(
          transient(`The connector did not answer within ${Math.round(timeoutMs / 1_000)} seconds (${call.verb}).`),
        );
      }
    }
  }

  async function abandon(): Promise<void> {
    await clock.sleep(graceMs, closed.signal);
    for (const call of calls) call.giveUp(signal.reason);
  }

  async function inTime<T>(verb: string, invoke: () => T | Promise<T>): Promise<T> {
    let call: Call | undefined;
    const givenUp = new Promise<never>((_resolve, reject) => {
      call = { verb, sinceMs: clock.now().getTime(), giveUp: reject };
      calls.add(call);
    });
    try {
      return await Promise.race([invoke(), givenUp]);
    } finally {
      calls.delete(call!);
    }
  }

  return {
    async call(verb, invoke) {
      signal.throwIfAborted();
      try {
        return await inTime(verb, invoke);
      } catch (error) {
        signal.throwIfAborted();
        throw judgeError(error, { provider, verb, log, now: clock.now() });
      }
    },
    close: () => closed.abort(),
  };
}
