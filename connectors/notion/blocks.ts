import { ask, isKind, listIn, type NotionContext } from './client.ts';
import { blockText, type ShownBlock } from './block-text.ts';

/** The text of a page. */
export interface PageText {
  markdown: string;
  /** Content that could not be shown, in words for people. */
  missing: number;
  /** Ids of the pages that lie in it. */
  pages: string[];
}

const deepest = 12;
const mostBlocks = 20_000;

interface Walk {
  ctx: NotionContext;
  /** Blocks whose children were read, so that a synced block that holds itself ends. */
  entered: Set<string>;
  count: number;
  missing: number;
  pages: string[];
}

/** The text of a page block by block, for pages that Notion cannot give as Markdown. */
export async function readBlocks(ctx: NotionContext, id: string): Promise<PageText> {
  const walk: Walk = { ctx, entered: new Set(), count: 0, missing: 0, pages: [] };
  const lines = await childrenOf(walk, id, 0);
  return { markdown: lines.join('\n\n'), missing: walk.missing, pages: walk.pages };
}

async function childrenOf(walk: Walk, id: string, depth: number): Promise<string[]> {
  if (walk.entered.has(id)) return [];
  walk.entered.add(id);
  const lines: string[] = [];
  let cursor: string | undefined;
  do {
    const from = cursor;
    const answer = await ask(walk.ctx, (notion) =>
      notion.blocks.children.list({ block_id: id, page_size: 100, ...(from && { start_cursor: from }) }),
    );
    const { results, next } = listIn(answer);
    for (const block of results as unknown as ShownBlock[]) lines.push(...(await linesOf(walk, block, depth)));
    cursor = next;
  } while (cursor !== undefined);
  return lines;
}

async function linesOf(walk: Walk, block: ShownBlock, depth: number): Promise<string[]> {
  walk.count += 1;
  if (block.type === 'child_page') walk.pages.push(block.id);
  const own = blockText(block);
  const indent = '  '.repeat(Math.min(depth, 6));
  const lines = own === '' ? [] : [own.replaceAll(/^/gm, indent)];
  const source = sourceOf(block);
  // Pages and databases below are items of their own.
  if (source === null) return lines;
  if (depth >= deepest || walk.count > mostBlocks) {
    walk.missing += 1;
    return lines;
  }
  try {
    lines.push(...(await childrenOf(walk, source, own === '' ? depth : depth + 1)));
  } catch (error) {
    // What a synced block shows may lie in a page that is not shared.
    if (!isKind(error, 'gone', 'forbidden')) throw error;
    walk.missing += 1;
  }
  return lines;
}

/** Where the children of a block are: a copy of a synced block shows those of the original. */
function sourceOf(block: ShownBlock): string | null {
  if (block.type === 'child_page' || block.type === 'child_database') return null;
  const original = block.type === 'synced_block' ? (block['synced_block'] as SyncedBlock).synced_from : null;
  if (original?.block_id) return original.block_id;
  return block.has_children === true ? block.id : null;
}

interface SyncedBlock {
  synced_from: { block_id?: string } | null;
}
