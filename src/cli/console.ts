import type { Command } from 'commander';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addClientOptions, addDaemonOptions, addExamples, type ClientOptions, type DaemonOptions } from './options.ts';

export function addConsoleCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('console')
    .description('Print a link that opens the console, the page of the daemon. It signs in once, within five minutes.');
  addClientOptions(command, [
    { command: 'memoryd console', purpose: 'for the browser of this machine, or by way of a tunnel to it' },
    { command: 'memoryd console --json | jq -r .url', purpose: 'for scripts' },
  ]);
  command.action(async (options: ClientOptions) => {
    const link = await (await openClient(options, context)).consoleLink();
    if (options.json) return printJson(context.stdout, link);
    printLine(context.stdout, link.url);
  });
}

export function addOpenCommand(program: Command, context: CommandContext): void {
  const command = program.command('open').description('Open the console, the page of the daemon, in the browser.');
  addDaemonOptions(command);
  addExamples(command, [
    { command: 'memoryd open', purpose: 'signed in, without a key' },
    { command: 'memoryd open --data-dir ~/memory', purpose: 'of the daemon that keeps its data there' },
  ]);
  command.action(async (options: DaemonOptions) => {
    const { url } = await (await openClient(options, context)).consoleLink();
    const opened = await context.openBrowser(url);
    if (opened) {
      printLine(context.stderr, 'The console opens in your browser. If it does not, `memoryd console` prints a link.');
      return opened.hasRead;
    }
    printLine(context.stderr, 'No browser could be opened here. This address signs in once, within five minutes:');
    printLine(context.stdout, url);
  });
}
