import { posix } from 'node:path';
import type { Fetched, Ref } from 'memoryd/connector';
import { blobOf, linkMode, moduleMode } from './file-ref.ts';
import { binarySkipped, isBinary, linkSkipped, moduleSkipped, toDocument } from './file-document.ts';
import { pageIdOf } from './place.ts';
import { isDocument } from './rules.ts';
import type { TreeEntry } from './trees.ts';

/** Markups that GitHub shows as pages: https://github.com/github/markup */
const page = /\.(md|mkdn?|mdown|markdown|textile|rdoc|org|creole|mediawiki|wiki|rst|asciidoc|adoc|asc|pod|txt)$/i;
const frame = /^_(sidebar|footer|header)$/i;
const maxBytes = 25 * 1024 * 1024;

/** Titles are file names, in which GitHub writes a dash for each space. Pages are known by that name in whatever folder. */
export function toRef(repositoryId: string, url: string, { path, sha, mode }: TreeEntry): Ref {
  const isBlob = mode !== linkMode && mode !== moduleMode;
  const name = nameOf(path);
  const shown = page.test(path) ? [name] : path.split('/');
  return {
    id: pageIdOf(repositoryId, path),
    rev: isBlob ? sha : `${mode}:${sha}`,
    title: page.test(path) ? name.replaceAll('-', ' ') : posix.basename(path),
    path,
    url: `${url}/wiki/${shown.map(encodeURIComponent).join('/')}`,
    ...(isBlob ? { fingerprint: sha } : {}),
    metadata: { type: 'github_wiki', repository: new URL(url).pathname.slice(1), path, sha },
  };
}

const nameOf = (path: string) => posix.basename(path).replace(page, '');

/** Why a file is no document whatever is in it. */
export function skippedByName(ref: Ref): Fetched | undefined {
  const { mode } = blobOf(ref);
  if (mode === linkMode) return linkSkipped;
  if (mode === moduleMode) return moduleSkipped;
  if (!frame.test(nameOf(ref.path ?? ''))) return undefined;
  return { skip: 'filtered', detail: 'It is shown beside every page, and is none itself.' };
}

export function toPage(ref: Ref, bytes: Uint8Array): Fetched {
  if (bytes.length > maxBytes) return { skip: 'too_large', detail: `It has ${bytes.length} bytes.` };
  if (isDocument(ref.path ?? '')) return toDocument(ref, bytes);
  if (isBinary(bytes)) return binarySkipped;
  if (!page.test(ref.path ?? '')) return { skip: 'unsupported_type', detail: 'It is no page.' };
  return toDocument(ref, bytes);
}
