/**
 *     npm run mutants -- [--area folder,imap,github,core] [--only 8,12] [--from N] [--to N] [--seconds 600] [--short]
 *
 * Plants one fault after the other into a copy of the tree and runs the smallest suites that should notice it, the
 * long ones last, until one fails. A fault counts as caught only when the test that failed passes without it, so that a
 * test which fails in the copy anyway proves nothing. Prints a table of what was caught, and ends with 1 when a fault
 * was not caught that loses or wrongly deletes something, or when more than a tenth of an area was not. Needs what the
 * suites need (DATABASE_URL, Dovecot). With `--short` the long suites are left out, except those that a fault names as its
 * own: what survives may not survive those.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { coreMutants } from './mutants/core.ts';
import { folderMutants } from './mutants/folder.ts';
import { githubMutants } from './mutants/github.ts';
import { imapMutants } from './mutants/imap.ts';
import type { Mutant, MutantSet } from './mutants/mutant.ts';
import { readArguments } from './read-arguments.ts';

const root = join(import.meta.dirname, '..');
const sets = [folderMutants, imapMutants, githubMutants, coreMutants];
const { values } = readArguments(import.meta.filename, {
  options: {
    area: { type: 'string', default: sets.map(({ area }) => area).join(',') },
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '600' },
    only: { type: 'string' },
    short: { type: 'boolean', default: false },
  },
});

interface Verdict {
  area: string;
  number: number;
  mutant: Mutant;
  outcome: Outcome;
  seconds: number;
}

/** `undecided`: a suite ran out of time or could not be loaded, or the test fails without the fault too. */
type Outcome = { kind: 'caught'; by: Noticed } | { kind: 'survived' } | { kind: 'undecided'; why: string };

const folderOf = (area: string) => (area === 'core' ? '' : `connectors/${area}/`);

async function copyTree(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'memoryd-mutants-'));
  // Some tests run as a user without rights, who has to reach the copy.
  await chmod(copy, 0o755);
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const file of listed.stdout.toString().split('\0')) {
    // A tree may have its packages by a link.
    if (file === '' || file === 'node_modules' || !existsSync(join(root, file))) continue;
    await mkdir(dirname(join(copy, file)), { recursive: true });
    await copyFile(join(root, file), join(copy, file));
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** A mutant whose place has changed plants nothing, and is to be written anew. */
async function findStale(set: MutantSet): Promise<string[]> {
  const stale: string[] = [];
  for (const [index, { file, find }] of set.mutants.entries()) {
    const source = await readFile(join(root, folderOf(set.area), file), 'utf8').catch(() => '');
    if (source.split(find).length !== 2) stale.push(`${set.area} ${index + 1}: ${file} does not hold once: ${find}`);
  }
  return stale;
}

/** The nearest first; short suites together, which spares starting the runner for each; each long one alone. */
function groupsOf(suites: readonly string[], near: readonly string[]): string[][] {
  const isLong = (suite: string) => /\/(kit-|mirror-model)/.test(suite);
  const short = suites.filter((suite) => !isLong(suite) && !near.includes(suite));
  const long = values.short ? [] : suites.filter(isLong).map((suite) => [suite]);
  return [[...near], short, ...long].filter((group) => group.length > 0);
}

interface Noticed {
  suite: string;
  test: string;
}

/** The exit code of the runner; null: it ran out of time. */
async function runVitest(copy: string, arguments_: readonly string[]): Promise<number | null> {
  const child = spawn(join(copy, 'node_modules/.bin/vitest'), ['run', ...arguments_], {
    cwd: copy,
    detached: true,
    stdio: 'ignore',
  });
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), Number(values.seconds) * 1_000);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  return code;
}

/** The first test that fails. What takes too long is not taken for caught: the machine may be busy. */
async function runSuites(copy: string, suites: readonly string[], mode = 'test'): Promise<Outcome> {
  const report = join(copy, 'mutant-report.json');
  await rm(report, { force: true });
  const reporting = ['--bail', '1', '--reporter', 'json', '--outputFile', report];
  const code = await runVitest(copy, ['--mode', mode, ...reporting, ...suites]);
  if (code === null) return { kind: 'undecided', why: `${suites.join(', ')} ran out of time` };
  if (code === 0) return { kind: 'survived' };
  const by = firstFailure(await readFile(report, 'utf8').catch(() => '{}'));
  return by ? { kind: 'caught', by } : { kind: 'undecided', why: `${suites.join(', ')} could not be run` };
}

