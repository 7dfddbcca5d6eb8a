import * as vitest from 'vitest';
import { cursorExpired, type Context } from 'memoryd/connector';
import { testConnector } from 'memoryd/testing';
import github from '../../connectors/github/index.ts';
import { listIssues } from '../../connectors/github/issues.ts';
import { createGithubIssuesWorld } from '../../fixtures/servers/github/github-issues-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

let issuesPerPage: number | undefined;
let unlisted: Set<string>;

/** Partitions that were listed in this run. */
const listedIn = (ctx: Context<any>) => ctx.session('listed', async () => new Set<string>());

await testConnector({
  database: () => openOwnDatabase(),
  vitest,
  connector: {
    ...github,
    // GitHub does not tell that an issue was deleted: it shows in the daily listing, which here comes with the next sync.
    async changes(ctx, partition, from) {
      const isListed = (await listedIn(ctx)).has(partition.id);
      if (unlisted.has(partition.id) && !isListed) throw cursorExpired('A day is over.');
      return github.changes!(ctx, partition, from);
    },
    async list(ctx, partition, from) {
      if (from === undefined) unlisted.delete(partition.id);
      (await listedIn(ctx)).add(partition.id);
      return listIssues(ctx, partition, from, issuesPerPage);
    },
  },
  async world(options) {
    issuesPerPage = options.pages === 'small' ? 5 : undefined;
    const world = await createGithubIssuesWorld(options);
    unlisted = world.unlisted;
    return world;
  },
  // The repository by its name and its newest time, the feeds, pages of five, and issues with their comments.
  requests: ({ items, changed }) => 8 + Math.ceil(items / 5) + 2 * changed,
  places: sized('some', 'every'),
  manyItems: sized(1_000, 2_000),
  notApplied: [
    // Times are positions that never expire.
    '7 expired-position',
    // Issues have no trash, no rights of their own and no folders, and are mirrored all or none.
    '8 trash',
    '8 access',
    '8 container',
    '9 move',
    '9 container-rename',
    '9 scope',
    // The title is a part of the text.
    '9 rename',
    // An issue is always a text, and never longer than GitHub lets it be.
    '16 too_large',
    '16 binary',
    '16 encrypted',
    '16 empty',
  ],
});
