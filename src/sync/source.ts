import type { Connector, ConnectorSpec, Context, Fetched, Json, Partition, Ref } from '../connector/contract.ts';
import { checkFetched } from './fetched.ts';
import { checkCursor, checkPage, checkPartitions, type CheckedPage } from './page.ts';
import type { RunReport } from './run-report.ts';
import type { Verbs } from './verbs.ts';

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
