import { MemorydError } from '../base/errors.ts';
import { holdContainers } from '../store/container-merges.ts';
import type { Transaction } from '../store/database.ts';

/** Merges are short; the official client tries a conflict again by itself. */
const retryAfterMs = 5_000;

/**
 * Keeps containers from being merged away until the transaction ends. Throws `conflict` for one that
 * is part of a merge (api-contract 18.5). Containers that do not exist yet are writable.
 */
export async function requireWritable(tx: Transaction, containerTags: readonly string[]): Promise<void> {
  const [merging] = await holdContainers(tx, [...new Set(containerTags)]);
  if (merging === undefined) return;
  throw new MemorydError('conflict', `The container ${merging} is being merged`, { retryAfterMs });
}
