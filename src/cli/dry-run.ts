import type { Client, ConnectionAnswer, SyncRunAnswer } from './client.ts';
import { nameOf } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { createStatusLine } from './status-line.ts';
import { counted, oneLine } from './text.ts';

const pollMs = 500;

/** Lets each connection say what a sync would change, and prints it. Throws `failure` when one cannot. */
export async function previewSyncs(
  client: Client,
  chosen: readonly ConnectionAnswer[],
  options: { full?: boolean; json?: boolean },
  context: CommandContext,
): Promise<void> {
  const previews: { connectionId: string; run: SyncRunAnswer }[] = [];
  for (const connection of chosen) {
    const mode = options.full ? 'full' : 'incremental';
    const started = await client.sync(connection.id, { mode, dryRun: true });
    const run = await untilOver(client, connection, started, context);
    previews.push({ connectionId: connection.id, run });
    if (!options.json) for (const line of previewLines(run, nameOf(connection))) printLine(context.stdout, line);
  }
  if (options.json) printJson(context.stdout, previews);
  const failed = previews.filter(({ run }) => run.status === 'failed').length;
  if (failed > 0) throw new CommandFailure(exitCodes.failure, `${counted(failed, 'dry run')} failed.`);
}

async function untilOver(
  client: Client,
  connection: ConnectionAnswer,
  started: SyncRunAnswer,
  { clock, signal, stderr }: CommandContext,
): Promise<SyncRunAnswer> {
  const line = createStatusLine(stderr);
  let run = started;
  while (run.status === 'running') {
    if (line.live) line.show(`${nameOf(connection)}: ${run.itemsSeen.toLocaleString('en-US')} seen`);
    await clock.sleep(pollMs, signal);
    if (signal.aborted) {
      line.clear();
      throw new CommandFailure(exitCodes.interrupted, 'Stopped waiting. The dry run goes on in the daemon.', {
        remedy: `\`memoryd cancel ${connection.id}\` ends it.`,
      });
    }
    run = await client.syncRun(connection.id, run.id);
  }
  line.clear();
  return run;
}

/** A line with the numbers, then one for each item that is named: `+` added, `~` updated, `-` deleted. */
function previewLines({ status, error, report }: SyncRunAnswer, name: string): string[] {
  if (status === 'failed' || !report) return [`${name}: ${error ?? 'The run says nothing about changes.'}`];
  const { added, updated, deleted, incomplete } = report;
  const groups = [
    { sign: '+', ...added },
    { sign: '~', ...updated },
    { sign: '-', ...deleted },
  ];
  return [
    `${name}: ${added.count} would be added, ${updated.count} updated, ${deleted.count} deleted.`,
    ...(incomplete === null ? [] : [`The listing is not complete, so nothing would be deleted: ${incomplete}`]),
    ...groups.flatMap(({ sign, count, ids }) => [
      ...ids.map((id) => `${sign} ${oneLine(id)}`),
      ...(count > ids.length ? [`${sign} … and ${count - ids.length} more`] : []),
    ]),
  ];
}
