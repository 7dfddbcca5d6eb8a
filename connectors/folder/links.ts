import { stat } from 'node:fs/promises';
import { faultCode, isAbsent } from './faults.ts';
import { joinPath, relativePath, toFilePath } from './names.ts';
import { isSamePath, toRealPath } from './root.ts';
import type { Rules } from './rules.ts';

export type LinkTarget = 'file' | 'folder';

/** A mirrored folder with the rules for its content. */
interface Tree {
  root: string;
  rules: Pick<Rules, 'isOwn'>;
}

/**
 * Resolves a symbolic link when links are followed; undefined when this one is not: it leads
 * out of the root, to the daemon's own folders, to a folder it lies in itself (a loop), to nothing, or to something that is neither
 * file nor folder. `folder` and `path` are real paths but for the link itself.
 * Throws when the target cannot be looked at.
 */
export async function resolveLink(
  { root, rules }: Tree,
  folder: string,
  path: string,
): Promise<LinkTarget | undefined> {
  try {
    const target = await toRealPath(path);
    const isOutside = relativePath(root, target) === undefined || rules.isOwn(target);
    if (isOutside || relativePath(target, folder) !== undefined) return undefined;
    const stats = await stat(toFilePath(target));
    return stats.isDirectory() ? 'folder' : stats.isFile() ? 'file' : undefined;
  } catch (error) {
    if (isAbsent(error) || faultCode(error) === 'ELOOP') return undefined;
    throw error;
  }
}

/**
 * The real path of what the listing would show at `relative`, or undefined when it would show nothing
 * there because of a link on the way: any link when links are not followed, else one that is not
 * followed or a second one below the first. Throws the system's errors, `ENOENT` above all.
 */
export async function resolveListed(
  tree: Tree & { followLinks: boolean },
  relative: string,
): Promise<string | undefined> {
  const { root, rules, followLinks } = tree;
  const path = joinPath(root, relative);
  const real = await toRealPath(path);
  if (isSamePath(real, path)) return real;
  if (!followLinks || rules.isOwn(real)) return undefined;
  const names = relative.split('/');
  for (let depth = 1; depth <= names.length; depth++) {
    const link = joinPath(root, names.slice(0, depth).join('/'));
    const target = await toRealPath(link);
    if (isSamePath(target, link)) continue;
    const folder = joinPath(root, names.slice(0, depth - 1).join('/'));
    const isFollowed = (await resolveLink(tree, folder, link)) !== undefined;
    return isFollowed && isSamePath(real, joinPath(target, names.slice(depth).join('/'))) ? real : undefined;
  }
  return undefined;
}
