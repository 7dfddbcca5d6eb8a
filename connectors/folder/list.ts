import type { Context, Page, Partition, Ref, UnreadPart } from 'memoryd/connector';
import type { FolderConfig } from './config.ts';
import { diskThreadOf } from './disk-thread.ts';
import { takeRefs } from './refs.ts';
import { looksUnmounted, onSteadyRoot, unmountedRemedy } from './root.ts';
import { createRules } from './rules.ts';
import { openWalk, type Walk } from './walk.ts';

/** Where a listing stands. A type, not an interface: it must be assignable to `Json`. */
export type ListCursor = {
  /** Path from the root of the last entry that was looked at. */
  after: string;
  /** The root's device and inode when the listing began. */
  root: string;
  /** Why the listing cannot be complete any more, whatever the pages to come hold. */
  incomplete?: string;
};

const filesPerPage = 1_000;
/** Small, so that the first files are read soon. */
const filesOfFirstPage = 250;

/** One page of the files below the root, in byte order of their paths. */
export async function listPage(
  ctx: Context<FolderConfig>,
  partition: Partition,
  from: ListCursor | undefined,
  pageSize = from === undefined ? filesOfFirstPage : filesPerPage,
): Promise<Page<ListCursor>> {
  const root = partition.id;
  return onSteadyRoot(root, async (identity) => {
    if (from === undefined && (await looksUnmounted(root))) return notMounted(root);
    if (from !== undefined && from.root !== identity) return replaced(root);
    const walk = await walkFrom(ctx, root, from);
    // A folder of one page is not worth a thread, nor is a small page.
    const isMuch = from !== undefined && pageSize >= filesOfFirstPage;
    const thread = isMuch ? await diskThreadOf(ctx) : undefined;
    const refs = await takeRefs(root, walk, pageSize, ctx.signal, thread);
    return toPage(refs, walk, identity, from);
  });
}

/** The run's open walk when it stands where the cursor says, else a new one from there. */
async function walkFrom(ctx: Context<FolderConfig>, root: string, from: ListCursor | undefined): Promise<Walk> {
  const kept = await ctx.session(`walk ${root}`, async (): Promise<{ walk?: Walk }> => ({}));
  if (from === undefined || kept.walk === undefined || kept.walk.position !== from.after) {
    kept.walk = await openWalk({
      root,
      rules: createRules(root, ctx),
      followLinks: ctx.config.followSymlinks === true,
      signal: ctx.signal,
      ...(from === undefined ? {} : { after: from.after }),
    });
  }
  return kept.walk;
}

function toPage(refs: Ref[], walk: Walk, identity: string, from: ListCursor | undefined): Page<ListCursor> {
  const problems = walk.problems.take();
  const isRootUnread = problems.some(({ path }) => path === '');
  const incomplete = from?.incomplete ?? (isRootUnread ? describeProblems(problems) : undefined);
  const marked = {
    ...(incomplete === undefined ? {} : { incomplete }),
    ...(problems.length === 0 || isRootUnread ? {} : { unread: problems }),
  };
  if (walk.isDone) return { refs, done: true, ...marked };
  const cursor = { after: walk.position, root: identity, ...(incomplete === undefined ? {} : { incomplete }) };
  return { refs, next: cursor, ...marked };
}

const shownProblems = 10;

export function describeProblems(problems: readonly UnreadPart[]): string | undefined {
  if (problems.length === 0) return undefined;
  const shown = problems.slice(0, shownProblems).map(({ path, reason }) => `${path === '' ? '.' : path} (${reason})`);
  const more = problems.length > shownProblems ? `, and ${problems.length - shownProblems} more` : '';
  return `Could not be read: ${shown.join(', ')}${more}. Give the daemon permission, or exclude them.`;
}

function notMounted(root: string): Page<ListCursor> {
  const incomplete = `${root} is empty and never held a file, as if its disk were not mounted. ${unmountedRemedy}`;
  return { refs: [], done: true, incomplete };
}

function replaced(root: string): Page<ListCursor> {
  return { refs: [], done: true, incomplete: `Another folder or disk stands at ${root} since the listing began.` };
}
