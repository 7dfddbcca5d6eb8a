/**
 *     npm run mutants -- [--area folder,imap,github,core] [--from N] [--to N] [--seconds 600]
 *
 * Plants one fault after the other into a copy of the tree and runs the smallest suites that should notice it, the
 * long ones last, until one fails. Prints a table of what was caught, and ends with 1 when a fault survived that loses or wrongly deletes
 * something, or when more than a tenth of an area did. Needs what the suites need (DATABASE_URL, Dovecot).
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { coreMutants } from './mutants/core.ts';
import { folderMutants } from './mutants/folder.ts';
import { githubMutants } from './mutants/github.ts';
import { imapMutants } from './mutants/imap.ts';
import type { Mutant, MutantSet } from './mutants/mutant.ts';

const root = join(import.meta.dirname, '..');
const sets = [folderMutants, imapMutants, githubMutants, coreMutants];
const { values } = parseArgs({
  options: {
    area: { type: 'string', default: sets.map(({ area }) => area).join(',') },
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '600' },
  },
});

interface Verdict {
  area: string;
  number: number;
  mutant: Mutant;
  /** What noticed it; null: nothing did. */
  caughtBy: Noticed | null;
  seconds: number;
}

const folderOf = (area: string) => (area === 'core' ? '' : `connectors/${area}/`);

async function copyTree(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'memoryd-mutants-'));
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const file of listed.stdout.toString().split('\0')) {
    if (file === '' || !existsSync(join(root, file))) continue;
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

/** Short suites together, which spares starting the runner for each; each long one alone. */
function groupsOf(suites: readonly string[]): string[][] {
  const isLong = (suite: string) => /\/(kit-|mirror-model)/.test(suite);
  const short = suites.filter((suite) => !isLong(suite));
  return [...(short.length > 0 ? [short] : []), ...suites.filter(isLong).map((suite) => [suite])];
}

interface Noticed {
  suite: string;
  test: string;
}

/** The first test that fails; null: none does. What takes too long is not taken for caught: the machine may be busy. */
async function runSuites(copy: string, suites: readonly string[], seconds: number): Promise<Noticed | null> {
  const report = join(copy, 'mutant-report.json');
  await rm(report, { force: true });
  const arguments_ = ['run', '--bail', '1', '--reporter', 'json', '--outputFile', report, ...suites];
  const child = spawn(join(copy, 'node_modules/.bin/vitest'), arguments_, {
    cwd: copy,
    detached: true,
    stdio: 'ignore',
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    process.kill(-child.pid!, 'SIGKILL');
  }, seconds * 1_000);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  if (isLate) console.log(`${suites.join(', ')} ran out of time.`);
  return isLate || code === 0 ? null : firstFailure(await readFile(report, 'utf8').catch(() => '{}'), suites);
}

function firstFailure(text: string, suites: readonly string[]): Noticed {
  const report = JSON.parse(text) as {
    testResults?: { name: string; status: string; assertionResults: { status: string; fullName: string }[] }[];
  };
  const file = report.testResults?.find(({ status }) => status === 'failed');
  const failed = file?.assertionResults.find(({ status }) => status === 'failed');
  return { suite: file?.name ?? suites[0]!, test: failed?.fullName ?? '(it could not be run)' };
}

async function judge(copy: string, set: MutantSet, number: number, mutant: Mutant): Promise<Verdict> {
  const started = performance.now();
  const file = `${folderOf(set.area)}${mutant.file}`;
  const path = join(copy, file);
  const source = await readFile(path, 'utf8');
  await writeFile(
    path,
    source.replace(mutant.find, () => mutant.replace),
  );
  let caughtBy: Noticed | null = null;
  try {
    for (const group of groupsOf(mutant.suites ?? set.suites)) {
      caughtBy = await runSuites(copy, group, Number(values.seconds));
      if (caughtBy) break;
    }
  } finally {
    await writeFile(path, source);
  }
  return { area: set.area, number, mutant, caughtBy, seconds: Math.round((performance.now() - started) / 1_000) };
}

function show({ area, number, mutant, caughtBy, seconds }: Verdict): string {
  const outcome = caughtBy === null ? 'SURVIVED' : `caught by ${caughtBy.suite.split('/').at(-1)}`;
  const what = mutant.find.split('\n')[0]!.slice(0, 70);
  const by = caughtBy === null ? '' : `\n    ${caughtBy.test}`;
  return `${area} ${number} ${mutant.loses ? 'loses' : '     '} ${seconds} s ${outcome}: ${mutant.file}: ${what}${by}`;
}

function summary(area: string, verdicts: readonly Verdict[]): { line: string; isGood: boolean } {
  const caught = verdicts.filter(({ caughtBy }) => caughtBy !== null);
  const lost = verdicts.filter(({ caughtBy, mutant }) => caughtBy === null && mutant.loses);
  const share = verdicts.length === 0 ? 1 : caught.length / verdicts.length;
  const line = `${area}: ${caught.length} of ${verdicts.length} caught (${Math.round(share * 100)} %); ${lost.length} survived that lose or wrongly delete`;
  return { line, isGood: lost.length === 0 && share >= 0.9 };
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
      if (number < Number(values.from) || number > Number(values.to)) continue;
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
