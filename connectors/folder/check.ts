import { watch } from 'node:fs';
import { ConnectorError, probe, type CheckResult, type Context } from 'memoryd/connector';
import { defaultPollEveryMs, type FolderConfig } from './config.ts';
import { toFilePath } from './names.ts';
import { countEntries, identifyRoot, looksUnmounted, resolveRoot, unmountedRemedy } from './root.ts';
import { createRules } from './rules.ts';
import { isRemote, watchLimitMessage, watchLimitRemedy } from './watch.ts';
import { isLimitReached } from './watch-tree.ts';

/** Entries of the root that are counted to see that it can be read. */
const entriesSampled = 1_000;

export async function checkFolder(ctx: Context<FolderConfig>): Promise<CheckResult[]> {
  const path = await probe('path', 'The folder is there', async () => {
    const root = await resolveRoot(ctx);
    await identifyRoot(root);
    return root;
  });
  if (path.status !== 'ok') return [path];
  const root = await resolveRoot(ctx);
  const { include = [], exclude = [] } = ctx.config;
  const patterns = async () => void createRules(root, ctx);
  return [
    path,
    await probe('read', 'The folder can be read', () => checkReading(root)),
    await probe('watch', 'Changes are noticed at once', () => checkWatching(root, ctx.config)),
    ...(include.length + exclude.length > 0 ? [await probe('patterns', 'The patterns are understood', patterns)] : []),
  ];
}

async function checkReading(root: string): Promise<string> {
  const count = await countEntries(root, entriesSampled);
  if (await looksUnmounted(root)) {
    const message = `${root} is empty and never held a file: nothing is deleted as long as it looks like this.`;
    throw new ConnectorError('transient', message, { remedy: unmountedRemedy });
  }
  return count === entriesSampled ? `${count} or more entries` : `${count} entries`;
}

async function checkWatching(root: string, config: FolderConfig): Promise<string> {
  const seconds = (config.pollEveryMs ?? defaultPollEveryMs) / 1_000;
  if (config.watch === false) return `Not watched; listed every ${seconds} s.`;
  if (await isRemote(root)) {
    const message = `Network file systems report no changes; the folder is listed every ${seconds} s.`;
    throw new ConnectorError('transient', message, {
      remedy: 'Run the daemon where the disk is, or lower `pollEveryMs`.',
    });
  }
  try {
    watch(toFilePath(root)).close();
    return 'Watched.';
  } catch (error) {
    if (!isLimitReached(error)) throw error;
    const message = `${watchLimitMessage} The folder is listed every ${seconds} s.`;
    throw new ConnectorError('transient', message, { remedy: watchLimitRemedy, cause: error });
  }
}
