import { scriptedConnector } from './scripted-connector.ts';

const ids = Array.from({ length: 60 }, (_, index) => `item-${String(index).padStart(2, '0')}`);

/** A source of sixty items in three pages, which every process sees alike; `rev` is that of all items. */
export function pagesOfSixty(source: { rev: string }, onPage: (page: number) => void = () => {}) {
  return scriptedConnector({
    list(_partition, from: number | undefined) {
      const page = from ?? 0;
      onPage(page);
      const refs = ids.slice(page * 20, page * 20 + 20).map((id) => ({ id, rev: source.rev }));
      return page === 2 ? { refs, done: true } : { refs, next: page + 1 };
    },
  });
}
