import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import {
  findConnection,
  listConnections,
  requestSync,
  setUnwatched,
  type ConnectionRow,
  type RequestedSync,
} from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { openConnectionContext } from '../source/context.ts';
import type { Connector, Hint } from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import { runFailure } from '../sync/failure.ts';
import type { Outbound } from '../source/http/outbound.ts';

export interface WatchingOptions {
  database: Database;
  /** Absent: no connection has any. */
  credentials?: Credentials;
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  clock: Clock;
  log: Logger;
  connector(name: string): Promise<Connector<any, any>>;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
  /** Hints that arrive within this time become one run. Default 250. */
  debounceMs?: number;
}

export interface Watching {
  /**
   * Starts and stops watchers so that just the active connections are watched, as they are configured now.
   * Resolves when new ones have begun to watch, so that a sync that begins later sees what they did not.
   */
  refresh(): Promise<void>;
  /** Resolves when this connection is watched, if it is one that can be: another process may have made it just now. */
  begin(connectionId: string): Promise<void>;
  /** `refresh` again and again until the signal aborts: other processes make and change connections too. */
  keepRunning(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface Watcher {
  /** The configuration that it watches by. */
  config: string;
  stop: AbortController;
  done: Promise<void>;
}

const lookEveryMs = 5_000;
/** How long a sync waits for the watch of its source to begin. */
const patienceMs = 2_000;
/** A watch that failed is tried again so much later. */
const pauseMs = 60_000;

const failedMessage = 'Changes are found by the schedule, because watching the source failed.';

/** Keeps the `watch` verb of active connections running, and turns its hints into sync requests. */
export function createWatching(options: WatchingOptions): Watching {
  const { database, log } = options;
  const watchers = new Map<string, Watcher>();
  const restingUntilMs = new Map<string, number>();
  let closed = false;

  async function refresh(): Promise<void> {
    const active = (await listConnections(database, null)).filter((one) => one.status === 'active');
    const wanted = new Map(active.map((one) => [one.id, JSON.stringify(one.config)]));
    const stale = [...watchers].filter(([id, { config }]) => wanted.get(id) !== config);
    for (const [, watcher] of stale) watcher.stop.abort();
    await Promise.all(stale.map(([, watcher]) => watcher.done));
    await Promise.all(active.map(startIfNew));
  }

  async function startIfNew({ id, provider, config }: ConnectionRow): Promise<void> {
    if ((restingUntilMs.get(id) ?? 0) > options.clock.now().getTime()) return;
    const connector = await options.connector(provider).catch(() => null);
    if (!closed && connector?.watch && !watchers.has(id)) await start(id, connector, JSON.stringify(config));
  }

  async function begin(id: string): Promise<void> {
    if (closed || watchers.has(id)) return;
    const connection = await findConnection(database, id);
    if (connection?.status === 'active') await startIfNew(connection);
  }

  function start(id: string, connector: Connector<any, any>, config: string): Promise<void> {
    const stop = new AbortController();
    const first = Promise.withResolvers<void>();
    const done = watch(options, id, { connector, signal: stop.signal, begun: first.resolve })
      .catch(async (error: unknown) => {
        if (stop.signal.aborted) return;
        restingUntilMs.set(id, options.clock.now().getTime() + pauseMs);
        await noteFailure(options, id, error);
      })
      .finally(() => watchers.delete(id));
    const begun = Promise.race([first.promise, done, options.clock.sleep(patienceMs, stop.signal)]);
    watchers.set(id, { config, stop, done });
    return begun;
  }

  return {
    refresh,
    begin,
    async keepRunning(signal) {
      while (!signal.aborted) {
        await refresh().catch((error: unknown) => log.warn({ err: error }, 'watching could not be brought up to date'));
        await options.clock.sleep(lookEveryMs, signal);
      }
    },
    async close() {
      closed = true;
      const running = [...watchers.values()];
      for (const watcher of running) watcher.stop.abort();
      await Promise.all(running.map((watcher) => watcher.done));
    },
  };
}

async function noteFailure({ database, log }: WatchingOptions, id: string, error: unknown): Promise<void> {
  log.warn({ err: error, connectionId: id }, 'watching failed, changes arrive by schedule');
  await setUnwatched(database, id, `${failedMessage} ${runFailure(error).message}`).catch((unnoted: unknown) =>
    log.warn({ err: unnoted, connectionId: id }, 'a failed watch could not be noted'),
  );
}

/** Watches one connection until the signal aborts, and asks for syncs. `begun` is called with the first one. */
async function watch(
  options: WatchingOptions,
  id: string,
  { connector, signal, begun }: { connector: Connector<any, any>; signal: AbortSignal; begun: () => void },
): Promise<void> {
  const { database, clock, log } = options;
  const connection = await findConnection(database, id);
  if (!connection) return;
  const opened = await openConnectionContext(options, { connection, connector, signal });
  const gather = createHintGathering({
    clock,
    debounceMs: options.debounceMs ?? 250,
    canLookUp: connector.lookup !== undefined,
    signal,
    async request(sync, late) {
      await database.transaction(async (tx) => {
        await setUnwatched(tx, id, late);
        await requestSync(tx, id, sync, { now: clock.now() });
      });
      begun();
      await options.wake(id);
    },
    failed: (error) => log.warn({ err: error, connectionId: id }, 'hint lost, the next listing finds the change'),
  });
  try {
    await opened.connector.watch!(opened.context, gather);
  } finally {
    await opened.dispose();
  }
}

interface HintGatheringOptions {
  clock: Clock;
  /** Hints that arrive within this time become one run. */
  debounceMs: number;
  /** Without it a hint at one item is a hint at everything. */
  canLookUp: boolean;
  signal: AbortSignal;
  /** Asks for the run; `late` is why changes are not seen at once, null where they are. */
  request(sync: RequestedSync, late: string | null): Promise<void>;
  failed(error: unknown): void;
}

/** More hinted ids than this are not worth looking up one by one. */
const maxHintedIds = 5_000;
/** The longest pause for an item that keeps changing, so that a file that never rests keeps no run going. */
const longestPauseMs = 10_000;
/** After so much time without a hint the next one counts as the first. */
const forgottenAfterMs = 2 * longestPauseMs;

/** One item by its id, or undefined for everything. */
type Target = { partition: string; id: string } | undefined;

/** Gathers hints for a moment and then asks for one run that serves them all. */
export function createHintGathering(options: HintGatheringOptions): (hint: Hint) => void {
  const { clock, debounceMs, signal } = options;
  const pauses = createPauses(clock, debounceMs);
  const resting = new Set<string>();
  let gathered: Map<string, Target> | null = null;
  let late: string | null = null;

  async function flush(): Promise<void> {
    await clock.sleep(debounceMs, signal);
    const targets = gathered!;
    gathered = null;
    if (signal.aborted) return;
    pauses.taken(targets.keys());
    await options.request(toRequest([...targets.values()]), late);
  }

  function gather(key: string, target: Target): void {
    if (gathered === null) {
      gathered = new Map();
      flush().catch(options.failed);
    }
    gathered.set(key, target);
  }

  async function gatherAfter(pauseMs: number, key: string, target: Target): Promise<void> {
    resting.add(key);
    await clock.sleep(pauseMs, signal);
    resting.delete(key);
    if (!signal.aborted) gather(key, target);
  }

  return (hint) => {
    late = hint.late ?? null;
    for (const target of targetsOf(hint, options.canLookUp)) {
      const key = target === undefined ? '' : JSON.stringify([target.partition, target.id]);
      if (resting.has(key)) continue;
      const pauseMs = pauses.leftMs(key);
      if (pauseMs > 0) gatherAfter(pauseMs, key, target).catch(options.failed);
      else gather(key, target);
    }
  };
}

function targetsOf({ partition, ids }: Hint, canLookUp: boolean): Target[] {
  if (partition === undefined || ids === undefined || !canLookUp) return [undefined];
  return ids.map((id) => ({ partition, id }));
}

function toRequest(targets: readonly Target[]): RequestedSync {
  const base = { mode: 'incremental', trigger: 'event' } as const;
  const named = targets.filter((target) => target !== undefined);
  if (named.length < targets.length || named.length > maxHintedIds) return base;
  const byPartition = Map.groupBy(named, ({ partition }) => partition);
  return { ...base, hints: Object.fromEntries([...byPartition].map(([key, each]) => [key, each.map(({ id }) => id)])) };
}

/** How long each target has to wait since it was last asked for: twice as long each time, from `firstMs` on. */
function createPauses(clock: Clock, firstMs: number) {
  let last = new Map<string, { atMs: number; pauseMs: number }>();
  /** A clock that was set back makes nobody wait. */
  const sinceMs = (atMs: number) => {
    const ms = clock.now().getTime() - atMs;
    return ms < 0 ? Infinity : ms;
  };

  return {
    leftMs(key: string): number {
      const one = last.get(key);
      return one === undefined ? 0 : Math.max(0, one.pauseMs - sinceMs(one.atMs));
    },
    taken(keys: Iterable<string>): void {
      last = new Map([...last].filter(([, { atMs }]) => sinceMs(atMs) < forgottenAfterMs));
      const atMs = clock.now().getTime();
      for (const key of keys) {
        const before = last.get(key);
        last.set(key, { atMs, pauseMs: before ? Math.min(before.pauseMs * 2, longestPauseMs) : firstMs });
      }
    },
  };
}
