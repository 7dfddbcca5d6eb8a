import { Option, type Command } from 'commander';
import { at } from '../base/collections.ts';
import type { SearchMode } from '../search/search.ts';
import { printJson, printLine, type CommandContext, paint, type Screen } from './context.ts';
import { openClient } from './daemon-access.ts';
import {
  addClientOptions,
  addNamespaceOption,
  beginning,
  fraction,
  pastMoment,
  wholeNumber,
  type ClientOptions,
  type NamespaceOption,
} from './options.ts';
import { counted, localDay, oneLine, truncate, displayWidth, wrap } from './text.ts';
import type { SearchAnswer, SearchBody, SearchHit } from './client.ts';

interface SearchOptions extends ClientOptions, NamespaceOption {
  limit: number;
  mode: SearchMode;
  threshold?: number;
  from?: string;
  to?: string;
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
    .option('--from <time>', 'only what is of this day or time, or later', beginning)
    .option('--to <time>', 'only what is of this day or time, or earlier', pastMoment)
    .option('--as-of <time>', 'what was known at an earlier time', pastMoment);
  addClientOptions(command, [
    { command: 'memoryd search how do we rotate keys', purpose: 'ask in plain words' },
    { command: 'memoryd search invoice --namespace team_ops --limit 3', purpose: 'three results of one namespace' },
    { command: 'memoryd search invoice --from 2026-10-01 --to 2026-10-31', purpose: 'of one month' },
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
    containerTag: options.namespace,
    threshold: options.threshold,
    ...datesOf(options),
    asOf: options.asOf,
  });
  if (options.json) return printJson(context.stdout, answer);
  if (answer.results.length === 0) {
    printLine(context.stderr, nothingFound(options));
    return;
  }
  if (answer.results.every(({ similarity }) => similarity < (options.threshold ?? 0.6))) {
    printLine(context.stderr, 'Nothing matches well. These are the nearest texts:\n');
  }
  for (const line of formatSearch(answer, query, context.stdout)) printLine(context.stdout, line);
  printLine(context.stderr, `\n${counted(answer.results.length, 'result')} in ${answer.timing} ms`);
}

function datesOf({ from, to }: SearchOptions): Pick<SearchBody, 'dates'> {
  return from === undefined && to === undefined ? {} : { dates: { from, to } };
}

function nothingFound(options: SearchOptions): string {
  const where = options.namespace === undefined ? '' : ` in the namespace ${options.namespace}`;
  const lower = (options.threshold ?? 0.6) > 0.3 ? 'Try `--threshold 0.3` for looser matches, or see' : 'See';
  return `Nothing found${where}. ${lower} \`memoryd status\`: documents may still be on their way.`;
}

const snippetLines = 3;
const widest = 110;

/** Results as people read them: rank, similarity, title, path, and the words around the match. */
export function formatSearch(answer: SearchAnswer, query: string, screen: Screen): string[] {
  const words = queryWords(query);
  return answer.results.flatMap((hit, index) => [
    ...(index === 0 ? [] : ['']),
    ...formatHit(hit, index + 1, words, screen),
  ]);
}

function formatHit(hit: SearchHit, rank: number, words: readonly string[], screen: Screen): string[] {
  const columns = Math.max(40, Math.min(screen.columns, widest));
  const number = `${rank}.`.padEnd(4);
  const similarity = hit.similarity.toFixed(2);
  const title = truncate(titleOf(hit), columns - number.length - similarity.length - 2);
  const path = hit.filepath && oneLine(hit.filepath) !== titleOf(hit) ? [oneLine(hit.filepath)] : [];
  const about = aboutOf(hit);
  const text = snippet(hit.memory ?? hit.chunk ?? '', words, { columns: columns - 4, lines: snippetLines });
  return [
    `${number}${paint(screen, 'cyan', similarity)}  ${paint(screen, 'bold', title)}`,
    ...path.map((line) => `    ${paint(screen, 'dim', truncate(line, columns - 4))}`),
    ...(about === '' ? [] : [`    ${paint(screen, 'dim', truncate(about, columns - 4))}`]),
    ...text.map((line) => `    ${mark(line, words, screen)}`),
  ];
}

