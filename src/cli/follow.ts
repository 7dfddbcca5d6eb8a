import type { Client } from './client.ts';
import type { ProgressAnswer } from './client-connections.ts';
import { type CommandContext, printLine } from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { followProgress, progressSummary } from './progress.ts';
import { connectionViews } from './progress-views.ts';
import { createStatusLine } from './status-line.ts';

export interface Followed {
  id: string;
  /** Stands before the numbers. */
  label: string;
  /** Wait for this run or a later one. */
  run?: string | undefined;
}

/**
 * Shows the progress of a connection until its sync is over, and what came of it. Throws
 * `interrupted` at Ctrl-C (the sync goes on in the daemon) and `failure` when the sync failed.
 */
export async function followConnection(
  client: Client,
  followed: Followed,
  context: CommandContext,
): Promise<ProgressAnswer> {
  const view = await followToEnd(client, followed, context);
  if (view.run?.status === 'failed') throw new CommandFailure(exitCodes.failure, 'The sync failed.');
  return view;
}

/** The same, whatever the end of the sync is. */
export async function followToEnd(
  client: Client,
  followed: Followed,
  context: CommandContext,
): Promise<ProgressAnswer> {
  const { clock, signal, stderr } = context;
  const outcome = await followProgress({
    views: connectionViews(client, followed, clock, signal),
    line: createStatusLine(stderr),
    label: followed.label,
    clock,
    signal,
    sinceRun: followed.run,
  });
  if (!outcome) {
    throw new CommandFailure(exitCodes.interrupted, 'Stopped waiting. The sync continues in the daemon.', {
      remedy: '`memoryd status` shows how far it is.',
    });
  }
  const [first, ...rest] = progressSummary(outcome.view, outcome.elapsedMs, followed.id);
  for (const line of [`${followed.label}: ${first}`, ...rest]) printLine(stderr, line);
  return outcome.view;
}
