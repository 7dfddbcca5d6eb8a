import type { FetchedDocument } from 'memoryd/connector';
import { ask, isKind, listIn, type NotionContext } from './client.ts';
import { nameOf } from './names.ts';
import { plainText } from './shown.ts';

interface ShownComment {
  created_time?: string;
  created_by?: { id: string };
  rich_text?: { plain_text: string }[];
}

/** Open comments on a page, each with who wrote it. https://developers.notion.com/reference/list-comments */
export async function readComments(ctx: NotionContext, pageId: string): Promise<FetchedDocument[]> {
  const parts: FetchedDocument[] = [];
  let cursor: string | undefined;
  do {
    const from = cursor;
    const answer = await ask(ctx, (notion) =>
      notion.comments.list({ block_id: pageId, page_size: 100, ...(from && { start_cursor: from }) }),
    ).catch((error: unknown) => {
      // Without the capability to read comments there are none.
      if (isKind(error, 'forbidden')) return null;
      throw error;
    });
    if (answer === null) return parts;
    const { results, next } = listIn(answer);
    for (const comment of results as ShownComment[]) parts.push(await toPart(ctx, comment));
    cursor = next;
  } while (cursor !== undefined);
  return parts;
}

async function toPart(ctx: NotionContext, comment: ShownComment): Promise<FetchedDocument> {
  const { created_time: createdAt, created_by: writer, rich_text: text = [] } = comment;
  const author = writer && (await nameOf(ctx, writer.id));
  return {
    title: ['Comment', author, createdAt?.slice(0, 10)].filter(Boolean).join(', '),
    markdown: plainText(text),
    ...(author === undefined ? {} : { author }),
    ...(createdAt === undefined ? {} : { createdAt }),
  };
}