function firstFailure(text: string): Noticed | undefined {
  const report = JSON.parse(text) as {
    testResults?: { name: string; assertionResults: { status: string; fullName: string }[] }[];
  };
  for (const { name, assertionResults } of report.testResults ?? []) {
    const failed = assertionResults.find(({ status }) => status === 'failed');
    if (failed) return { suite: name, test: failed.fullName };
  }
  return undefined;
}

/** Whether the test passes now that the fault is taken out. A name that picks no test passes for nothing. */
async function passesWithout(copy: string, { suite, test }: Noticed): Promise<boolean> {
  const report = join(copy, 'mutant-report.json');
  await rm(report, { force: true });
  const name = `^${test.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)}$`;
  const code = await runVitest(copy, [suite, '--testNamePattern', name, '--reporter', 'json', '--outputFile', report]);
  if (code !== 0) return false;
  const { numPassedTests } = JSON.parse(await readFile(report, 'utf8')) as { numPassedTests: number };
  return numPassedTests > 0;
}

async function tryFault(copy: string, groups: readonly string[][]): Promise<Outcome> {
  let outcome: Outcome = { kind: 'survived' };
  for (const group of groups) {
    const found = await runSuites(copy, group);
    if (found.kind === 'caught') return found;
    if (found.kind === 'undecided') outcome = found;
  }
  return outcome;
}

async function judge(copy: string, set: MutantSet, number: number, mutant: Mutant): Promise<Verdict> {
  const started = performance.now();
  const path = join(copy, `${folderOf(set.area)}${mutant.file}`);
  const source = await readFile(path, 'utf8');
  await writeFile(
    path,
    source.replace(mutant.find, () => mutant.replace),
  );
  let outcome: Outcome;
  try {
    outcome = mutant.suites
      ? await runSuites(copy, mutant.suites, 'long')
      : await tryFault(copy, groupsOf(set.suites, set.near[mutant.file] ?? []));
  } finally {
    await writeFile(path, source);
  }
  if (outcome.kind === 'caught' && !(await passesWithout(copy, outcome.by))) {
    outcome = { kind: 'undecided', why: `fails without the fault too: ${outcome.by.test}` };
  }
  return { area: set.area, number, mutant, outcome, seconds: Math.round((performance.now() - started) / 1_000) };
}

function describeOutcome(outcome: Outcome): [short: string, more: string] {
  if (outcome.kind === 'survived') return ['SURVIVED', ''];
  if (outcome.kind === 'undecided') return ['UNDECIDED', `\n    ${outcome.why}`];
  return [`caught by ${outcome.by.suite.split('/').at(-1)}`, `\n    ${outcome.by.test}`];
}

function show({ area, number, mutant, outcome, seconds }: Verdict): string {
  const [short, more] = describeOutcome(outcome);
  const what = mutant.find.split('\n')[0]!.slice(0, 70);
  return `${area} ${number} ${mutant.loses ? 'loses' : '     '} ${seconds} s ${short}: ${mutant.file}: ${what}${more}`;
}

/** What is undecided was not caught. */
function summary(area: string, verdicts: readonly Verdict[]): { line: string; isGood: boolean } {
  const count = (kind: Outcome['kind']) => verdicts.filter(({ outcome }) => outcome.kind === kind).length;
  const lost = verdicts.filter(({ outcome, mutant }) => outcome.kind !== 'caught' && mutant.loses).length;
  const share = verdicts.length === 0 ? 1 : count('caught') / verdicts.length;
  const line = [
    `${area}: ${count('caught')} of ${verdicts.length} caught (${Math.round(share * 100)} %), ${count('undecided')} undecided`,
    `${lost} not caught that lose or wrongly delete`,
  ].join('; ');
  return { line, isGood: lost === 0 && share >= 0.9 };
}

function isChosen(number: number): boolean {
  if (values.only !== undefined) return values.only.split(',').includes(String(number));
  return number >= Number(values.from) && number <= Number(values.to);
}

const chosen = sets.filter(({ area }) => values.area.split(',').includes(area));
const stale = (await Promise.all(chosen.map(findStale))).flat();
if (stale.length > 0) {
  console.error(stale.join('\n'));
  process.exit(2);
}
const copy = await copyTree();
const verdicts: Verdict[] = [];
try {
  for (const set of chosen) {
    for (const [index, mutant] of set.mutants.entries()) {
      const number = index + 1;
      if (!isChosen(number)) continue;
      const verdict = await judge(copy, set, number, mutant);
      verdicts.push(verdict);
      console.log(show(verdict));
    }
  }
} finally {
  await rm(copy, { recursive: true, force: true });
}
for (const [area, some] of Map.groupBy(verdicts, ({ area }) => area)) {
  const { line, isGood } = summary(area, some);
  console.log(line);
  if (!isGood) process.exitCode = 1;
}
