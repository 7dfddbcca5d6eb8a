import { posix } from 'node:path';
import { badConfig, defineConnector, type Context, type Partition } from 'memoryd/connector';
import { checkFolder } from './check.ts';
import { configSchema, defaultMaxItemBytes, type FolderConfig } from './config.ts';
import { listPage, type ListCursor } from './list.ts';
import { lookUp } from './lookup.ts';
import { fetchFile } from './read.ts';
import { fetchFiles } from './read-many.ts';
import { identifyRoot, resolveRoot } from './root.ts';
import { watchFolder } from './watch.ts';

/** The contract’s limit. */
const longestPartitionId = 500;

/** Mirrors the files of a folder on this machine. The listing is the truth, the watch only hints. */
export default defineConnector<FolderConfig, ListCursor>({
  spec: {
    name: 'folder',
    version: '1.0.0',
    title: 'Folder',
    kind: 'files',
    description: 'Mirrors the files in a folder on this machine.',
    config: configSchema,
    auth: [],
    schedule: { everyMs: 5 * 60_000 },
    maxItemBytes: defaultMaxItemBytes,
    revs: 'loose',
  },
  check: checkFolder,
  partitions,
  list: (ctx, partition, from) => listPage(ctx, partition, from),
  fetch: fetchFile,
  fetchMany: fetchFiles,
  lookup: lookUp,
  watch: (ctx, hint) => watchFolder(ctx, hint),
});

/** One, named after the real path of the root, so that a configured link may change without the name. */
async function partitions(ctx: Context<FolderConfig>): Promise<Partition[]> {
  const root = await resolveRoot(ctx);
  await identifyRoot(root);
  if (root.length > longestPartitionId) {
    throw badConfig(`The real path of the folder has ${root.length} characters, more than ${longestPartitionId}.`);
  }
  return [{ id: root, title: posix.basename(root) || root }];
}
