import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import github from '../../connectors/github/index.ts';
import { listFiles } from '../../connectors/github/files.ts';
import { createGithubWorld } from '../../fixtures/servers/github/github-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

let filesPerPage: number | undefined;

/** Pages hold 5,000 files; with three, a few files make several pages. */
await testConnector({
  database: () => openOwnDatabase(),
  vitest,
  connector: { ...github, list: (ctx, partition, from) => listFiles(ctx, partition, from, filesPerPage) },
  world(options) {
    filesPerPage = options.pages === 'small' ? 3 : undefined;
    return createGithubWorld(options);
  },
  // Two repositories by name, each with its commit; then trees, a comparison and the files themselves.
  requests: ({ changed }) => 12 + changed,
  places: sized('some', 'every'),
  manyItems: sized(10_000, 25_000),
  // Files have neither a trash nor rights of their own, and what is encrypted is a binary file.
  notApplied: ['8 trash', '8 access', '16 encrypted'],
});
