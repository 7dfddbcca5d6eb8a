import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import folder from '../../connectors/folder/index.ts';
import { listPage } from '../../connectors/folder/list.ts';
import { createFolderWorld } from '../../fixtures/servers/folder-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

let filesPerPage: number | undefined;

/** Pages of a folder hold 1,000 files; with three, a few files make several pages. */
await testConnector({
  database: () => openOwnDatabase(),
  vitest,
  connector: { ...folder, list: (ctx, partition, from) => listPage(ctx, partition, from, filesPerPage) },
  world({ pages }) {
    filesPerPage = pages === 'small' ? 3 : undefined;
    return createFolderWorld();
  },
  manyItems: sized(20_000, 100_000),
  // Partitions, the pages of the one listing, and for what changed a call for each batch (of four, here) and each file.
  requests: ({ items, changed }) => 1 + Math.ceil(items / 1_000) + Math.ceil(changed / 4) + changed,
  places: sized('some', 'every'),
  notApplied: [
    // There is nothing to authorize, no HTTP, and no feed of changes.
    ...['2 refused', '2 slow', '13 one-refresh', '13 crash', '14 withdrawn', '14 refused', '20 canary'],
    ...['6 status-500', '6 status-429', '6 status-404', '6 status-403', '6 not-json', '6 empty-object'],
    ...['6 reset', '6 truncate', '6 silence', '12 seconds', '12 date', '12 none', '12 other-status'],
    ...['7 expired-position', '19 signature', '19 delivery', '19 order', '19 endpoint', '22 changes'],
    // Times of files come from this machine's clock, and what decides is in the revision.
    ...['10 clock-ahead', '10 clock-behind'],
    // Folders have neither, and this test may run as a user who can read everything.
    ...['8 trash', '8 access', '11 poison-at-source', '16 encrypted', '17 selection', '24 one-request'],
  ],
});