/** A hit's kind, trust, date and author; with the id where it can be corrected. */
function aboutOf({ id, kind, trust, saidAt, sources = [], author, containerTag }: SearchHit): string {
  const date = saidAt ?? sources[0]?.date;
  const parts = [kind, trust, date && localDay(date), author && `by ${author}`, containerTag && `in ${containerTag}`];
  const known = kind === 'fact' || kind === 'episode' ? [...parts, id] : parts;
  return oneLine(known.filter((part) => typeof part === 'string').join(', '));
}

function titleOf(hit: SearchHit): string {
  const title = oneLine(hit.documents?.find((document) => document.title)?.title ?? '');
  return title || oneLine(hit.filepath ?? '') || (hit.memory ? 'Memory' : hit.id);
}

function mark(line: string, words: readonly string[], screen: Screen): string {
  const expression = matcher(words);
  return expression ? line.replace(expression, (match) => paint(screen, ['bold', 'yellow'], match)) : line;
}

/** Words of a question that say nothing about what is looked for. */
const filling = new Set(
  'about and are can did does for from had has have how into its our out the that their them then there they this was were what when where which who why will with would you your'.split(
    ' ',
  ),
);

/** The words of a query that are marked in results, in lower case, without their endings. */
export function queryWords(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => (word.length > 2 || displayWidth(word) > word.length) && !filling.has(word));
  return [...new Set(telling.map((word) => (word.length > 5 ? word.replace(/(?:ing|ed|es|s)$/, '') : word)))];
}

/** Matches of the words in a text: a word of the text that begins with one of them. Null for no words. */
export function matcher(words: readonly string[]): RegExp | null {
  if (words.length === 0) return null;
  const alternatives = words.map((word) =>
    // Scripts without spaces between words have no beginnings of words.
    displayWidth(word) > word.length ? word : `(?<![\\p{L}\\p{N}])${word}[\\p{L}\\p{N}]*`,
  );
  return new RegExp(alternatives.join('|'), 'giu');
}

interface SnippetShape {
  columns: number;
  lines: number;
}

/** The part of a text that holds the most different words of the query, as lines of a terminal. */
export function snippet(text: string, words: readonly string[], shape: SnippetShape): string[] {
  const clean = oneLine(text);
  const room = shape.columns * shape.lines - 2 * shape.columns * 0.1;
  const start = bestStart(clean, words, Math.floor(room));
  const lines = wrap((start > 0 ? '…' : '') + clean.slice(start), shape.columns);
  if (lines.length <= shape.lines) return lines;
  const last = `${at(lines, shape.lines - 1)} ${at(lines, shape.lines)}`;
  return [...lines.slice(0, shape.lines - 1), truncate(last, shape.columns)];
}

/** Where the window begins: a little before the match from which the most different words follow. */
function bestStart(text: string, words: readonly string[], room: number): number {
  const expression = matcher(words);
  if (!expression || text.length <= room) return 0;
  const matches = [...text.matchAll(expression)].map((match) => ({
    at: match.index,
    word: words.find((word) => match[0].toLowerCase().startsWith(word)),
  }));
  let best = { at: 0, different: 0 };
  for (const { at } of matches) {
    const inside = matches.filter((other) => other.at >= at && other.at < at + room * 0.7);
    const different = new Set(inside.map(({ word }) => word)).size;
    if (different > best.different) best = { at, different };
  }
  if (best.at < room * 0.3) return 0;
  const earlier = text.indexOf(' ', Math.max(0, best.at - Math.floor(room * 0.2)));
  return earlier < 0 || earlier >= best.at ? best.at : earlier + 1;
}
