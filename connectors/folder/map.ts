import { posix } from 'node:path';
import type { FetchedDocument, Ref } from 'memoryd/connector';
import type { FileFacts } from './facts.ts';
import { mediaTypeOf } from './media-types.ts';
import { joinPath, toFileUrl } from './names.ts';

/**
 * Changes with every write, also with one that leaves size and modification time as they were, and with whatever
 * may make a file readable that was not. Whether the content is another one shows when it is read.
 */
function revOf(facts: FileFacts): string {
  return `${facts.bytes}-${facts.modifiedMs}-${facts.changedMs}-${facts.inode}`;
}

/** `path` is relative to the root. */
export function toRef(root: string, path: string, name: string, facts: FileFacts): Ref {
  const id = joinPath(root, path);
  const ref: Ref = {
    id,
    rev: revOf(facts),
    title: name,
    size: facts.bytes,
    url: toFileUrl(id),
    path,
    fingerprint: fingerprintOf(facts),
  };
  const mimeType = mediaTypeOf(name);
  if (mimeType !== undefined) ref.mimeType = mimeType;
  const updatedAt = isoTime(facts.modifiedMs);
  if (updatedAt !== undefined) ref.updatedAt = updatedAt;
  return ref;
}

/** Without a title: a text is called what it calls itself, and the daemon takes the name of the file otherwise. */
export function toDocument(root: string, path: string, facts: FileFacts, bytes: Uint8Array): FetchedDocument {
  const name = posix.basename(path);
  const mimeType = mediaTypeOf(name);
  const updatedAt = isoTime(facts.modifiedMs);
  const createdAt = facts.bornMs > 0 ? isoTime(facts.bornMs) : undefined;
  return {
    file: { bytes, name, ...(mimeType === undefined ? undefined : { mimeType }) },
    path,
    url: toFileUrl(joinPath(root, path)),
    ...(updatedAt === undefined ? undefined : { updatedAt }),
    ...(createdAt === undefined ? undefined : { createdAt }),
    rev: revOf(facts),
  };
}

/**
 * The file behind its names. The birth time keeps a new file apart from a deleted one whose inode
 * number it was given, which file systems do at once; it is 0 where the file system keeps none.
 */
function fingerprintOf(facts: FileFacts): string {
  return `${facts.device}:${facts.inode}:${facts.bornMs}`;
}

/** Undefined for times outside what a date can hold, which broken disks and archives do have. */
function isoTime(timeMs: number): string | undefined {
  const date = new Date(timeMs);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
