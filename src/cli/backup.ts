import type { Command } from 'commander';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addClientOptions, wholeNumber, type ClientOptions } from './options.ts';

interface BackupCommandOptions extends ClientOptions {
  keep?: number;
}

export function addBackupCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('backup')
    .description('Copy the embedded database while it is in use, into the folder backups of the data directory.')
    .option('--keep <count>', 'how many backups stay; older ones are deleted', wholeNumber(1, 1_000));
  addClientOptions(command, [
    { command: 'memoryd backup', purpose: 'one more; prints where it is' },
    { command: 'memoryd backup --keep 7', purpose: 'every night, by cron or a timer of systemd' },
  ]);
  command.action(async ({ keep, ...options }: BackupCommandOptions) => {
    const client = await openClient(options, context);
    const backup = await client.backUp(keep === undefined ? {} : { keep });
    if (options.json) return printJson(context.stdout, backup);
    printLine(context.stdout, backup.path);
    printLine(context.stderr, 'A daemon starts on it with --data-dir. Keep a copy on another disk.');
  });
}
