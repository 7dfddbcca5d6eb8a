import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import notion from '../../connectors/notion/index.ts';
import { createNotionWorld } from '../../fixtures/servers/notion/notion-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

await testConnector({
  database: () => openOwnDatabase(),
  vitest,
  connector: notion,
  world: createNotionWorld,
  // A head, the search, the trash, the names of users; a page each, and two lists for each hundred of a first sync.
  requests: ({ items, changed }) => 4 + 2 * Math.ceil(items / 100) + changed,
  places: sized('some', 'every'),
  manyItems: sized(4_000, 8_000),
  notApplied: [
    // Times are positions that never expire.
    '7 expired-position',
    // Notion tells nobody that a page is not shared any more: the daily listing finds it (notion-deletions.test.ts).
    '8 access',
    '9 scope',
    // A page is always a text, and what is attached to it is a part of it.
    '16 too_large',
    '16 binary',
    '16 encrypted',
  ],
});
