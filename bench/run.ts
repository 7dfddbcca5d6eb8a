/**
 *     node bench/run.ts [names…] [--quick] [--save]
 *
 * Runs the benchmarks with these names, or all; docs/benchmarks.md says what each measures. `--quick`
 * takes fewer items, `--save` writes the figures into bench/results.
 */
import { fork } from 'node:child_process';
import { benchmarks } from './benchmarks.ts';
import { engines, type Engine } from './databases.ts';
import { printFigure, printTable, type Figure } from './report.ts';
import { saveFigures } from './save.ts';
import { readArguments } from '../scripts/read-arguments.ts';

const { values, positionals } = readArguments(import.meta.filename, {
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, save: { type: 'boolean', default: false } },
});
const names = positionals.length > 0 ? positionals : Object.keys(benchmarks);
const unknown = names.filter((name) => benchmarks[name] === undefined);
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${Object.keys(benchmarks).join(', ')}.`);
  process.exit(2);
}
if (!engines.includes('postgres')) console.log('Without PostgreSQL: DATABASE_URL names no server.');

const figures: Figure[] = [];
for (const name of names) {
  for (const engine of benchmarks[name]!.engines) figures.push(...(await measure(name, engine)));
}
console.log('');
printTable(figures);
if (values.quick) console.log('\n--quick: too few items to compare with other runs.');
if (values.save) console.log(`\nSaved in ${await saveFigures(figures, values.quick)}.`);

/** In a process of its own, so that no benchmark meets the heap or the compiled code of another. */
async function measure(name: string, engine: Engine): Promise<Figure[]> {
  console.log(`… ${name}, ${engine}`);
  const child = fork(new URL('run-one.ts', import.meta.url), [name, engine, values.quick ? 'quick' : 'full']);
  const measured: Figure[] = [];
  child.on('message', (message) => measured.push(...(message as Figure[])));
  const exitCode = await new Promise((resolve) => child.on('close', resolve));
  if (exitCode !== 0) {
    console.error(`${name}, ${engine}: failed, exit code ${String(exitCode)}`);
    process.exitCode = 1;
  }
  measured.forEach(printFigure);
  return measured;
}
