import type { SearchAnswer, SearchHit } from './client.ts';
import { paint, type Screen } from './context.ts';
import { matcher, queryWords, snippet } from './snippet.ts';
import { localDay, oneLine, truncate } from './text.ts';

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

/** What it is, whether it was told, of which day and by whom; an id where it can be corrected. */
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
