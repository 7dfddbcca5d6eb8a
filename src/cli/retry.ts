import type { Command } from 'commander';
import { retriedStates } from '../connections/items.ts';
import { chooseConnection, nameOf } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { stateOption } from './items.ts';
import {
  addDaemonOptions,
  addExamples,
  addJsonOption,
  collect,
  type DaemonOptions,
  type JsonOption,
} from './options.ts';
import { counted } from './text.ts';

interface RetryOptions extends DaemonOptions, JsonOption {
  state?: string[];
  class?: string[];
}

export function addRetryCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('retry')
    .description('Read items again now: those that failed, or the ones that are named.')
    .argument('<connection>', 'its id, the beginning of it, or the provider when it has only one')
    .argument('[items...]', 'ids of items, as `memoryd items --json` shows them')
    .addOption(stateOption('items in this state; may be repeated (default: failed and dead)', retriedStates))
    .option('--class <class>', 'only items with this class of error; may be repeated', collect);
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd retry nTPk', purpose: 'everything that failed' },
    { command: 'memoryd retry nTPk --state skipped', purpose: 'what was skipped, e.g. after a change of limits' },
    { command: 'memoryd retry nTPk notes/plan.md', purpose: 'one item, whatever its state' },
  ]);
  command.action(async (word: string, items: string[], options: RetryOptions) => {
    if (items.length > 0 && (options.state || options.class)) {
      throw new CommandFailure(exitCodes.usage, 'Name items, or say which ones by --state and --class, not both.');
    }
    const client = await openClient(options, context);
    const connection = chooseConnection(await client.connections(), word);
    const selection = { states: options.state ?? [], errorClasses: options.class ?? [] };
    const answer =
      items.length === 0
        ? await client.retryItems(connection.id, selection)
        : { retried: (await Promise.all(items.map((item) => client.retryItem(connection.id, item)))).length };
    if (options.json) return printJson(context.stdout, answer);
    const when = connection.status === 'active' ? 'now' : `when it is resumed (it is ${connection.status})`;
    const what =
      answer.retried === 0 ? 'nothing to read again' : `${counted(answer.retried, 'item')} read again ${when}`;
    printLine(context.stdout, `${nameOf(connection)}: ${what}.`);
  });
}
