import type { Fetched, Ref } from 'memoryd/connector';
import { isProse } from './rules.ts';

const pointer = 'version https://git-lfs.github.com/spec/v1\n';

/** Turns the bytes of a file in Git into a document. */
export function toDocument(ref: Ref, bytes: Uint8Array): Fetched {
  if (bytes.length === 0) return { skip: 'empty', detail: 'The file is empty.' };
  if (Buffer.from(bytes.subarray(0, pointer.length)).toString('latin1') === pointer) {
    return { skip: 'unsupported_type', detail: 'A pointer to a file in Git LFS.' };
  }
  const { title, url, path, metadata } = ref;
  return {
    file: { bytes, ...(title === undefined ? {} : { name: title }) },
    ...(title === undefined ? {} : { title }),
    ...(url === undefined ? {} : { url }),
    ...(path === undefined ? {} : { path }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(isProse(path ?? '') ? { type: 'github_markdown' } : {}),
  };
}

export const linkSkipped: Fetched = { skip: 'other', detail: 'A symbolic link.' };
export const moduleSkipped: Fetched = { skip: 'other', detail: 'A submodule.' };
export const binarySkipped: Fetched = { skip: 'binary', detail: 'The file is binary.' };

/** Git’s own rule, but for texts in UTF-16 with a byte order mark, which it takes for binary. */
export function isBinary(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return !isUtf16 && bytes.subarray(0, 8_000).includes(0);
}
