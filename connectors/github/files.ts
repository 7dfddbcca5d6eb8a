import { cursorExpired, type JsonObject, type Page, type Partition, type Ref } from 'memoryd/connector';
import { getOf, remember, type GithubContext, type ShownBelow } from './client.ts';
import { toRef, type Surroundings } from './file-ref.ts';
import { placeOf } from './place.ts';
import { readHead, seenPositions, type Position } from './position.ts';
import { findById } from './repositories.ts';
import { isClutter } from './rules.ts';
import { readTree, toWalk, walkTree, type TreeEntry } from './trees.ts';

/** Refs on one page. */
const defaultPageSize = 5_000;
/** The most files that a comparison shows (https://docs.github.com/rest/commits/commits#compare-two-commits). */
const comparedFiles = 300;
/** More changes than this are found by listing. */
const mostChanges = 10_000;

export async function headOfFiles(ctx: GithubContext, partition: Partition): Promise<JsonObject> {
  const { repositoryId, branch } = placeOf(partition);
  const repository = await findById(ctx, repositoryId);
  const { commit, url } = await readHead(ctx, partition);
  const position = { commit, url: url ?? repository.html_url, branch: branch ?? repository.default_branch };
  (await seenPositions(ctx)).set(partition.id, position);
  return { ...position };
}

/** The tree of one commit, in slices; what is left to walk and where the slice begins stand in the cursor. */
export async function listFiles(
  ctx: GithubContext,
  partition: Partition,
  from?: JsonObject,
  pageSize = defaultPageSize,
): Promise<Page<JsonObject>> {
  const position = await listedPosition(ctx, partition, from);
  if (position.commit === null) return { refs: [], done: true };
  const place = placeOf(partition);
  const walk = toWalk(from?.['walk']);
  const step = await walkTree(ctx, place.repositoryId, walk === null ? { root: position.commit } : { walk });
  const entries = mirrored(ctx, step.entries);
  const start = Number(from?.['start'] ?? 0);
  const end = start + pageSize;
  const refs = entries.slice(start, end).map((entry) => toRef({ ...position, place }, entry));
  (await remember<number>(ctx, 'listed')).set(partition.id, entries.length);
  const facts = { ...position } as JsonObject;
  const { entries: _, next, ...cut } = step;
  if (end < entries.length) return { refs, next: { ...facts, walk, start: end }, ...cut };
  if (next !== null) return { refs, next: { ...facts, walk: next }, ...cut };
  return { refs, done: true, ...cut };
}

async function listedPosition(ctx: GithubContext, partition: Partition, from?: JsonObject): Promise<Position> {
  if (from) return positionIn(from);
  const seen = (await seenPositions(ctx)).get(partition.id);
  return seen ?? positionIn(await headOfFiles(ctx, partition));
}

function positionIn(cursor: JsonObject): Position {
  const { commit, url, branch } = cursor as unknown as Position;
  return { commit, url, branch };
}

const mirrored = (ctx: GithubContext, entries: TreeEntry[]) =>
  ctx.config.defaultExcludes === false ? entries : entries.filter(({ path }) => !isClutter(path));

/** One conditional request while nothing was pushed; then one more, whatever was pushed. */
export async function changesOfFiles(
  ctx: GithubContext,
  partition: Partition,
  from: JsonObject,
): Promise<Page<JsonObject>> {
  const old = positionIn(from);
  const { commit, url } = await readHead(ctx, partition);
  const seen = await seenPositions(ctx);
  if (commit === old.commit && (url ?? old.url) === old.url) {
    seen.set(partition.id, old);
    return { refs: [], next: from, done: true };
  }
  if (commit === null || old.commit === null) throw cursorExpired('The repository was empty, or is now.');
  if (url !== old.url) throw cursorExpired('The repository has another name.');
  const now = { ...old, commit };
  const { entries, left, straight } = await difference(ctx, partition, old.commit, commit);
  // Only a branch that did not simply grow may be another one.
  if (!straight && (await isOtherBranch(ctx, partition, old)))
    throw cursorExpired('The default branch is another one.');
  seen.set(partition.id, now);
  const around = { ...now, place: placeOf(partition) };
  const { refs, ids } = changedPage(ctx, around, entries, left);
  // Commits that were added state what they delete. What another history lacks is only missed.
  return { refs, ...(straight ? { gone: ids } : { missing: ids }), next: { ...now }, done: true };
}

