import { ConnectorError, type JsonObject, type Page } from 'memoryd/connector';
import { expectShown, getOf, remember, type GithubContext } from './client.ts';

/** One entry of a tree as the API shows it. */
export interface TreeEntry {
  path: string;
  mode: string;
  type: string;
  sha: string;
  size?: number;
}

export interface Tree {
  tree: TreeEntry[];
  truncated: boolean;
}

/** A folder of which the tree with everything below was too large, and the subfolder to go on with. */
type Frame = { tree: string; path: string; index: number };
/** Folders still to be walked, the innermost last. */
export type Walk = Frame[];

/** One step of a walk, and what is left of it. */
export interface WalkStep extends Pick<Page, 'incomplete' | 'unread'> {
  /** With their whole paths. */
  entries: TreeEntry[];
  next: Walk | null;
}

/** Trees never change. The last few are kept, so that pages of one tree cost one request. */
const keptTrees = 3;
const treeBytes = 64 * 1024 * 1024;

export async function readTree(
  ctx: GithubContext,
  repositoryId: string,
  sha: string,
  depth: 'deep' | 'shallow',
): Promise<Tree> {
  const known = await remember<Tree>(ctx, 'trees');
  const key = `${repositoryId} ${sha} ${depth}`;
  const kept = known.get(key);
  if (kept) {
    // The one that was used last is forgotten last.
    known.delete(key);
    known.set(key, kept);
    return kept;
  }
  const asked = { tree_sha: sha, ...(depth === 'deep' ? { recursive: '1' } : {}) };
  const options = { maxBytes: treeBytes, timeoutMs: 60_000 };
  const { json } = await getOf(ctx, repositoryId, '/git/trees/{tree_sha}', asked, options);
  const tree = shorten(json, depth);
  known.set(key, tree);
  for (const old of known.keys()) if (known.size > keptTrees) known.delete(old);
  return tree;
}

/** Without what is not used: the addresses are longer than all the rest, and of a deep tree that was cut off nothing is. */
function shorten({ tree, truncated }: Tree, depth: 'deep' | 'shallow'): Tree {
  if (truncated && depth === 'deep') return { tree: [], truncated };
  const entries = tree.map(({ path, mode, type, sha, size }) => ({
    path,
    mode,
    type,
    sha,
    ...(size === undefined ? {} : { size }),
  }));
  return { tree: entries, truncated };
}

/**
 * One step through a tree of any size: the entries of one answer with their whole paths. GitHub cuts a
 * tree off at 100,000 entries or 7 MB; then its subfolders are read one by one. `next` is what is left.
 */
export async function walkTree(
  ctx: GithubContext,
  repositoryId: string,
  from: { root: string } | { walk: Walk },
): Promise<WalkStep> {
  const read = (sha: string, depth: 'deep' | 'shallow') => readTree(ctx, repositoryId, sha, depth);
  if ('root' in from) return readFolder(read, [], { sha: from.root, path: '' });
  const walk = from.walk.map((frame) => ({ ...frame }));
  for (let top = walk.at(-1); top; top = walk.at(-1)) {
    const folders = (await read(top.tree, 'shallow')).tree.filter(({ type }) => type === 'tree');
    const folder = folders[top.index];
    top.index += 1;
    if (folder) {
      const path = `${top.path}${folder.path}`;
      return readFolder(read, walk, { sha: folder.sha, path: `${path}/` }).catch(async (error: unknown) => {
        if (!ConnectorError.is(error) || error.kind !== 'source_missing') throw error;
        await expectShown(ctx, repositoryId);
        return {
          entries: [],
          next: walk,
          unread: [{ path, reason: 'GitHub lists it and does not show what is in it' }],
        };
      });
    }
    walk.pop();
  }
  return { entries: [], next: null };
}

async function readFolder(
  read: (sha: string, depth: 'deep' | 'shallow') => Promise<Tree>,
  walk: Walk,
  { sha, path }: { sha: string; path: string },
): Promise<WalkStep> {
  const named = ({ tree }: Tree) =>
    tree.filter(({ type }) => type !== 'tree').map((entry) => ({ ...entry, path: path + entry.path }));
  const deep = await read(sha, 'deep');
  if (!deep.truncated) return { entries: named(deep), next: walk.length > 0 ? walk : null };
  const shallow = await read(sha, 'shallow');
  const next = [...walk, { tree: sha, path, index: 0 }];
  if (!shallow.truncated) return { entries: named(shallow), next };
  const reason = 'It has more entries than GitHub shows at once.';
  const isRoot = path === '';
  const cut = isRoot ? { incomplete: reason } : { unread: [{ path: path.slice(0, -1), reason }] };
  return { entries: named(shallow), next, ...cut };
}

export const toWalk = (value: JsonObject[string] | undefined) => (value ?? null) as Walk | null;
