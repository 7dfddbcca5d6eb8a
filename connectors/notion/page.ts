import { ask, isKind, type NotionContext } from './client.ts';
import { isPage, type ShownPage } from './shown.ts';

/** Undefined when it is not shared with the integration, or in the trash. */
export async function readPage(ctx: NotionContext, id: string): Promise<ShownPage | undefined> {
  try {
    const page = await ask(ctx, (notion) => notion.pages.retrieve({ page_id: id }));
    return isPage(page) && !page.in_trash ? page : undefined;
  } catch (error) {
    if (isKind(error, 'gone')) return undefined;
    throw error;
  }
}
