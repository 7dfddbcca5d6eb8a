import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { holdContainers } from '../store/container-merges.ts';
import { memoryPaths, writeEntityContext } from '../store/container-tags.ts';
import type { Transaction } from '../store/database.ts';
import { writeContainerTags } from '../store/document-changes.ts';
import type { DocumentInput, IngestResult } from './document.ts';
import { ingest } from './ingest.ts';

/** Ingests what callers add, with what that means for their containers. Throws `conflict` during a merge. */
export async function addDocuments(
  tx: Transaction,
  inputs: readonly DocumentInput[],
  clock: Clock,
): Promise<IngestResult[]> {
  await requireWritable(
    tx,
    inputs.map((input) => input.containerTag),
  );
  const results = await ingest(tx, await withTaskTypes(tx, inputs), clock);
  const contexts = new Map(
    inputs.flatMap(({ containerTag, entityContext }) =>
      entityContext === undefined ? [] : [[containerTag, entityContext] as const],
    ),
  );
  if (contexts.size > 0) await writeEntityContext(tx, contexts, clock.now());
  const listed = inputs.flatMap(({ containerTags }, index) =>
    containerTags === undefined ? [] : [{ id: results[index]!.id, containerTags }],
  );
  if (listed.length > 0) await writeContainerTags(tx, listed);
  return results;
}

/** Where a container has memories only below some paths, documents of other paths have none. */
async function withTaskTypes(tx: Transaction, inputs: readonly DocumentInput[]): Promise<readonly DocumentInput[]> {
  const placed = inputs.filter((input) => input.filepath !== undefined && input.taskType !== 'superrag');
  if (placed.length === 0) return inputs;
  const paths = await memoryPaths(tx, [...new Set(placed.map((input) => input.containerTag))]);
  if (paths.size === 0) return inputs;
  return inputs.map((input) => {
    const within = paths.get(input.containerTag);
    const outside = within !== undefined && input.filepath !== undefined && !isWithin(input.filepath, within);
    return outside ? { ...input, taskType: 'superrag' } : input;
  });
}

function isWithin(filepath: string, paths: readonly string[]): boolean {
  return paths.some((path) => filepath === path || filepath.startsWith(path.endsWith('/') ? path : `${path}/`));
}

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
