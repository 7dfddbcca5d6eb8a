import { posix } from 'node:path';
import type { Ref } from 'memoryd/connector';
import { fileIdOf, type Place } from './place.ts';
import type { Position } from './position.ts';
import { isProse } from './rules.ts';
import type { TreeEntry } from './trees.ts';

export interface Surroundings extends Position {
  place: Place;
}

export const linkMode = '120000';
export const moduleMode = '160000';

/** The revision is the blob’s hash, and so is what a renamed file is recognized by. */
export function toRef(around: Surroundings, entry: TreeEntry): Ref {
  const { place, url, branch } = around;
  const { path, sha, size, mode } = entry;
  const isBlob = mode !== linkMode && mode !== moduleMode;
  return {
    id: fileIdOf(place, path),
    rev: isBlob ? sha : `${mode}:${sha}`,
    title: posix.basename(path),
    path,
    url: `${url}/blob/${[...branch.split('/'), ...path.split('/')].map(encodeURIComponent).join('/')}`,
    ...(size === undefined ? {} : { size }),
    ...(isBlob ? { fingerprint: sha } : {}),
    metadata: {
      type: isProse(path) ? 'github_markdown' : 'github_file',
      repository: new URL(url).pathname.slice(1),
      path,
      branch,
      sha,
    },
  };
}

/** The hash of the blob; for links and submodules with their mode before it. */
export function blobOf(ref: Ref): { sha: string; mode: string | undefined } {
  const colon = ref.rev.indexOf(':');
  return colon < 0
    ? { sha: ref.rev, mode: undefined }
    : { sha: ref.rev.slice(colon + 1), mode: ref.rev.slice(0, colon) };
}
