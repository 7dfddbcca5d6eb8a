import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import { shelfConnector } from '../../fixtures/servers/shelf-connector.ts';
import { createShelfWorld } from '../../fixtures/servers/shelf-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

/** Source with every ability there is, authorized by OAuth with rotating refresh tokens. */
await testConnector({
  database: () => openOwnDatabase('pglite'),
  vitest,
  connector: shelfConnector,
  world: (options) => createShelfWorld(options, 'oauth'),
  manyItems: sized(20_000, 100_000),
  requests: ({ items, changed }) => 10 + Math.ceil(items / 1_000) + changed,
});
