import { createHash } from 'node:crypto';

/** The name of a blob in Git: what was read is what was asked for if and only if it has this name. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}
