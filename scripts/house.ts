/**
 *     npm run house -- [--connectors] [--trips] [--files]
 *
 * Measures the code of `src`, with `--connectors` also that of `connectors`: files, lines, functions, imports, and
 * what there should be little of. `--trips` runs the daemon and counts what three trips run beyond its start (`house/trips.ts`).
 * `--files` lists each file with its lines, the lines of its longest function, and how many files import it, or which
 * one: first what may be folded into its only importer, the shortest first. With `--trips` it also lists the files of
 * each trip, with how many of their functions run.
 */
import { posix } from 'node:path';
import { importsOf, listFiles, nodesOf, readFile } from '../test/support/imports-of.ts';
import { circlesOf, type Arrow } from './house/circles.ts';
import { countTrips } from './house/trips.ts';
import { readArguments } from './read-arguments.ts';

const { values } = readArguments(import.meta.filename, {
  options: {
    connectors: { type: 'boolean', default: false },
    trips: { type: 'boolean', default: false },
    files: { type: 'boolean', default: false },
  },
});
const files = listFiles('src/**/*.ts', ...(values.connectors ? ['connectors/**/*.ts'] : []));
const importers = listFiles('{src,connectors,bin}/**/*.{ts,js}');

const linesOf = (text: string) => text.split('\n').length - 1;
const texts = new Map(files.map((file) => [file, readFile(file)]));
const nodes = files.flatMap((file) => nodesOf(file).map((node) => ({ file, node })));

/** Those with a body in braces: an arrow that is one expression counts as a part of where it stands. */
const functionTypes: readonly unknown[] = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];
const functions = nodes.filter(({ node }) => functionTypes.includes(node.type));
const braced = functions.flatMap(({ file, node: { body, start, end } }) =>
  typeOf(body) === 'BlockStatement'
    ? [{ file, lines: linesOf(texts.get(file)!.slice(Number(start), Number(end))) + 1 }]
    : [],
);
const functionLines = braced.map(({ lines }) => lines);

function typeOf(node: unknown): string | undefined {
  return (node as { type?: string } | null | undefined)?.type;
}

/** Fields written as columns are, or as a vendor's API has them. */
const snakeCase = nodes.filter(({ file, node: { type, key, property, computed } }) => {
  const named = type === 'Property' ? key : type === 'MemberExpression' ? property : null;
  const { name = '' } = (named ?? {}) as { name?: string };
  return !computed && !file.startsWith('src/store/') && /^[a-z]+(?:_[a-z\d]+)+$/.test(name);
}).length;
/** Of fields into objects. */
const conditionalSpreads = nodes.flatMap(({ node: { type, properties } }) =>
  type !== 'ObjectExpression'
    ? []
    : (properties as { type: string; argument?: unknown }[]).filter(({ argument }) =>
        ['ConditionalExpression', 'LogicalExpression'].includes(typeOf(argument) ?? ''),
      ),
).length;

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

const arrows = importers.flatMap((file) =>
  importsOf(file).flatMap(({ target, typeOnly }) =>
    target === undefined ? [] : [{ from: file, to: target, typeOnly }],
  ),
);
const importedBy = Map.groupBy(arrows, ({ to }) => to);
const importersOf = (file: string) => [...new Set(importedBy.get(file)?.map(({ from }) => from))];
const importedOnce = files.filter((file) => importersOf(file).length === 1);
const among = arrows.filter(({ from, to }) => texts.has(from) && texts.has(to));
const roomOf = (file: string) => file.split('/').slice(0, 2).join('/');
const betweenRooms = among
  .filter(({ from, to }) => [from, to].every((file) => posix.dirname(file) !== 'src') && roomOf(from) !== roomOf(to))
  .map(({ from, to }): Arrow => ({ from: roomOf(from), to: roomOf(to) }));

const fileLines = [...texts.values()].map(linesOf);
const lines = fileLines.reduce((sum, one) => sum + one, 0);
const assertions = nodes.filter(({ node }) => node.type === 'TSNonNullExpression').length;
const circles = (list: readonly Arrow[]) => circlesOf(list).map((circle) => circle.join(' ↔ '));
const show = (name: string, value: string | number) => console.log(`${name.padEnd(46)}${value}`);

show('files', files.length);
show('lines', lines);
show('lines a file, median and 90th percentile', `${quantile(fileLines, 0.5)}, ${quantile(fileLines, 0.9)}`);
show('functions', functionLines.length);
show(
  'lines a function, median and 90th percentile',
  `${quantile(functionLines, 0.5)}, ${quantile(functionLines, 0.9)}`,
);
show(
  'files imported exactly once',
  `${importedOnce.length} (${((100 * importedOnce.length) / files.length).toFixed(1)} %)`,
);
show('functions over 60 lines', functionLines.filter((count) => count > 60).length);
show(
  'functions with more than four parameters',
  functions.filter(({ node }) => (node['params'] as unknown[]).length > 4).length,
);
show('conditional spreads', conditionalSpreads);
show('fields in snake_case outside of store', snakeCase);
show('non-null assertions per 1,000 lines', ((1_000 * assertions) / lines).toFixed(1));
for (const [name, found] of [
  ['circles of files at run time', circles(among.filter(({ typeOnly }) => !typeOnly))],
  ['circles of files with types', circles(among)],
  ['circles of rooms with types', circles(betweenRooms)],
] as const) {
  show(name, found.length);
  for (const circle of found) console.log(`  ${circle}`);
}
if (values.trips) {
  for (const { trip, files: run, functions, rooms, places } of await countTrips()) {
    show(trip, `${run} files, ${functions} functions`);
    console.log(`  ${rooms.map(([room, count]) => `${room} ${count}`).join(', ')}`);
    if (values.files) for (const [file, count] of places) console.log(`${String(count).padStart(5)}  src/${file}`);
  }
}
if (values.files) {
  const longest = new Map([...Map.groupBy(braced, ({ file }) => file)].map(([file, all]) => [file, longestOf(all)]));
  const rows = files.map((file) => ({ file, lines: linesOf(texts.get(file)!), by: importersOf(file) }));
  const isKept = ({ by }: (typeof rows)[number]) => by.length !== 1;
  console.log('\nlines  longest  imported by');
  for (const { file, lines, by } of rows.toSorted(
    (a, b) => Number(isKept(a)) - Number(isKept(b)) || a.lines - b.lines,
  )) {
    const importer = by.length === 1 ? by[0]! : `${by.length} files`;
    console.log(`${String(lines).padStart(5)}  ${String(longest.get(file) ?? 0).padStart(7)}  ${file} ← ${importer}`);
  }
}

function longestOf(all: readonly { lines: number }[]): number {
  return Math.max(...all.map(({ lines }) => lines));
}
