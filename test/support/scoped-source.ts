import {
  defineConnector,
  forbidden,
  type Connector,
  type Page,
  type Partition,
  type Ref,
} from '../../src/connector/contract.ts';

/** What an item of the source is; the rest of its ref is derived from it. */
export interface ScopedItem {
  text: string;
  /** Moves with each change. */
  rev?: number;
  path?: string;
  mimeType?: string;
  updatedAt?: string;
  labels?: string[];
  parent?: string;
  kind?: 'document' | 'container';
  fingerprint?: string;
}

interface Stored extends ScopedItem {
  rev: number;
}

/** A shelf is a resource that the user can select, and a partition. */
type Shelf = Map<string, Stored>;

/**
 * A source of shelves with items, in memory, for what decides which of them are mirrored: selection,
 * filters, folders, limits. Every request is counted, any can be made to fail.
 */
export function createScopedSource(options: { pageSize?: number } = {}) {
  const pageSize = options.pageSize ?? 3;
  const shelves = new Map<string, Shelf>();
  const log: { shelf: string; id: string }[] = [];
  const requests: string[] = [];
  let counter = 0;

  const state = {
    shelves,
    requests,
    /** Shelves that may not be looked into, and those that the source does not name. */
    forbidden: new Set<string>(),
    lost: new Set<string>(),
    /** Called before each request is answered; may throw. */
    intercept: (_request: string): void => {},
    put(shelf: string, id: string, item: ScopedItem): void {
      const items = shelves.get(shelf) ?? new Map<string, Stored>();
      shelves.set(shelf, items);
      items.set(id, { ...item, rev: item.rev ?? ++counter });
      log.push({ shelf, id });
    },
    /** Changes some facts of an item. */
    change(shelf: string, id: string, facts: Partial<ScopedItem>): void {
      const item = shelves.get(shelf)?.get(id);
      if (item) state.put(shelf, id, { ...item, rev: ++counter, ...facts });
    },
    /** Takes an item away; answers it, so that it can come back as it was. */
    remove(shelf: string, id: string): ScopedItem | undefined {
      const item = shelves.get(shelf)?.get(id);
      if (shelves.get(shelf)?.delete(id)) log.push({ shelf, id });
      return item;
    },
    fetches: () => requests.filter((request) => request.startsWith('fetch')),
  };

  function request(name: string): void {
    requests.push(name);
    state.intercept(name);
  }

  function refOf(id: string, item: Stored): Ref {
    const { path, mimeType, updatedAt, parent, kind, labels, fingerprint } = item;
    const given = { path, mimeType, updatedAt, parent, kind, fingerprint };
    const facts = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    return {
      id,
      rev: `r${item.rev}`,
      title: id,
      size: item.text.length,
      ...facts,
      ...(labels === undefined ? {} : { metadata: { labels } }),
    };
  }

  function enter({ id }: Partition): Shelf {
    if (state.forbidden.has(id)) throw forbidden('no access to the shelf');
    return shelves.get(id) ?? new Map();
  }

  function list(partition: Partition, from: { after: string } | undefined): Page<any> {
    request(`list ${partition.id}`);
    const items = enter(partition);
    const ids = [...items.keys()].sort().filter((id) => from === undefined || id > from.after);
    const page = ids.slice(0, pageSize);
    const refs = page.map((id) => refOf(id, items.get(id)!));
    return ids.length > pageSize ? { refs, next: { after: page.at(-1)! } } : { refs, done: true };
  }

  function changes(partition: Partition, from: { at: number }): Page<any> {
    request(`changes ${partition.id}`);
    const items = enter(partition);
    const slice = log.slice(from.at, from.at + pageSize);
    const ids = [...new Set(slice.filter((change) => change.shelf === partition.id).map((change) => change.id))];
    return {
      refs: ids.flatMap((id) => (items.has(id) ? [refOf(id, items.get(id)!)] : [])),
      gone: ids.filter((id) => !items.has(id)),
      next: { at: from.at + slice.length },
      done: from.at + slice.length >= log.length,
    };
  }

  function connector(abilities: { incremental?: boolean; tree?: boolean; name?: string } = {}): Connector<any, any> {
    return defineConnector<any, any>({
      spec: {
        name: abilities.name ?? 'scoped',
        version: '1.0.0',
        title: 'Shelves',
        kind: 'other',
        description: 'Items on shelves.',
        config: { type: 'object', properties: {}, additionalProperties: false },
        auth: [],
        schedule: { everyMs: 60_000 },
        ...(abilities.tree ? { scope: 'tree' as const } : {}),
      },
      check: async () => [],
      resources: async () => ({ resources: [...shelves.keys()].map((id) => ({ id, name: id })) }),
      async partitions({ selection }) {
        request('partitions');
        const wanted = new Set(abilities.tree ? [] : selection.map((resource) => resource.id));
        const ids = [...shelves.keys()].filter((id) => !state.lost.has(id) && (wanted.size === 0 || wanted.has(id)));
        return ids.map((id) => ({ id, resource: id }));
      },
      list: async (_context, partition, from) => list(partition, from),
      async fetch(_context, partition, wanted) {
        request(`fetch ${wanted.id}`);
        const item = enter(partition).get(wanted.id);
        return item ? { text: item.text, rev: `r${item.rev}` } : { gone: true };
      },
      ...(abilities.incremental
        ? {
            head: async () => ({ at: log.length }),
            changes: async (_context: unknown, partition: Partition, from: { at: number }) => changes(partition, from),
          }
        : {}),
    });
  }

  return Object.assign(state, { connector });
}
