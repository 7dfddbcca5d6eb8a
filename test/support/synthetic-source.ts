import {
  cursorExpired,
  defineConnector,
  sourceMissing,
  transient,
  type Connector,
  type Fetched,
  type Page,
  type Ref,
} from '../../src/connect/contract.ts';

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

  async function request(name: string): Promise<void> {
    requests.push(name);
    await onRequest(name);
    if (state.missing) throw sourceMissing('the source is not there');
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

  async function list(from: { after: string } | undefined): Promise<Page<any>> {
    await request('list');
    const ids = [...items.keys()]
      .sort()
      .filter((id) => (from === undefined || id > from.after) && !state.hidden.has(id));
    const page = ids.slice(0, pageSize);
    const rest = ids.length > pageSize;
    return {
      refs: page.map((id) => ref(id, items.get(id)!)),
      ...(state.incomplete === undefined ? {} : { incomplete: state.incomplete }),
      ...(rest ? { next: { after: page.at(-1)! } } : { done: true }),
    };
  }

  async function changes(position: { at: number }): Promise<Page<any>> {
    await request('changes');
    if (position.at < firstKnownChange) throw cursorExpired('the position is no longer known');
    const slice = log.slice(position.at, position.at + pageSize);
    const ids = new Set(slice.map((change) => change.id));
    return {
      ...present(ids),
      next: { at: position.at + slice.length },
      done: position.at + slice.length >= log.length,
    };
  }

  function present(ids: Iterable<string>): Pick<Page, 'refs'> & { gone: string[] } {
    const all = [...ids];
    return {
      refs: all.flatMap((id) => (items.has(id) ? [ref(id, items.get(id)!)] : [])),
      gone: all.filter((id) => !items.has(id)),
    };
  }

  const document = ({ text, rev }: Item) => ({ text, rev: `r${rev}` });

  async function* fetchMany(ids: string[]): AsyncIterable<[string, Fetched]> {
    await request(`fetch ${ids.join(' ')}`);
    for (const id of ids) {
      const item = items.get(id);
      if (item) yield [id, { ...document(item), title: id }];
    }
  }

  function connector(abilities: Abilities = {}): Connector<any, any> {
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
      },
      check: async () => [],
      partitions: async () => [{ id: 'all', title: 'Everything' }],
      list: (_context, _partition, from) => list(from),
      async fetch(_context, _partition, wanted) {
        await request(`fetch ${wanted.id}`);
        const item = items.get(wanted.id);
        return item ? { ...document(item), title: wanted.id } : { gone: true };
      },
      ...(abilities.incremental
        ? {
            head: async () => {
              await request('head');
              return { at: log.length };
            },
            changes: (_context: unknown, _partition: unknown, from: { at: number }) => changes(from),
          }
        : {}),
      ...(abilities.batches && {
        fetchMany: (_context: unknown, _partition: unknown, refs: Ref[]) => fetchMany(refs.map((one) => one.id)),
      }),
      ...(abilities.lookup
        ? {
            lookup: async (_context: unknown, _partition: unknown, ids: string[]) => {
              await request('lookup');
              return present(ids);
            },
          }
        : {}),
    });
  }

  return Object.assign(state, { connector, fail: (message = 'the source failed') => transient(message) });
}
