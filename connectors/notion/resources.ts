import type { Resource, ResourcePage } from 'memoryd/connector';
import { ask, listIn, type NotionContext } from './client.ts';
import { pageSize, search } from './search.ts';
import { plainText, sourceIdOf, titleOf, type ShownPage, type ShownSource } from './shown.ts';

const untitled = 'Untitled';

/** Pages and databases that the integration sees, without rows; below a page those in it. */
export async function resourcesOf(ctx: NotionContext, parent?: string, page?: string): Promise<ResourcePage> {
  if (parent !== undefined) return childrenOf(ctx, parent, page);
  const found = await search(ctx, { cursor: page });
  const pages = found.pages.filter((one) => sourceIdOf(one) === undefined).map(pageResource);
  return pageOf([...pages, ...found.sources.map(sourceResource)], found.next);
}

const pageOf = (resources: Resource[], next: string | undefined): ResourcePage => ({
  resources,
  ...(next === undefined ? {} : { next }),
});

const pageResource = (page: ShownPage): Resource => ({
  id: page.id,
  name: titleOf(page) || untitled,
  kind: 'page',
  hasChildren: true,
});

const sourceResource = (source: ShownSource): Resource => ({
  id: source.id,
  name: plainText(source.title) || untitled,
  kind: 'database',
  hasChildren: false,
});

interface ShownChild {
  id: string;
  type: string;
  child_page?: { title: string };
  child_database?: { title: string };
}

async function childrenOf(ctx: NotionContext, parent: string, page: string | undefined): Promise<ResourcePage> {
  const answer = await ask(ctx, (notion) =>
    notion.blocks.children.list({ block_id: parent, page_size: pageSize, ...(page && { start_cursor: page }) }),
  );
  const { results, next } = listIn(answer);
  const resources = (results as unknown as ShownChild[]).flatMap(
    ({ id, child_page: one, child_database: database }) => {
      if (one) return [{ id, name: one.title || untitled, kind: 'page', hasChildren: true }];
      return database ? [{ id, name: database.title || untitled, kind: 'database', hasChildren: false }] : [];
    },
  );
  return pageOf(resources, next);
}
