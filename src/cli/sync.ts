import { Option, type Command } from 'commander';
import type { SyncMode } from '../connections/connection-types.ts';
import type { Client } from './client.ts';
import type { ConnectionAnswer, ProgressAnswer, SyncRunAnswer } from './client-connections.ts';
import { chooseConnections, nameOf } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { followToEnd, followConnection } from './follow.ts';
import { addClientOptions, type ClientOptions } from './options.ts';
import { counted, oneLine } from './text.ts';
import { createStatusLine } from './status-line.ts';

interface SyncOptions extends ClientOptions {
  all?: boolean;
  full?: boolean;
  wait?: boolean;
  confirmDeletes?: boolean;
  keepDeletes?: boolean;
  dryRun?: boolean;
}

export function addSyncCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('sync')
    .description('Look for changes now instead of at the next scheduled time.')
    .argument('[connection]', 'an id, the beginning of one, or a provider (default: the only connection)')
    .option('--all', 'every connection')
    .option('--full', 'list everything again, not only what changed')
    .option('--wait', 'wait until it is done')
    .addOption(
      new Option('--confirm-deletes', 'let the deletions happen that are held back').conflicts(['keepDeletes', 'full']),
    )
    .addOption(new Option('--keep-deletes', 'keep the documents whose deletion is held back').conflicts('full'))
    .addOption(
      new Option('--dry-run', 'change nothing, say what a sync would change').conflicts([
        'confirmDeletes',
        'keepDeletes',
      ]),
    );
  addClientOptions(command, [
    { command: 'memoryd sync --wait', purpose: 'the only connection; waits' },
    { command: 'memoryd sync folder --full', purpose: 'every folder, listed from the start' },
    { command: 'memoryd sync --all', purpose: 'everything' },
    { command: 'memoryd sync github --full --dry-run', purpose: 'what a full sync would add, update and delete' },
    { command: 'memoryd sync nTPk --confirm-deletes', purpose: 'delete what `memoryd status` shows as held back' },
  ]);
  command.action((word: string | undefined, options: SyncOptions) => sync(word, options, context));
}

async function sync(word: string | undefined, options: SyncOptions, context: CommandContext): Promise<void> {
  const client = await openClient(options, context);
  const chosen = choose(await client.connections(), word, options);
  if (options.confirmDeletes || options.keepDeletes) {
    const decision = options.confirmDeletes ? 'confirm' : 'reject';
    const decided = await decideHeld(client, chosen, { decision, wait: options.wait === true }, context);
    if (options.json) printJson(context.stdout, decided);
    return;
  }
  if (options.dryRun) return previewSyncs(client, chosen, options, context);
  await startSyncs(client, chosen, options, context);
}

async function startSyncs(
  client: Client,
  chosen: readonly ConnectionAnswer[],
  options: SyncOptions,
  context: CommandContext,
): Promise<void> {
  const started: StartedSync[] = [];
  for (const connection of chosen) {
    const run = await startSync(client, connection, options.full ? 'full' : 'incremental', context);
    if (run !== 'refused') started.push({ connection, run });
  }
  const results: { connectionId: string; run?: SyncRunAnswer | null; progress?: ProgressAnswer }[] = options.wait
    ? await waitForAll(client, started, context)
    : started.map(({ connection, run }) => ({ connectionId: connection.id, run }));
  if (options.json) printJson(context.stdout, results);
  reportFailures(chosen.length - started.length, results);
}

/** Reports failures of single connections once all are through. */
function reportFailures(refused: number, results: readonly { progress?: ProgressAnswer }[]): void {
  const failed = results.filter(({ progress }) => progress?.run?.status === 'failed').length;
  if (refused + failed === 0) return;
  const sentences = [
    ...(refused > 0 ? [`${counted(refused, 'connection')} cannot sync now.`] : []),
    ...(failed > 0 ? [failed === 1 ? 'The sync failed.' : `${failed} syncs failed.`] : []),
  ];
  throw new CommandFailure(exitCodes.failure, sentences.join(' '));
}

interface StartedSync {
  connection: ConnectionAnswer;
  /** Null: one was running already. */
  run: SyncRunAnswer | null;
}

/** Starts one sync. A connection that cannot sync is reported and does not keep others from theirs. */
async function startSync(
  client: Client,
  connection: ConnectionAnswer,
  mode: SyncMode,
  { stderr }: CommandContext,
): Promise<SyncRunAnswer | null | 'refused'> {
  const name = nameOf(connection);
  try {
    const run = await client.sync(connection.id, { mode });
    printLine(stderr, `${name}: sync started.`);
    return run;
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.status !== 409) throw error;
    const running = connection.status === 'active';
    printLine(stderr, running ? `${name}: a sync is running already.` : `${name}: ${error.message}`);
    return running ? null : 'refused';
  }
}

function choose(all: readonly ConnectionAnswer[], word: string | undefined, options: SyncOptions): ConnectionAnswer[] {
  const usage = (message: string, remedy: string) => new CommandFailure(exitCodes.usage, message, { remedy });
  if (all.length === 0) throw usage('Nothing is connected.', '`memoryd connect folder ./notes` mirrors a folder.');
  if (word !== undefined && options.all) throw usage('Name a connection or say --all, not both.', 'Leave one out.');
  if (word !== undefined) return chooseConnections(all, word);
  if (options.all || all.length === 1) return [...all];
  throw usage(`There are ${all.length} connections.`, 'Name one (`memoryd connections` lists them), or say --all.');
}

/** One that fails does not keep the others from being waited for. */
async function waitForAll(
  client: Client,
  started: readonly StartedSync[],
  context: CommandContext,
): Promise<{ connectionId: string; progress: ProgressAnswer }[]> {
  const results = [];
  for (const { connection, run } of started) {
    const followed = { id: connection.id, label: nameOf(connection), run: run?.id };
    results.push({ connectionId: connection.id, progress: await followToEnd(client, followed, context) });
  }
  return results;
}

type HeldDecision = 'confirm' | 'reject';

/** Answers the held deletions of each connection that has some. With `wait`, until they are deleted. */
async function decideHeld(
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
    const followed = { id, label: nameOf(connection), run: answered.run?.id };
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
    : `${counted(heldDeletes, 'document')} kept, until other items go missing too.`;
}

const pollMs = 500;

/** Lets each connection say what a sync would change, and prints it. Throws `failure` when one cannot. */
async function previewSyncs(
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
      throw new CommandFailure(exitCodes.interrupted, 'Stopped waiting. The dry run continues in the daemon.', {
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
