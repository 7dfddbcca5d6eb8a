import type { Client, ConnectionAnswer, ProgressAnswer } from './client.ts';
import { nameOf } from './connection-choice.ts';
import { printLine, type CommandContext } from './context.ts';
import { followConnection } from './follow.ts';
import { counted } from './text.ts';

export type HeldDecision = 'confirm' | 'reject';

/** Answers the held deletions of each connection that has some. With `wait`, until they are deleted. */
export async function decideHeld(
  client: Client,
  chosen: readonly ConnectionAnswer[],
  { decision, wait }: { decision: HeldDecision; wait: boolean },
  context: CommandContext,
): Promise<{ connectionId: string; heldDeletes: number; progress: ProgressAnswer }[]> {
  const results = [];
  for (const connection of chosen) {
    const { id } = connection;
    const before = await client.progress(id);
    const { heldDeletes } = before;
    const answered = heldDeletes > 0 ? await client.decideHeldDeletes(id, decision) : before;
    printLine(context.stderr, `${nameOf(connection)}: ${outcome(heldDeletes, decision)}`);
    const followed = { id, label: nameOf(connection), ...(answered.run ? { run: answered.run.id } : {}) };
    const waits = wait && heldDeletes > 0 && decision === 'confirm';
    const progress = waits ? await followConnection(client, followed, context) : answered;
    results.push({ connectionId: id, heldDeletes, progress });
  }
  return results;
}

function outcome(heldDeletes: number, decision: HeldDecision): string {
  if (heldDeletes === 0) return 'no deletions are held.';
  return decision === 'confirm'
    ? `${counted(heldDeletes, 'document')} will be deleted by the sync that starts now.`
    : `${counted(heldDeletes, 'document')} kept, until a later sync misses them again.`;
}
