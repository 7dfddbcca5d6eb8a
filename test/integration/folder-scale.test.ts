import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRoot } from './folder-fixture.ts';
import { sized } from '../support/length.ts';

const files = sized(40_000, 100_000);
/** 50 MB for 100,000 files, of which some are for what does not grow with them. */
const limitMb = 10 + (40 * files) / 100_000;
let trees: string;
let remove: () => Promise<void>;

interface Measured {
  refs: number;
  pages: number;
  /** The most that the listing held at the end of a page. */
  heldMb: number;
  cpuMs: number;
}

/** `flat`: one folder. `deep`: ten files to a folder, three levels; `small` is a tenth of it. */
beforeAll(async () => {
  ({ root: trees, remove } = await createRoot());
  makeTree('flat', files, files);
  makeTree('deep', files, 10);
  makeTree('small', files / 10, 10);
}, 120_000);
afterAll(() => remove(), 120_000);

function makeTree(name: string, count: number, perFolder: number): void {
  let folder = '';
  for (let index = 0; index < count; index++) {
    if (index % perFolder === 0) {
      const number = index / perFolder;
      folder = join(trees, name, `g${number % 20}`, `h${number % 400}`, String(number));
      mkdirSync(folder, { recursive: true });
    }
    writeFileSync(join(folder, `note-${index}.md`), '');
  }
}

/** Both in one new process, so that the small tree warms up what the large one is measured with. */
async function measure(name: string): Promise<{ small: Measured; large: Measured }> {
  const script = join(import.meta.dirname, 'folder-scale-child.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    script,
    join(trees, 'small'),
    join(trees, name),
  ]);
  return JSON.parse(stdout);
}

describe.each(['flat', 'deep'])(`${files} files, %s`, (name) => {
  it('are listed within little memory and in proportion to their number', { timeout: 60_000 }, async () => {
    const { small, large } = await measure(name);
    // The first page is a quarter of the others.
    expect(large).toMatchObject({ refs: files, pages: files / 1_000 + 1 });
    expect(large.heldMb).toBeLessThan(limitMb);
    // Ten times the files; a hundred times the work if pages began from the start. Processor time,
    // because wall time tells of the neighbours.
    expect(large.cpuMs / small.cpuMs).toBeLessThan(20);
  });
});
