import { ask, listIn, type NotionContext } from './client.ts';
import { isPage, isSource, type ShownPage, type ShownSource } from './shown.ts';

export const pageSize = 100;

/** A page of a search or of a query, by what is in it. */
export interface Found {
  pages: ShownPage[];
  sources: ShownSource[];
  next: string | undefined;
  /** Notion ended the list before its end. https://developers.notion.com/guides/data-apis/query-large-data-sources */
  isCut: boolean;
  /** Entries of which nothing but the id is shown. */
  bare: number;
}

/** Everything that was shared with the integration, newest edit first unless it is asked for from the other end. */
export async function search(
  ctx: NotionContext,
  {
    cursor,
    direction = 'descending',
    inTrash,
  }: { cursor?: string | undefined; direction?: 'ascending' | 'descending'; inTrash?: true },
): Promise<Found> {
  const answer = await ask(ctx, (notion) =>
    notion.search({
      sort: { timestamp: 'last_edited_time', direction },
      page_size: pageSize,
      ...(inTrash && { filter: { in_trash: true } }),
      ...(cursor && { start_cursor: cursor }),
    }),
  );
  return foundIn(answer);
}

type ListAnswer = Parameters<typeof listIn<{ object: string }>>[0] & { request_status?: { type: string } };

export function foundIn(answer: ListAnswer): Found {
  const { results, next } = listIn(answer);
  const pages = results.filter(isPage);
  const sources = results.filter(isSource);
  return {
    pages,
    sources,
    next,
    isCut: answer.request_status?.type === 'incomplete',
    bare: results.length - pages.length - sources.length,
  };
}
