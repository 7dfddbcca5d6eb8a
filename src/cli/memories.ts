import type { Command } from 'commander';
import { firstOf } from '../base/collections.ts';
import type { Client, ForgottenAnswer, MemoryAnswer } from './client.ts';
import { paint, printJson, printLine, roomOf, type CommandContext, type Screen } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import {
  addClientOptions,
  addExamples,
  addNamespaceOption,
  pastMoment,
  wholeNumber,
  type ClientOptions,
  type NamespaceOption,
} from './options.ts';
import { counted, localDay, oneLine, truncate, wrap } from './text.ts';

interface ListOptions extends ClientOptions, NamespaceOption {
  limit: number;
  page: number;
  forgotten?: boolean;
  asOf?: string;
}

interface ForgetOptions extends ClientOptions, NamespaceOption {
  content?: string;
  about?: string;
  yes?: boolean;
  reason?: string;
}

type CorrectOptions = ClientOptions & NamespaceOption;

export function addMemoriesCommand(program: Command, context: CommandContext): void {
  const memories = program
    .command('memories')
    .description('Look through what is remembered, correct it, and forget it.');
  addExamples(memories, [
    { command: 'memoryd memories list --namespace user_mira', purpose: 'what is remembered of Mira' },
    { command: 'memoryd memories correct ID Mira lives in Porto', purpose: 'a new version of a memory' },
    { command: 'memoryd memories forget --about her old address', purpose: 'shows what would be forgotten' },
  ]);
  addList(memories, context);
  addCorrect(memories, context);
  addForget(memories, context);
}

function addList(memories: Command, context: CommandContext): void {
  const command = memories.command('list').description('List memories, newest first: the latest version of each.');
  addNamespaceOption(command, 'only this namespace (default: all)')
    .option('--limit <number>', 'memories at the most', wholeNumber(1, 1_000), 20)
    .option('--page <number>', 'which page of them', wholeNumber(1, 1_000_000), 1)
    .option('--forgotten', 'also those that are forgotten')
    .option('--as-of <time>', 'what was known at an earlier time', pastMoment);
  addClientOptions(command, [
    { command: 'memoryd memories list --limit 100', purpose: 'the newest hundred of every namespace' },
    { command: 'memoryd memories list --json | jq .memoryEntries[].memory', purpose: 'for scripts' },
  ]);
  command.action(async ({ namespace, limit, page, forgotten = false, asOf, ...options }: ListOptions) => {
    const client = await openClient(options, context);
    const containerTags = namespace === undefined ? await client.containerTags() : [namespace];
    if (containerTags.length === 0) return printLine(context.stderr, nothing);
    const found = await client.memories({
      ...{ containerTags, limit, page, includeForgotten: forgotten },
      asOf,
    });
    if (options.json) return printJson(context.stdout, found);
    if (found.memoryEntries.length === 0) return printLine(context.stderr, nothing);
    for (const line of formatMemories(found.memoryEntries, context.stdout)) printLine(context.stdout, line);
    const { currentPage, totalPages, totalItems } = found.pagination;
    printLine(context.stderr, `\nPage ${currentPage} of ${totalPages}, ${totalItems} in all`);
  });
}

const nothing = 'Nothing is remembered yet. `memoryd search` also finds documents that make no memories.';

export function formatMemories(memories: readonly MemoryAnswer[], screen: Screen): string[] {
  const columns = roomOf(screen);
  return memories.flatMap((memory, index) => {
    const about = truncate(aboutOf(memory), columns - 2);
    return [
      ...(index === 0 ? [] : ['']),
      ...wrap(oneLine(memory.memory), columns),
      `  ${paint(screen, 'dim', about)}`,
      `  ${paint(screen, 'dim', memory.id)}`,
    ];
  });
}

/** Kind, trust, date, who said it, and where it comes from. */
function aboutOf({ kind, trust, author, version, isForgotten, saidAt, createdAt, sources }: MemoryAnswer): string {
  const [first] = sources;
  const place = first?.title ?? first?.filepath ?? null;
  return oneLine(
    [
      ...(isForgotten ? ['forgotten'] : []),
      ...[kind, trust, localDay(saidAt ?? createdAt)],
      ...(version > 1 ? [`version ${version}`] : []),
      ...(author === null ? [] : [`by ${author}`]),
      ...(place === null ? [] : [`from ${place}`]),
    ].join(', '),
  );
}

