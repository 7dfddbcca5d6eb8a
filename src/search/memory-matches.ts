import type { Search } from './search.ts';

/** The search that memories are chosen by: in one container, with nothing but their texts. Passages are none. */
export function searchMemories(search: Search) {
  return async (request: { containerTag: string; q: string; threshold: number; limit: number }) => {
    const { containerTag, ...rest } = request;
    const found = await search.search({ ...rest, mode: 'memories only', scope: { containerTags: [containerTag] } });
    return found.map(({ id, text, similarity }) => ({ id, memory: text, score: similarity }));
  };
}
