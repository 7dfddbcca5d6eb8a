import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import github from '../../connectors/github/index.ts';
import { listFiles } from '../../connectors/github/files.ts';
import { createGithubWorld } from '../../fixtures/servers/github/github-world.ts';

let filesPerPage: number | undefined;

/** Pages hold 5,000 files; with three, a few files make several pages. */
await testConnector({
  vitest,
  connector: { ...github, list: (ctx, partition, from) => listFiles(ctx, partition, from, filesPerPage) },
  world(options) {
    filesPerPage = options.pages === 'small' ? 3 : undefined;
    return createGithubWorld(options);
  },
  // Two repositories by name, each with its commit; then trees, a comparison and the files themselves.
  requests: ({ changed }) => 12 + changed,
  notApplied: [
    // Files have neither a trash nor rights of their own, and GitHub forgets commits only after a force push.
    ...['7 expired-position', '8 trash', '8 access', '11 poison-at-source', '16 encrypted'],
    // The world is authorized by a token.
    ...['13 one-refresh', '13 crash', '14 withdrawn'],
  ],
});
