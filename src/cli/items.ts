import { InvalidArgumentError, Option, type Command } from 'commander';
import { itemStates } from '../connections/connection-types.ts';
import type { Client } from './client.ts';
import type { ItemAnswer, ItemSelection, ItemsAnswer } from './client-connections.ts';
import { chooseConnection } from './connection-choice.ts';
import { printJson, printLine, roomOf, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addClientOptions, collect, wholeNumber, type ClientOptions } from './options.ts';
import { localTime, table } from './text.ts';

interface ItemsOptions extends ClientOptions {
  state?: string[];
  class?: string[];
  limit: number;
}

export function addItemsCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('items')
    .description('List what a source holds and what became of it: done, waiting, skipped or failed, and why.')
    .argument(
      '[connection]',
      'its id, the beginning of it, or the provider when it has only one (default: the only one)',
    )
    .addOption(stateOption('only items in this state; may be repeated', itemStates))
    .option('--class <class>', 'only items with this class of error; may be repeated', collect)
    .option('--limit <number>', 'how many', wholeNumber(1, 1_000_000), 100);
  addClientOptions(command, [
    { command: 'memoryd items nTPk --state skipped', purpose: 'what is not mirrored, and why' },
    { command: 'memoryd items nTPk --state failed --state dead', purpose: 'what could not be read' },
  ]);
  command.action(async (word: string | undefined, options: ItemsOptions) => {
    const client = await openClient(options, context);
    const { id } = chooseConnection(await client.connections(), word);
    const selection = { states: options.state ?? [], errorClasses: options.class ?? [] };
    const { items, isAll } = await readItems(client, id, selection, options.limit);
    if (options.json) return printJson(context.stdout, items);
    if (items.length === 0) return printLine(context.stderr, 'There are no such items.');
    const lines = table(headings, items.map(itemRow), roomOf(context.stdout), { cuttable, paths: [0] });
    for (const line of lines) printLine(context.stdout, line);
    if (!isAll) printLine(context.stderr, `There are more; --limit shows more than ${options.limit}.`);
  });
}

/** A state that may be given several times, or several with commas. */
export function stateOption(description: string, states: readonly string[]): Option {
  return new Option('--state <state>', description)
    .choices(states)
    .argParser((value, previous: string[] | undefined) => {
      const given = value.split(',');
      const wrong = given.find((state) => !states.includes(state));
      if (wrong === undefined) return [...(previous ?? []), ...given];
      throw new InvalidArgumentError(`Allowed choices are ${states.join(', ')}.`);
    });
}

const pageSize = 1_000;

/** Reads pages until there are enough. */
async function readItems(
  client: Client,
  id: string,
  selection: ItemSelection,
  limit: number,
): Promise<{ items: ItemAnswer[]; isAll: boolean }> {
  const items: ItemAnswer[] = [];
  let cursor: string | null = null;
  do {
    const page: ItemsAnswer = await client.items(id, selection, {
      limit: Math.min(pageSize, limit - items.length),
      cursor: cursor ?? undefined,
    });
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== null && items.length < limit);
  return { items, isAll: cursor === null };
}

const headings = ['ITEM', 'STATE', 'CLASS', 'TRIES', 'NEXT TRY', 'WHY'];
/** The item, and then its class. */
const cuttable = [0, 2];

function itemRow({ path, title, id, state, errorClass, attempts, nextRetryAt, error }: ItemAnswer) {
  return [path ?? title ?? id, state, errorClass ?? '-', String(attempts), localTime(nextRetryAt), error ?? '-'];
}
