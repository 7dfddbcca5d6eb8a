import {
  cursorExpired,
  defineConnector,
  sourceMissing,
  transient,
  type Connector,
  type Fetched,
  type Page,
  type Partition,
  type Ref,
} from '../../src/connector/contract.ts';

interface Item {
  text: string;
  rev: number;
  fingerprint: string;
  /** Changes with `describe`, without the text. */
  note: string;
}

export interface Abilities {
  incremental?: boolean;
  lookup?: boolean;
  /** Many items in one request. */
  batches?: boolean;
  /** Listings may leave items out without saying so; goes with `lookup`. */
  partial?: boolean;
  /** Items are spread over so many partitions. Default 1. */
  partitions?: number;
  /**
   * Pages of changes tell what happened and not what is there: what is back by now was gone on an earlier page, and what
   * went and came within a page is on it twice.
   */
  tellsHistory?: boolean;
}

/** What happens at the requests of one process. Both may throw or change the source. */
export interface RequestHooks {
  /** Before the request is answered. */
  before?(request: string): void | Promise<void>;
  /** When the answer is made and did not arrive yet. */
  after?(request: string): void | Promise<void>;
}

type Change = { id: string; gone: boolean };

/**
 * A source that lives in memory and has every ability a connector can have: items are created,
 * edited, renamed and deleted at will, and any request can be made to fail.
 */
