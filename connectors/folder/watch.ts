import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectorError, type Context, type Hint } from 'memoryd/connector';
import { defaultPollEveryMs, type FolderConfig } from './config.ts';
import { readFacts } from './facts.ts';
import { faultCode, isAbsent, isDenied } from './faults.ts';
import { joinPath, toFilePath } from './names.ts';
import { identifyRoot, resolveRoot } from './root.ts';
import { createRules, type Rules } from './rules.ts';
import { gatherTouches, type TouchBatch } from './touches.ts';
import { isLimitReached, watchFolders, watchRecursively, type TreeWatch, type WatchTree } from './watch-tree.ts';

/** Events are gathered this long, so that a save of several steps is one hint. */
const gatherMs = 200;
/** More than this and one listing is cheaper than the look-ups. */
const idsPerHint = 1_000;

interface Watching {
  root: string;
  rules: Rules;
  tree: TreeWatch;
  honoursGitignore: boolean;
  signal: AbortSignal;
}

/** A folder that could not be watched is tried again after so many polls: each try holds all that the system gives. */
const pollsBetweenTries = 30;

/**
 * Hints at changes until the signal aborts. Where the folder cannot be watched, or is not to be, it
 * hints at the whole folder every `pollEveryMs` instead; why it cannot be is said in the log, and in each hint.
 */
export async function watchFolder(
  ctx: Context<FolderConfig>,
  hint: (hint: Hint) => void,
  watchTree: WatchTree = process.platform === 'linux' ? watchFolders : watchRecursively,
): Promise<void> {
  const pollEveryMs = ctx.config.pollEveryMs ?? defaultPollEveryMs;
  let late: string | undefined;
  for (let poll = 0; !ctx.signal.aborted; poll++) {
    const root = await findRoot(ctx);
    if (root !== undefined) {
      const isTried = ctx.config.watch !== false && (late === undefined || poll % pollsBetweenTries === 0);
      if (isTried) late = await watchUntilLost(ctx, root, hint, watchTree);
      if (!ctx.signal.aborted) hint({ partition: root, ...(late !== undefined && { late }) });
    }
    await pause(pollEveryMs, ctx.signal);
  }
}

/** Undefined while the folder is not there: the listing reports that, here it only has to come back. */
async function findRoot(ctx: Context<FolderConfig>): Promise<string | undefined> {
  try {
    return await resolveRoot(ctx);
  } catch (error) {
    if (ConnectorError.is(error)) return undefined;
    throw error;
  }
}

/** Why the folder cannot be watched; undefined: the root was lost, and is watched again when it is back. */
async function watchUntilLost(
  ctx: Context<FolderConfig>,
  root: string,
  hint: (hint: Hint) => void,
  watchTree: WatchTree,
): Promise<string | undefined> {
  try {
    if (await isRemote(root)) throw new Error(remoteMessage);
    await watchRoot(ctx, root, hint, watchTree);
    return undefined;
  } catch (error) {
    if (ConnectorError.is(error) || (await findRoot(ctx)) === undefined) return undefined;
    const reason = isLimitReached(error) ? `${watchLimitMessage} ${watchLimitRemedy}` : describe(error);
    ctx.log.warn({ root, reason }, 'folder is polled instead of watched');
    const seconds = (ctx.config.pollEveryMs ?? defaultPollEveryMs) / 1_000;
    return `It is listed every ${seconds} s instead of watched. ${reason}`;
  }
}

/** Ends when the signal aborts. Throws a ConnectorError when the root is lost, else what makes watching impossible. */
async function watchRoot(
  ctx: Context<FolderConfig>,
  root: string,
  hint: (hint: Hint) => void,
  watchTree: WatchTree,
): Promise<void> {
  const rules = createRules(root, ctx);
  const touches = gatherTouches();
  const identity = await identifyRoot(root);
  const tree = watchTree(root, rules, touches);
  const honoursGitignore = ctx.config.gitignore === true;
  const watching = { root, rules, tree, honoursGitignore, signal: ctx.signal };
  ctx.signal.addEventListener('abort', tree.close);
  try {
    await tree.renew('');
    // What changed before the watchers stood was seen by nobody.
    if (!ctx.signal.aborted) hint({ partition: root });
    for (;;) {
      await touches.next(ctx.signal);
      await pause(gatherMs, ctx.signal);
      if (ctx.signal.aborted || (await identifyRoot(root)) !== identity) return;
      const found = await toHint(watching, touches.take());
      if (found !== undefined && !ctx.signal.aborted) hint(found);
    }
  } finally {
    ctx.signal.removeEventListener('abort', tree.close);
    tree.close();
  }
}

/** The hint for a batch, made after new folders are watched, so that later events in them are reported too. */
async function toHint(watching: Watching, batch: TouchBatch): Promise<Hint | undefined> {
  const partition = watching.root;
  if (batch.isOverflowing) {
    await watching.tree.renew('');
    return { partition };
  }
  const ids: string[] = [];
  let isWhole = false;
  for (const path of batch.paths) {
    if (watching.signal.aborted) return undefined;
    const touch = await judge(watching, path);
    if (touch === 'file') ids.push(joinPath(partition, path));
    else if (touch === 'structure') isWhole = true;
  }
  if (isWhole || ids.length > idsPerHint) return { partition };
  return ids.length > 0 ? { partition, ids } : undefined;
}

/** `structure`: more than this one path may be affected. */
async function judge(watching: Watching, path: string): Promise<'file' | 'structure' | 'nothing'> {
  try {
    const kind = await kindAt(joinPath(watching.root, path));
    if (watching.tree.holds(path) || (kind === 'folder' && (await watching.rules.folder(path)) !== undefined)) {
      await watching.tree.renew(path);
      return 'structure';
    }
    if (watching.honoursGitignore && /(^|\/)\.gitignore$/.test(path)) {
      await watching.tree.renew('');
      return 'structure';
    }
    if (kind === 'folder' || !(await watching.rules.allowsFile(path))) return 'nothing';
    return kind === undefined && watching.tree.isRecursive ? 'structure' : 'file';
  } catch (error) {
    if (isAbsent(error) || isDenied(error)) return 'structure';
    throw error;
  }
}

async function kindAt(path: string): Promise<string | undefined> {
  try {
    return (await readFacts(path)).kind;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

const remoteMessage =
  'A network file system reports no changes that others make. Set `watch` to false where that is as it should be.';
export const watchLimitMessage = 'The system’s limit of watched folders or open files is reached.';
export const watchLimitRemedy =
  'Raise it (Linux: `sysctl fs.inotify.max_user_watches=1048576`), or exclude folders that need no watching.';

/** File systems whose other users’ changes this machine is not told of (statfs(2), magic numbers). */
const remoteTypes = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x5346414f, 0x00c36400]);

/** NFS, SMB and CIFS, 9P (also the Windows drives of WSL), AFS, Ceph. */
export async function isRemote(root: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  return isRemoteType((await statfs(toFilePath(root))).type);
}

export function isRemoteType(type: number): boolean {
  return remoteTypes.has(type);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function describe(error: unknown): string {
  return faultCode(error) ?? (error instanceof Error ? error.message : String(error));
}
