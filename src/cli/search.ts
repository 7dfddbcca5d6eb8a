import { Option, type Command } from 'commander';
import type { SearchMode } from '../search/search.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import {
  addDaemonOptions,
  addExamples,
  addJsonOption,
  addNamespaceOption,
  fraction,
  pastMoment,
  wholeNumber,
  type DaemonOptions,
  type JsonOption,
  type NamespaceOption,
} from './options.ts';
import { formatSearch } from './search-format.ts';
import { counted } from './text.ts';

interface SearchOptions extends DaemonOptions, JsonOption, NamespaceOption {
  limit: number;
  mode: SearchMode;
  threshold?: number;
  asOf?: string;
}

export function addSearchCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('search')
    .description('Search what the daemon remembers.')
    .argument('<query...>', 'what to look for; quotes are not needed');
  addNamespaceOption(command, 'only this namespace (default: all)')
    .option('--limit <number>', 'results at the most', wholeNumber(1, 100), 10)
    .addOption(
      new Option('--mode <mode>', 'documents, memories, or both')
        .choices(['hybrid', 'documents', 'memories'])
        .default('hybrid'),
    )
    .option('--threshold <number>', 'leave out what is less similar, 0 to 1 (default: 0.6)', fraction)
    .option('--as-of <time>', 'what was known at an earlier time', pastMoment);
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd search how do we rotate keys', purpose: 'ask in plain words' },
    { command: 'memoryd search invoice --namespace team_ops --limit 3', purpose: 'three results of one namespace' },
    { command: 'memoryd search invoice --json | jq .results[0]', purpose: 'for scripts' },
  ]);
  command.action((words: string[], options: SearchOptions) => search(words.join(' '), options, context));
}

async function search(query: string, options: SearchOptions, context: CommandContext): Promise<void> {
  const client = await openClient(options, context);
  const answer = await client.search({
    q: query,
    searchMode: options.mode,
    limit: options.limit,
    include: { documents: true },
    ...(options.namespace === undefined ? {} : { containerTag: options.namespace }),
    ...(options.threshold === undefined ? {} : { threshold: options.threshold }),
    ...(options.asOf === undefined ? {} : { asOf: options.asOf }),
  });
  if (options.json) return printJson(context.stdout, answer);
  if (answer.results.length === 0) {
    printLine(context.stderr, nothingFound(options));
    return;
  }
  for (const line of formatSearch(answer, query, context.stdout)) printLine(context.stdout, line);
  printLine(context.stderr, `\n${counted(answer.results.length, 'result')} in ${answer.timing} ms`);
}

function nothingFound(options: SearchOptions): string {
  const where = options.namespace === undefined ? '' : ` in the namespace ${options.namespace}`;
  const lower = (options.threshold ?? 0.6) > 0.3 ? 'Try `--threshold 0.3` for looser matches, or see' : 'See';
  return `Nothing found${where}. ${lower} \`memoryd status\`: documents may still be on their way.`;
}
