import type { Context, Fetched, Partition, Ref } from 'memoryd/connector';
import { defaultMaxItemBytes, type FolderConfig } from './config.ts';
import { diskThreadOf } from './disk-thread.ts';
import { toDocument } from './map.ts';
import { joinPath, relativePath } from './names.ts';
import { createRules } from './rules.ts';

/** Fewer are as well read one by one. */
const leastFiles = 16;
/** Larger files cost time to read, not to ask for. */
const largestFileBytes = 1024 * 1024;

/**
 * The files of which nothing out of the ordinary has to be said, read together. `fetchFile` is asked
 * for the others: those that are gone, changing, left out, large, or behind a link.
 */
export async function* fetchFiles(
  ctx: Context<FolderConfig>,
  partition: Partition,
  refs: readonly Ref[],
): AsyncGenerator<[id: string, fetched: Fetched]> {
  if (refs.length < leastFiles) return;
  const thread = await diskThreadOf(ctx);
  if (!thread.isReady) return;
  const root = partition.id;
  const files = await allowedFiles(ctx, root, refs);
  const contents = await thread.read(
    files.map(({ path }) => joinPath(root, path)),
    {
      maxBytes: Math.min(ctx.config.maxItemBytes ?? defaultMaxItemBytes, largestFileBytes),
      nowMs: ctx.now().getTime(),
    },
    ctx.signal,
  );
  for (const [index, { id, path }] of files.entries()) {
    const content = contents[index];
    if (content !== undefined) yield [id, toDocument(root, path, content.facts, content.bytes)];
  }
}

async function allowedFiles(
  ctx: Context<FolderConfig>,
  root: string,
  refs: readonly Ref[],
): Promise<{ id: string; path: string }[]> {
  const rules = createRules(root, ctx);
  const files: { id: string; path: string }[] = [];
  for (const { id } of refs) {
    const path = relativePath(root, id);
    if (path && (await rules.allowsFile(path))) files.push({ id, path });
  }
  return files;
}
