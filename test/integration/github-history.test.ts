import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readHistory } from '../../fixtures/servers/github/git-history.ts';
import { createMemoryGit } from '../../fixtures/servers/github/memory-git.ts';
import { mainEngine } from '../support/databases.ts';
import { sized } from '../support/length.ts';
import { createGithubFixture } from './github-fixture.ts';

const commits = sized(200, 500);
const mostOwn = sized(120, 420);
const project = fileURLToPath(new URL('../..', import.meta.url));

let world: Awaited<ReturnType<typeof createGithubFixture>>;
beforeAll(async () => {
  const config = { content: ['files' as const], defaultExcludes: false };
  world = await createGithubFixture(config, { selection: 'repository', git: createMemoryGit, engine: mainEngine });
});
afterAll(() => world.close());

it(
  `the history of this project, and generated commits up to ${commits}: memory is what git ls-tree shows after each`,
  { timeout: 300_000 },
  async () => {
    const { steps, own } = readHistory(project, { steps: commits, mostOwn });
    const heads = new Map<string, string>();
    let number = 0;
    for (const { commit, parent, changes, files } of steps) {
      number += 1;
      const from = parent === null ? {} : { from: heads.get(parent)! };
      world.clock.advance(60_000);
      heads.set(commit, world.git.commit(changes, from));
      expect(await world.mirror.sync()).toMatchObject({ status: 'completed', error: null });
      const held = await world.hashes();
      const differing = [...files].filter(([path, hash]) => held.get(path) !== hash).map(([path]) => path);
      const where = `commit ${number} (${number <= own ? 'own' : 'generated'} ${commit})`;
      expect({ where, differing, files: held.size }).toEqual({ where, differing: [], files: files.size });
    }
    expect(number).toBe(commits);
  },
);
