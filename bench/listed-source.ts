import { defineConnector, type Connector, type Ref } from '../src/connector/contract.ts';

const refsPerPage = 1_000;

/** What was asked of the source since `reset`. */
export interface Asked {
  requests: number;
  refs: number;
}

/**
 * A source that costs nothing: refs are made up page by page, and texts are ready, each another one. With `changes` it
 * also has a position, after which `edited` items changed.
 */
export function createListedSource(options: { items: number; textOf(index: number): string; incremental: boolean }) {
  const { items, textOf } = options;
  const textById = (id: string) => textOf(Number(id.slice(id.lastIndexOf('-') + 1)));
  const asked: Asked = { requests: 0, refs: 0 };
  const ref = (index: number): Ref => {
    const id = `item-${String(index).padStart(7, '0')}`;
    return { id, rev: 'r1', title: id, path: `/folder-${index % 100}/${id}`, size: textOf(index).length };
  };
  const connector: Connector<any, any> = defineConnector<any, any>({
    spec: {
      name: 'listed',
      version: '1.0.0',
      title: 'Listed',
      kind: 'other',
      description: 'Items that cost nothing.',
      config: { type: 'object' },
      auth: [],
    },
    check: async () => [],
    partitions: async () => [{ id: 'all' }],
    async list(_context, _partition, from?: { at: number }) {
      asked.requests += 1;
      const at = from?.at ?? 0;
      const count = Math.min(refsPerPage, items - at);
      asked.refs += count;
      const refs = Array.from({ length: count }, (_, index) => ref(at + index));
      return at + count < items ? { refs, next: { at: at + count } } : { refs, done: true };
    },
    fetch: async (_context, _partition, { id }) => ({ text: textById(id) }),
    async *fetchMany(_context, _partition, refs) {
      for (const { id } of refs) yield [id, { text: textById(id) }];
    },
    ...(options.incremental && {
      head: async () => ({ since: 1 }),
      async changes() {
        asked.requests += 1;
        return { refs: [], gone: [], next: { since: 1 }, done: true };
      },
    }),
  });
  return { connector, asked };
}
