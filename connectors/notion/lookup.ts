import type { JsonObject, Page } from 'memoryd/connector';
import type { NotionContext } from './client.ts';
import { findPage } from './list.ts';
import { refsOf } from './refs.ts';
import { isUnderTrash } from './scope.ts';

/** One request for each page, and for what it lies in. */
export async function lookUpPages(ctx: NotionContext, ids: readonly string[]): Promise<Page<JsonObject>> {
  const page: Page<JsonObject> & { gone: string[] } = { refs: [], gone: [] };
  for (const id of ids) {
    ctx.signal.throwIfAborted();
    const found = await findPage(ctx, id);
    if (!found || (await isUnderTrash(ctx, found))) {
      page.gone.push(id);
      continue;
    }
    const { refs } = await refsOf(ctx, { pages: [found], sources: [] });
    if (refs.length > 0) page.refs.push(...refs);
    else page.gone.push(id);
  }
  return page;
}
