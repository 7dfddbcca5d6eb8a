import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { findConnection, listConnections, requestSync, type RequestedSync } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { openConnectionContext } from './connection-context.ts';
import type { Connector, Hint } from './contract.ts';
import type { Credentials } from './credentials/credentials.ts';
import type { Outbound } from './http/outbound.ts';

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
  /** Starts and stops watchers so that just the active connections are watched. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** More hinted ids than this are not worth looking up one by one. */
const maxHintedIds = 5_000;

/** Keeps the `watch` verb of active connections running, and turns its hints into sync requests. */
export function createWatching(options: WatchingOptions): Watching {
  const { database, log } = options;
  const watchers = new Map<string, { stop: AbortController; done: Promise<void> }>();
  let closed = false;

  async function refresh(): Promise<void> {
    const active = (await listConnections(database, null)).filter((one) => one.status === 'active');
    const wanted = new Set(active.map((one) => one.id));
    for (const [id, watcher] of watchers) if (!wanted.has(id)) watcher.stop.abort();
    for (const { id, provider } of active) {
      if (closed || watchers.has(id)) continue;
      const connector = await options.connector(provider).catch(() => null);
      if (connector?.watch && !watchers.has(id)) start(id, connector);
    }
  }

  function start(id: string, connector: Connector<any, any>): void {
    const stop = new AbortController();
    const done = watch(id, connector, stop.signal)
      .catch((error: unknown) => {
        if (!stop.signal.aborted)
          log.warn({ err: error, connectionId: id }, 'watching failed, changes arrive by schedule');
      })
      .finally(() => watchers.delete(id));
    watchers.set(id, { stop, done });
  }

  async function watch(id: string, connector: Connector<any, any>, signal: AbortSignal): Promise<void> {
    const connection = await findConnection(database, id);
    if (!connection) return;
    const opened = await openConnectionContext(options, { connection, connector, signal });
    const gather = createGatherer(options, id, connector.lookup !== undefined, signal);
    try {
      await opened.connector.watch!(opened.context, gather);
    } finally {
      await opened.dispose();
    }
  }

  return {
    refresh,
    async close() {
      closed = true;
      const running = [...watchers.values()];
      for (const watcher of running) watcher.stop.abort();
      await Promise.all(running.map((watcher) => watcher.done));
    },
  };
}

/** Gathers hints for a moment and then asks for one run that serves them all. */
function createGatherer(options: WatchingOptions, id: string, canLookUp: boolean, signal: AbortSignal) {
  let gathered: Map<string, Set<string>> | 'everything' | null = null;

  async function flush(): Promise<void> {
    await options.clock.sleep(options.debounceMs ?? 250, signal);
    const request = toRequest(gathered);
    gathered = null;
    if (signal.aborted) return;
    await options.database.transaction((tx) => requestSync(tx, id, request, options.clock.now()));
    await options.wake(id);
  }

  return (hint: Hint): void => {
    if (gathered === null) {
      gathered = new Map();
      flush().catch((error: unknown) =>
        options.log.warn({ err: error, connectionId: id }, 'hint lost, the next listing finds the change'),
      );
    }
    if (gathered === 'everything') return;
    if (hint.partition === undefined || hint.ids === undefined || !canLookUp) {
      gathered = 'everything';
      return;
    }
    const ids = gathered.get(hint.partition) ?? new Set();
    for (const one of hint.ids) ids.add(one);
    gathered.set(hint.partition, ids);
    if (ids.size > maxHintedIds) gathered = 'everything';
  };
}

function toRequest(gathered: Map<string, Set<string>> | 'everything' | null): RequestedSync {
  const base = { mode: 'incremental', trigger: 'event' } as const;
  if (gathered === null || gathered === 'everything') return base;
  return { ...base, hints: Object.fromEntries([...gathered].map(([partition, ids]) => [partition, [...ids]])) };
}
