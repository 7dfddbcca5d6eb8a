import type { JsonObject, Page } from 'memoryd/connector';
import { isKind, type NotionContext } from './client.ts';
import { readPage } from './page.ts';
import { refsOf } from './refs.ts';
import { isUnderTrash } from './scope.ts';

/** One request for each page, and for what it lies in. A page that Notion refuses to show is neither there nor gone. */
export async function lookUpPages(ctx: NotionContext, ids: readonly string[]): Promise<Page<JsonObject>> {
  const page: Page<JsonObject> & { gone: string[]; outside: string[] } = { refs: [], gone: [], outside: [] };
  for (const id of ids) {
    ctx.signal.throwIfAborted();
    try {
      const found = await readPage(ctx, id);
      if (!found || (await isUnderTrash(ctx, found))) {
        page.gone.push(id);
        continue;
      }
      const { refs, left, outside } = await refsOf(ctx, { pages: [found], sources: [] });
      page.refs.push(...refs);
      page.outside.push(...outside);
      page.gone.push(...left.filter((one) => !outside.includes(one)));
    } catch (error) {
      if (!isKind(error, 'forbidden')) throw error;
    }
  }
  return page;
}
