import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { coreMutants } from '../../scripts/mutants/core.ts';
import { folderMutants } from '../../scripts/mutants/folder.ts';
import { githubMutants } from '../../scripts/mutants/github.ts';
import { imapMutants } from '../../scripts/mutants/imap.ts';

const root = join(import.meta.dirname, '../..');

describe.each([folderMutants, imapMutants, githubMutants, coreMutants])('the faults of $area', (set) => {
  it('have a place in the code, so that each of them can be planted', () => {
    const folder = set.area === 'core' ? '' : `connectors/${set.area}/`;
    const stale = set.mutants.filter(
      ({ file, find }) => readFileSync(join(root, folder, file), 'utf8').split(find).length !== 2,
    );
    expect(stale).toEqual([]);
  });

  it('are looked for by suites that exist', () => {
    const named = [
      ...set.suites,
      ...Object.values(set.near).flat(),
      ...set.mutants.flatMap(({ suites = [] }) => suites),
    ];
    expect(named.filter((suite) => !existsSync(join(root, suite)))).toEqual([]);
  });
});
