import { transient } from 'memoryd/connector';
import { readBlocks, type PageText } from './blocks.ts';
import { ask, isKind, isRefused, type NotionContext } from './client.ts';

/** Requests for what one answer leaves out, and bytes of a page; the rest is named as missing. */
const mostExtras = 500;
const mostBytes = 16 * 1024 * 1024;

/**
 * One request for a page of up to some 20,000 blocks, and one for each part that the answer leaves out. Parts may leave
 * out further ones, and lead back to themselves. https://developers.notion.com/reference/retrieve-page-markdown
 */
export async function readText(ctx: NotionContext, id: string): Promise<PageText> {
  const first = await readMarkdown(ctx, id).catch((error: unknown) => {
    // Older kinds of pages have no Markdown.
    if (isRefused(error)) return null;
    throw error;
  });
  if (first === null) return readBlocks(ctx, id);
  let { markdown } = first;
  let missing = 0;
  const seen = new Set([id]);
  const waiting = [...first.unknown];
  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    if (seen.has(part)) continue;
    seen.add(part);
    const found = seen.size <= mostExtras && markdown.length < mostBytes ? await readPart(ctx, part) : null;
    if (found === null) missing += 1;
    else {
      waiting.push(...found.unknown);
      markdown = placed(markdown, part, found.markdown);
    }
  }
  return { markdown, missing, pages: pagesIn(markdown) };
}

/** A page below is shown by its address: https://developers.notion.com/guides/data-apis/enhanced-markdown */
function pagesIn(markdown: string): string[] {
  const addresses = [...markdown.matchAll(/<page\b[^>]*\burl="([^"]+)"/g)].map(([, url]) => url!.replaceAll('-', ''));
  return addresses.flatMap((url) => {
    const id = /^[^?#]*([0-9a-f]{32})\/?(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase();
    return id === undefined ? [] : [id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')];
  });
}

interface Markdown {
  markdown: string;
  unknown: string[];
}

async function readMarkdown(ctx: NotionContext, id: string): Promise<Markdown> {
  const answer = await ask(ctx, (notion) =>
    notion.pages.retrieveMarkdown({ page_id: id, include_transcript: ctx.config.transcripts ?? true }),
  );
  const { markdown, truncated, unknown_block_ids: unknown } = answer;
  if (typeof markdown !== 'string' || typeof truncated !== 'boolean' || !Array.isArray(unknown)) {
    throw transient('Notion answered a page without its text.');
  }
  return { markdown, unknown };
}

/** Null for a part that is not shared, or of a kind that Notion does not put into words. */
async function readPart(ctx: NotionContext, id: string): Promise<Markdown | null> {
  try {
    return await readMarkdown(ctx, id);
  } catch (error) {
    if (isKind(error, 'gone', 'forbidden') || isRefused(error)) return null;
    throw error;
  }
}

/** In place of the mark that Notion has left for it, else at the end. */
function placed(whole: string, id: string, part: string): string {
  if (part.trim() === '') return whole;
  const mark = new RegExp(`^.*<unknown\\b[^>]*${id.replaceAll('-', '')}[^>]*/?>.*$`, 'm');
  const found = mark.exec(whole);
  if (!found) return `${whole.trimEnd()}\n\n${part}`;
  return `${whole.slice(0, found.index)}${part}${whole.slice(found.index + found[0].length)}`;
}
