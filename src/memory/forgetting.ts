import type { Transaction } from '../store/database.ts';
import { rememberForgotten, sameStatements } from '../store/forgotten-statements.ts';
import { forgetMemories } from '../store/memories.ts';
import { latestOfChains } from '../store/memory-lists.ts';

export interface ForgottenEach {
  /** The latest versions, in the order of the ids. */
  forgotten: { id: string; memory: string }[];
  errors: { id: string; error: string }[];
}

/** With all that say the same, and for good: no source brings it back. */
export async function forget(
  tx: Transaction,
  ids: readonly string[],
  { now, ...why }: { reason: string | null; batchId?: string; now: Date },
): Promise<void> {
  const same = await sameStatements(tx, ids);
  await forgetMemories(tx, same, { by: 'caller', ...why }, now);
  await rememberForgotten(tx, ids, now);
}

/** Forgets the memories that some ids belong to; an id or a memory that is named again counts once. */
export async function forgetEach(
  tx: Transaction,
  containerTag: string,
  ids: readonly string[],
  now: Date,
): Promise<ForgottenEach> {
  const latest = new Map((await latestOfChains(tx, containerTag, ids, now)).map((row) => [row.namedId, row]));
  const forgotten = new Map<string, { id: string; memory: string }>();
  const errors: ForgottenEach['errors'] = [];
  for (const named of new Set(ids)) {
    const memory = latest.get(named);
    if (!memory) errors.push({ id: named, error: 'Memory not found' });
    else if (memory.isForgotten) errors.push({ id: named, error: 'Memory already forgotten' });
    else forgotten.set(memory.id, { id: memory.id, memory: memory.memory });
  }
  if (forgotten.size > 0) await forget(tx, [...forgotten.keys()], { reason: null, now });
  return { forgotten: [...forgotten.values()], errors };
}
