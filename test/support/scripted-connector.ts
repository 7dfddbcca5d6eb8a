import {
  defineConnector,
  type Connector,
  type Context,
  type Fetched,
  type Page,
  type Partition,
  type Ref,
} from '../../src/connector/contract.ts';

/** A verb that a test writes; whatever it answers or throws reaches the framework as it is. */
type Scripted = (partition: Partition, argument: any, context: Context<any>) => unknown;

export interface Script {
  name?: string;
  partitions?: () => unknown;
  list?: Scripted;
  fetch?: Scripted;
  head?: Scripted;
  changes?: Scripted;
  lookup?: Scripted;
  fetchMany?: (partition: Partition, refs: Ref[]) => AsyncIterable<unknown>;
  /** The selected folders of a source whose scope is a tree. */
  roots?: () => string[];
}

/** One page with items `a1`, `a2`, … whose text is their id. */
export function pageOf(...ids: string[]): Page {
  return { refs: ids.map((id) => ({ id, rev: 'r1' })), done: true };
}

/** A connector that does what a test says, right or wrong. */
export function scriptedConnector(script: Script): Connector<any, any> & { calls: string[] } {
  const calls: string[] = [];
  const call =
    (verb: string, scripted: Scripted) =>
    async (context: Context<any>, partition: Partition, argument?: any): Promise<any> => {
      calls.push(`${verb} ${partition.id}`);
      return scripted(partition, argument, context);
    };
  const optional = Object.fromEntries(
    (['head', 'changes', 'lookup'] as const).flatMap((verb) =>
      script[verb] ? [[verb, call(verb, script[verb])]] : [],
    ),
  );
  const connector = defineConnector<any, any>({
    spec: {
      name: script.name ?? 'scripted',
      version: '1.0.0',
      title: 'Scripted',
      kind: 'other',
      description: 'What a test says.',
      config: { type: 'object', properties: {}, additionalProperties: false },
      auth: [],
      schedule: { everyMs: 60_000 },
      ...(script.roots && { scope: 'tree' as const }),
    },
    check: async () => [],
    partitions: async () => (script.partitions ?? (() => [{ id: 'all' }]))() as Partition[],
    list: call('list', script.list ?? (() => pageOf())),
    fetch: call('fetch', script.fetch ?? ((_, ref: Ref): Fetched => ({ text: `text of ${ref.id}` }))),
    ...optional,
    ...(script.roots && { roots: async () => script.roots!() }),
    ...(script.fetchMany
      ? {
          fetchMany: (_context: unknown, partition: Partition, refs: Ref[]) => {
            calls.push(`fetchMany ${partition.id} ${refs.length}`);
            return script.fetchMany!(partition, refs) as AsyncIterable<[string, Fetched]>;
          },
        }
      : {}),
  });
  return Object.assign(connector, { calls });
}