async function isOtherBranch(ctx: GithubContext, partition: Partition, old: Position): Promise<boolean> {
  const { branch, repositoryId } = placeOf(partition);
  return branch === undefined && (await findById(ctx, repositoryId)).default_branch !== old.branch;
}

function changedPage(
  ctx: GithubContext,
  around: Surroundings,
  entries: TreeEntry[],
  left: string[],
): { refs: Ref[]; ids: string[] } {
  if (entries.length + left.length > mostChanges) throw cursorExpired('Too much was changed at once.');
  return {
    refs: mirrored(ctx, entries).map((entry) => toRef(around, entry)),
    ids: left.map((path) => toRef(around, { path, mode: '', type: 'blob', sha: '' }).id),
  };
}

interface Difference {
  entries: TreeEntry[];
  /** Paths that are there no more. */
  left: string[];
  /** The old commit is an ancestor of the new one. */
  straight: boolean;
}

type ComparedFiles = NonNullable<ShownBelow<'/compare/{basehead}'>['files']>;

async function difference(ctx: GithubContext, partition: Partition, old: string, now: string): Promise<Difference> {
  const { repositoryId } = placeOf(partition);
  // Commits of the comparison are not needed; its files come with each page of them.
  const compared = { basehead: `${old}...${now}`, per_page: 1 };
  const options = { accept: [404, 422, 500], maxBytes: 64 * 1024 * 1024 };
  const answer = await getOf(ctx, repositoryId, '/compare/{basehead}', compared, options);
  if (answer.status === 404 || answer.status === 422) throw cursorExpired('GitHub no longer has the old commit.');
  const { status, files } = answer.status === 200 ? answer.json : { status: 'unknown', files: [] };
  const straight = status === 'ahead';
  // A comparison is with the merge base, so that it tells what changed only when that is the old commit.
  if (straight && files && files.length < comparedFiles) return { ...ofComparison(files), straight };
  return { ...(await ofTrees(ctx, repositoryId, old, now)), straight };
}

function ofComparison(files: ComparedFiles): Pick<Difference, 'entries' | 'left'> {
  const present = files.filter(({ status, sha }) => status !== 'removed' && sha !== null);
  const entries = present.map(({ filename, sha, patch }) => {
    const isModule = patch !== undefined && /^\+Subproject commit [0-9a-f]+$/m.test(patch);
    // Modes are not shown. What the entry really is comes with its content.
    return { path: filename, sha: sha!, mode: isModule ? '160000' : '', type: isModule ? 'commit' : 'blob' };
  });
  const left = files.flatMap(({ status, filename, previous_filename: before }) => {
    if (status === 'removed') return [filename];
    return status === 'renamed' && before !== undefined ? [before] : [];
  });
  return { entries, left };
}

async function ofTrees(
  ctx: GithubContext,
  repositoryId: string,
  old: string,
  now: string,
): Promise<Pick<Difference, 'entries' | 'left'>> {
  const before = await readTree(ctx, repositoryId, old, 'deep');
  const after = await readTree(ctx, repositoryId, now, 'deep');
  if (before.truncated || after.truncated) throw cursorExpired('The tree is too large to be compared.');
  const items = ({ tree }: { tree: TreeEntry[] }) => tree.filter(({ type }) => type !== 'tree');
  const known = new Map(items(before).map((entry) => [entry.path, entry]));
  const entries = items(after).filter(({ path, sha, mode }) => {
    const same = known.get(path);
    known.delete(path);
    return same?.sha !== sha || same.mode !== mode;
  });
  return { entries, left: [...known.keys()] };
}
