import {
  type Connector,
  type ConnectorSpec,
  type Context,
  type Fetched,
  type Json,
  type Partition,
  type Ref,
  transient,
} from '../connector/contract.ts';
import { checkFetched } from './check-item.ts';
import { checkCursor, checkPage, checkPartitions, type CheckedPage } from './check-page.ts';
import type { RunReport } from './run-lease.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { judgeError } from './failure.ts';

/**
 * The source of a run: the verbs of its connector, with each answer checked and what is odd about it reported. They
 * throw what `Verbs.call` throws, and `connector_invalid` for an answer that cannot be used.
 */
export interface Source {
  readonly spec: ConnectorSpec;
  has(verb: 'head' | 'changes' | 'lookup' | 'fetchMany'): boolean;
  partitions(): Promise<Partition[]>;
  list(partition: Partition, cursor: Json | undefined, pass?: number): Promise<CheckedPage>;
  /** The cursor of the feed as of now; null: there is no feed. */
  head(partition: Partition): Promise<Json>;
  changes(partition: Partition, cursor: Json): Promise<CheckedPage>;
  /** One page, which answers for all ids at once. */
  lookup(partition: Partition, ids: string[]): Promise<CheckedPage>;
  fetch(partition: Partition, ref: Ref): Promise<Fetched>;
  /** Hands on each answer as it comes, unchecked, until all have come or the signal aborts. */
  fetchMany(
    partition: Partition,
    refs: Ref[],
    take: (id: string, answer: unknown) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

export function openSource(options: {
  connector: Connector<any, any>;
  context: Context<any>;
  verbs: Verbs;
  report: RunReport;
}): Source {
  const { connector, context, verbs, report } = options;

  async function page(verb: string, partition: Partition, invoke: () => unknown): Promise<CheckedPage> {
    const checked = checkPage(await verbs.call(verb, invoke), verb);
    for (const { code, message } of checked.remarks) report.warn(partition.id, code, message);
    return checked;
  }

  return {
    spec: connector.spec,
    has: (verb) => connector[verb] !== undefined,
    partitions: async () => checkPartitions(await verbs.call('partitions', () => connector.partitions(context))),
    list: (partition, cursor, pass) => page('list', partition, () => connector.list(context, partition, cursor, pass)),
    async head(partition) {
      const cursor = await verbs.call('head', () => connector.head?.(context, partition));
      return checkCursor(cursor, 'head') ?? null;
    },
    changes: (partition, cursor) => page('changes', partition, () => connector.changes?.(context, partition, cursor)),
    lookup: (partition, ids) => page('lookup', partition, () => connector.lookup?.(context, partition, ids)),
    fetch: async (partition, ref) =>
      checkFetched(await verbs.call('fetch', () => connector.fetch(context, partition, ref))),
    fetchMany: (partition, refs, take, signal) =>
      verbs.call('fetchMany', async () => {
        for await (const entry of (connector.fetchMany?.(context, partition, refs) ?? []) as AsyncIterable<unknown>) {
          if (signal.aborted) return;
          const [id, answer] = Array.isArray(entry) ? (entry as unknown[]) : [];
          if (typeof id === 'string') take(id, answer);
        }
      }),
  };
}

/** Calls into a connector, which may throw anything, take for ever, or not heed its signal. */
interface Verbs {
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