function addCorrect(memories: Command, context: CommandContext): void {
  const command = memories
    .command('correct')
    .description('Write a new version of a memory. The one before stays in its history and is found no more.')
    .argument('<id>', 'its id, as `memoryd memories list` and `memoryd search` show it')
    .argument('<text...>', 'what is true; quotes are not needed');
  addNamespaceOption(command, 'its namespace (default: the only one there is)');
  addClientOptions(command, [
    { command: 'memoryd memories correct mLidkuVKnRyjP2WPBg8Y4E Mira lives in Porto', purpose: 'what is true now' },
  ]);
  command.action(async (id: string, words: string[], { namespace, ...options }: CorrectOptions) => {
    const client = await openClient(options, context);
    const containerTag = await chosenNamespace(client, namespace);
    const written = await client.correctMemory({ containerTag, id, newContent: words.join(' ') });
    if (options.json) return printJson(context.stdout, written);
    printLine(context.stderr, `Version ${written.version}: ${oneLine(written.memory)}`);
    printLine(context.stdout, written.id);
  });
}

function addForget(memories: Command, context: CommandContext): void {
  const command = memories
    .command('forget')
    .description('Forget memories: by id, by the exact text of one, or all that are about something.')
    .argument('[id...]', 'their ids')
    .option('--content <text>', 'the memory that says exactly this')
    .option('--about <topic>', 'all that are about this; without --yes they are only shown')
    .option('--yes', 'forget what --about finds')
    .option('--reason <text>', 'why; kept with what is forgotten');
  addNamespaceOption(command, 'their namespace (default: the only one there is)');
  addClientOptions(command, [
    { command: 'memoryd memories forget mLidkuVKnRyjP2WPBg8Y4E', purpose: 'one memory' },
    { command: "memoryd memories forget --about 'her old address'", purpose: 'shows what would be forgotten' },
    { command: "memoryd memories forget --about 'her old address' --yes", purpose: 'forgets it' },
  ]);
  command.action((ids: string[], options: ForgetOptions) => forget(ids, options, context));
}

async function forget(ids: string[], options: ForgetOptions, context: CommandContext): Promise<void> {
  const { namespace, content, about, yes = false, reason, ...rest } = options;
  if ([ids.length > 0, content !== undefined, about !== undefined].filter(Boolean).length !== 1) {
    throw new CommandFailure(exitCodes.usage, 'Name what to forget: ids, --content or --about, one of them.');
  }
  const client = await openClient(rest, context);
  const chosen = {
    containerTag: await chosenNamespace(client, namespace),
    reason,
  };
  if (content !== undefined) {
    const { id } = await client.forgetMemory({ ...chosen, content });
    if (options.json) return printJson(context.stdout, { id, forgotten: true });
    return printLine(context.stderr, `Forgot "${oneLine(content)}".`);
  }
  const what = about === undefined ? { ids } : { query: about, dryRun: !yes };
  const answer = await client.forgetMatching({ ...chosen, ...what });
  if (options.json) return printJson(context.stdout, answer);
  printForgotten(answer, context);
  if (answer.dryRun && answer.count > 0) printLine(context.stderr, 'Add --yes to forget them.');
  if (about === undefined && answer.count < new Set(ids).size) {
    throw new CommandFailure(exitCodes.failure, `Only ${answer.count} of ${ids.length} ids are of memories there.`, {
      remedy: 'See `memoryd memories list` for ids, and name their namespace with --namespace.',
    });
  }
}

function printForgotten({ dryRun, count, candidates, forgotten }: ForgottenAnswer, context: CommandContext): void {
  for (const { id, memory } of candidates ?? forgotten ?? []) {
    for (const line of wrap(oneLine(memory), roomOf(context.stdout))) printLine(context.stdout, line);
    printLine(context.stdout, `  ${paint(context.stdout, 'dim', id)}`);
  }
  printLine(context.stderr, `${dryRun ? 'Would forget' : 'Forgot'} ${counted(count, 'memory', 'memories')}.`);
}

/** The one that is named, or the only one there is. */
async function chosenNamespace(client: Client, namespace: string | undefined): Promise<string> {
  if (namespace !== undefined) return namespace;
  const namespaces = await client.containerTags();
  if (namespaces.length === 1) return firstOf(namespaces);
  throw new CommandFailure(exitCodes.usage, 'Name the namespace of the memories with --namespace.', {
    remedy: namespaces.length === 0 ? 'There is none yet.' : `There are: ${namespaces.join(', ')}.`,
  });
}