export function createSyntheticSource(options: { pageSize?: number } = {}) {
  const pageSize = options.pageSize ?? 3;
  const items = new Map<string, Item>();
  const log: Change[] = [];
  let counter = 0;
  let firstKnownChange = 0;
  const requests: string[] = [];
  /** Called before each request is answered; may throw or change the source. */
  let onRequest: (request: string) => void | Promise<void> = () => {};

  const state = {
    items,
    requests,
    missing: false,
    incomplete: undefined as string | undefined,
    /** Ids that listings do not show although the items are there; say so with `incomplete`. */
    hidden: new Set<string>(),
    /** What of a listing's page is shown, of a source that leaves items out; asked anew for each page. */
    leavesOut: (_id: string): boolean => false,
    put(id: string, text: string) {
      const before = items.get(id);
      const fingerprint = before?.fingerprint ?? `f${counter + 1}`;
      items.set(id, { text, rev: ++counter, fingerprint, note: before?.note ?? '' });
      log.push({ id, gone: false });
    },
    /** Changes what is known of an item, and not its text. */
    describe(id: string, note: string) {
      const item = items.get(id);
      if (!item) return;
      items.set(id, { ...item, note, rev: ++counter });
      log.push({ id, gone: false });
    },
    remove(id: string) {
      if (items.delete(id)) log.push({ id, gone: true });
    },
    /** Gone, and there again as it was. */
    reappear(id: string) {
      const item = items.get(id);
      if (!item) return;
      log.push({ id, gone: true });
      items.set(id, { ...item, rev: ++counter });
      log.push({ id, gone: false });
    },
    rename(from: string, to: string) {
      const item = items.get(from);
      if (!item || from === to) return;
      items.delete(from);
      items.set(to, { ...item, rev: ++counter });
      log.push({ id: from, gone: true }, { id: to, gone: false });
    },
    /** Positions older than now are forgotten. */
    expirePositions() {
      firstKnownChange = log.length;
    },
    intercept(hook: (request: string) => void | Promise<void>) {
      onRequest = hook;
    },
    /** What memory must hold: text by id. */
    texts: () => new Map([...items].map(([id, item]) => [id, item.text])),
    /** The same with everything else that memory must hold. */
    documents: () =>
      new Map([...items].map(([id, { text, note }]) => [id, { text, title: id, path: `/${id}`, metadata: { note } }])),
  };

  async function answer<Answer>(name: string, hooks: RequestHooks, make: () => Answer): Promise<Answer> {
    requests.push(name);
    await onRequest(name);
    await hooks.before?.(name);
    if (state.missing) throw sourceMissing('the source is not there');
    const made = make();
    await hooks.after?.(name);
    return made;
  }

  const ref = (id: string, item: Item): Ref => ({
    id,
    rev: `r${item.rev}`,
    fingerprint: item.fingerprint,
    title: id,
    path: `/${id}`,
    metadata: { note: item.note },
    size: item.text.length,
  });

  type Holds = (id: string) => boolean;

  function list(from: { after: string } | undefined, holds: Holds): Page<any> {
    const ids = [...items.keys()]
      .sort()
      .filter((id) => holds(id) && (from === undefined || id > from.after) && !state.hidden.has(id));
    const page = ids.slice(0, pageSize);
    const rest = ids.length > pageSize;
    return {
      refs: page.filter((id) => !state.leavesOut(id)).map((id) => ref(id, items.get(id)!)),
      ...(state.incomplete === undefined ? {} : { incomplete: state.incomplete }),
      ...(rest ? { next: { after: page.at(-1)! } } : { done: true }),
    };
  }

  function changes(position: { at: number }, holds: Holds, tellsHistory: boolean): Page<any> {
    if (position.at < firstKnownChange) throw cursorExpired('the position is no longer known');
    const slice = log.slice(position.at, position.at + pageSize);
    const own = slice.filter(({ id }) => holds(id));
    const end = { next: { at: position.at + slice.length }, done: position.at + slice.length >= log.length };
    return { ...(tellsHistory ? history(own) : present(new Set(own.map(({ id }) => id)))), ...end };
  }

  function present(ids: Iterable<string>): Pick<Page, 'refs'> & { gone: string[] } {
    const all = [...ids];
    return {
      refs: all.flatMap((id) => (items.has(id) ? [ref(id, items.get(id)!)] : [])),
      gone: all.filter((id) => !items.has(id)),
    };
  }

  /** An id that is both present and gone in these is present. */
  function history(slice: readonly Change[]): Pick<Page, 'refs'> & { gone: string[] } {
    const last = new Map(slice.map((change) => [change.id, change]));
    const shown = [...last.values()].filter((change) => !change.gone && items.has(change.id));
    const gone = slice.filter((change) => change.gone).map(({ id }) => id);
    const unseen = [...last.values()].filter((change) => !change.gone && !items.has(change.id));
    return {
      refs: shown.map(({ id }) => ref(id, items.get(id)!)),
      gone: [...new Set([...gone, ...unseen.map(({ id }) => id)])],
    };
  }

  const document = ({ text, rev }: Item) => ({ text, rev: `r${rev}` });

  function read(id: string): Fetched {
    const item = items.get(id);
    return item ? { ...document(item), title: id } : { gone: true };
  }

  function connector(abilities: Abilities = {}, hooks: RequestHooks = {}): Connector<any, any> {
    const { partitions = 1, tellsHistory = false } = abilities;
    const idOf = (index: number) => (partitions === 1 ? 'all' : `part-${index}`);
    const holdsOf = (partition: { id: string }) => (id: string) => partition.id === idOf(placeOf(id) % partitions);
    async function* fetchMany(ids: string[]): AsyncIterable<[string, Fetched]> {
      const found = await answer(`fetch ${ids.join(' ')}`, hooks, () => ids.map((id) => [id, read(id)] as const));
      for (const [id, fetched] of found) if (!('gone' in fetched)) yield [id, fetched];
    }
    return defineConnector<any, any>({
      spec: {
        name: 'synthetic',
        version: '1.0.0',
        title: 'Synthetic source',
        kind: 'other',
        description: 'Items in memory.',
        config: { type: 'object', properties: {}, additionalProperties: false },
        auth: [],
        schedule: { everyMs: 60_000 },
        ...(abilities.partial && { listing: 'partial' as const }),
      },
      check: async () => [],
      partitions: async () =>
        Array.from({ length: partitions }, (_, index) => ({ id: idOf(index), title: 'Everything' })),
      list: (_context, partition, from) => answer('list', hooks, () => list(from, holdsOf(partition))),
      fetch: (_context, _partition, wanted) => answer(`fetch ${wanted.id}`, hooks, () => read(wanted.id)),
      ...(abilities.incremental
        ? {
            head: () => answer('head', hooks, () => ({ at: log.length })),
            changes: (_context: unknown, partition: Partition, from: { at: number }) =>
              answer('changes', hooks, () => changes(from, holdsOf(partition), tellsHistory)),
          }
        : {}),
      ...(abilities.batches && {
        fetchMany: (_context: unknown, _partition: unknown, refs: Ref[]) => fetchMany(refs.map((one) => one.id)),
      }),
      ...((abilities.lookup || abilities.partial) && {
        lookup: (_context: unknown, _partition: unknown, ids: string[]) => answer('lookup', hooks, () => present(ids)),
      }),
    });
  }

  return Object.assign(state, { connector, fail: (message = 'the source failed') => transient(message) });
}

/** Which partition holds an id, before the number of partitions is known. */
function placeOf(id: string): number {
  return id.charCodeAt(0);
}
