import type { Connector, Context, Fetched, Partition, Ref } from '../connector/contract.ts';

/** One call of a verb by the framework. */
export interface VerbCall {
  /** Counted from 1 over all verbs of a trial. */
  number: number;
  verb: string;
  /** What it was about: a partition and cursor, or ids. */
  detail: string;
  /** For `list` and `changes`: the partition, and the cursor as JSON. */
  partition?: string;
  cursor?: string;
  /** For `list`: which of several listings it is, from 1; absent for the first. */
  pass?: number;
  /** For `fetch`, `fetchMany` and `lookup`. */
  ids?: readonly string[];
}

export interface Watcher {
  /** What the connector gets in place of its context. */
  wrap(context: Context<any>): Context<any>;
  /** May throw in place of the call. */
  before(call: VerbCall): void | Promise<void>;
  /** Answers what the framework gets; may throw. */
  after(call: VerbCall, result: any): unknown;
  /** Whether `fetchMany` leaves this item out, so that it is fetched alone. */
  leavesOut(id: string): boolean;
}

/** The same connector, with each call of a verb seen by the watcher. */
export function watchConnector(connector: Connector<any, any>, watcher: Watcher): Connector<any, any> {
  let count = 0;

  async function seen<Result>(call: Omit<VerbCall, 'number'>, run: () => Promise<Result>): Promise<Result> {
    const numbered = { number: ++count, ...call };
    await watcher.before(numbered);
    return (await watcher.after(numbered, await run())) as Result;
  }

  const paged = (verb: string, partition: Partition, from: unknown, pass = 0) => ({
    verb,
    ...(pass > 0 && { pass }),
    detail: `${partition.id} ${from === undefined ? 'from the beginning' : `from ${JSON.stringify(from)}`}`,
    partition: partition.id,
    cursor: JSON.stringify(from ?? null),
  });

  async function* fetchMany(context: any, partition: Partition, refs: Ref[]): AsyncIterable<[string, Fetched]> {
    const ids = refs.map((ref) => ref.id);
    const call = { number: ++count, verb: 'fetchMany', detail: ids.join(', '), ids };
    await watcher.before(call);
    for await (const pair of connector.fetchMany!(watcher.wrap(context), partition, refs)) {
      if (!watcher.leavesOut(pair[0])) yield pair;
    }
    await watcher.after(call, undefined);
  }

  const { head, changes, lookup, resources } = connector;
  return {
    ...connector,
    partitions: (context) =>
      seen({ verb: 'partitions', detail: '' }, () => connector.partitions(watcher.wrap(context))),
    list: (context, partition, from, pass) =>
      seen(paged('list', partition, from, pass), () => connector.list(watcher.wrap(context), partition, from, pass)),
    fetch: (context, partition, ref) =>
      seen({ verb: 'fetch', detail: ref.id, ids: [ref.id] }, () =>
        connector.fetch(watcher.wrap(context), partition, ref),
      ),
    ...(head && {
      head: (context, partition) =>
        seen({ verb: 'head', detail: partition.id }, () => head.call(connector, watcher.wrap(context), partition)),
    }),
    ...(changes && {
      changes: (context, partition, from) =>
        seen(paged('changes', partition, from), () => changes.call(connector, watcher.wrap(context), partition, from)),
    }),
    ...(lookup && {
      lookup: (context, partition, ids) =>
        seen({ verb: 'lookup', detail: ids.join(', '), ids }, () =>
          lookup.call(connector, watcher.wrap(context), partition, ids),
        ),
    }),
    ...(resources && {
      resources: (context, parent, page) =>
        seen({ verb: 'resources', detail: parent ?? '' }, () =>
          resources.call(connector, watcher.wrap(context), parent, page),
        ),
    }),
    ...(connector.fetchMany && { fetchMany }),
  };
}
