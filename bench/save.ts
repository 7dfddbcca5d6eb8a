import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem, type as system } from 'node:os';
import { join, relative } from 'node:path';
import { meetsTarget, type Figure } from './report.ts';

const folder = join(import.meta.dirname, 'results');

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
}

/** Writes the figures with the machine and the commit that they hold for. Returns the file's path. */
export async function saveFigures(figures: readonly Figure[], quick: boolean): Promise<string> {
  const commit = git('rev-parse', '--short', 'HEAD');
  const measuredAt = new Date().toISOString();
  const results = {
    measuredAt,
    commit,
    /** Whether there were changes that the commit does not hold. */
    isModified: git('status', '--porcelain', '--', '../src', '../connectors', '.') !== '',
    quick,
    machine: {
      processor: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGb: Math.round(totalmem() / 1e9),
      system: `${system()} ${process.arch}`,
      node: process.versions.node,
    },
    figures: figures.map((figure) => ({ ...figure, isMet: meetsTarget(figure) })),
  };
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${measuredAt.slice(0, 10)}-${commit}.json`);
  await writeFile(path, `${JSON.stringify(results, null, 2)}\n`);
  return relative(process.cwd(), path);
}
