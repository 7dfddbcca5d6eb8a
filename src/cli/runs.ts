import type { Command } from 'commander';
import type { SyncRunAnswer } from './client-connections.ts';
import { chooseConnection, nameOf } from './connection-choice.ts';
import { printJson, printLine, roomOf, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addClientOptions, wholeNumber, type ClientOptions } from './options.ts';
import { duration, localTime, table } from './text.ts';

interface RunsOptions extends ClientOptions {
  limit: number;
}

export function addRunsCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('runs')
    .description('List the syncs of a connection, newest first, or show one of them.')
    .argument(
      '[connection]',
      'its id, the beginning of it, or the provider when it has only one (default: the only one)',
    )
    .argument('[run]', 'id of a run: everything about it')
    .option('--limit <number>', 'how many', wholeNumber(1, 200), 20);
  addClientOptions(command, [
    { command: 'memoryd runs nTPk', purpose: 'the latest syncs' },
    { command: 'memoryd runs nTPk tcSSSS7XhS4D5EVB8Nf471', purpose: 'one of them, with its failures and warnings' },
  ]);
  command.action(async (word: string | undefined, runId: string | undefined, options: RunsOptions) => {
    const client = await openClient(options, context);
    const connection = chooseConnection(await client.connections(), word);
    if (runId !== undefined) {
      const run = await client.syncRun(connection.id, runId);
      if (options.json) return printJson(context.stdout, run);
      for (const line of runLines(run)) printLine(context.stdout, line);
      return;
    }
    const runs = await client.syncRuns(connection.id, options.limit);
    if (options.json) return printJson(context.stdout, runs);
    if (runs.length === 0) return printLine(context.stderr, `${nameOf(connection)} has not been synced yet.`);
    const headings = ['ID', 'STARTED', 'TOOK', 'MODE', 'BY', 'STATE', 'ADDED', 'UPDATED', 'DELETED', 'FAILED', 'WHY'];
    for (const line of table(headings, runs.map(runRow), roomOf(context.stdout))) printLine(context.stdout, line);
  });
}

function runRow(run: SyncRunAnswer): string[] {
  const numbers = [run.itemsAdded, run.itemsUpdated, run.itemsDeleted, run.itemsFailed].map(String);
  return [
    run.id,
    localTime(run.startedAt),
    tookOf(run),
    modeOf(run),
    run.triggerType,
    stateOf(run),
    ...numbers,
    run.error ?? '-',
  ];
}

function modeOf({ mode, dryRun }: SyncRunAnswer): string {
  return dryRun ? `${mode}, dry` : mode;
}

function stateOf({ status, etaMs }: SyncRunAnswer): string {
  return status === 'running' && etaMs !== null ? `running, ${duration(etaMs)} left` : status;
}

function tookOf({ startedAt, completedAt }: SyncRunAnswer): string {
  return completedAt === null ? '-' : duration(Date.parse(completedAt) - Date.parse(startedAt));
}

function runLines(run: SyncRunAnswer): string[] {
  const label = (text: string) => text.padEnd(11);
  const warnings = run.warnings.map(({ partitionId, code, message }) => [partitionId ?? '-', code, message]);
  const failures = run.failures.map(({ title, customId, error }) => [title ?? customId, error]);
  return [
    `${label('run')}${run.id}`,
    `${label('state')}${stateOf(run)}${run.error === null ? '' : `: ${run.error}`}`,
    `${label('mode')}${modeOf(run)}, by ${run.triggerType}`,
    `${label('started')}${localTime(run.startedAt)}, took ${tookOf(run)}`,
    `${label('items')}${run.itemsSeen} seen${run.itemsTotal === null ? '' : ` of ${run.itemsTotal}`}, ${counts(run)}`,
    ...(warnings.length > 0 ? ['', ...table(['PARTITION', 'CODE', 'WARNING'], warnings, Infinity)] : []),
    ...(failures.length > 0 ? ['', ...table(['ITEM', 'WHY IT FAILED'], failures, Infinity)] : []),
  ];
}

function counts(run: SyncRunAnswer): string {
  const { itemsAdded, itemsUpdated, itemsDeleted, itemsSkipped, itemsFailed } = run;
  return `${itemsAdded} added, ${itemsUpdated} updated, ${itemsDeleted} deleted, ${itemsSkipped} skipped, ${itemsFailed} failed`;
}
