import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import { shelfConnector } from '../../fixtures/servers/shelf-connector.ts';
import { createShelfWorld } from '../../fixtures/servers/shelf-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

/** The same source, of which the connector says that its listings may leave items out. */
await testConnector({
  database: () => openOwnDatabase(),
  vitest,
  connector: { ...shelfConnector, spec: { ...shelfConnector.spec, listing: 'partial' } },
  world: (options) => createShelfWorld(options, 'key'),
  manyItems: sized(5_000, 20_000),
  notApplied: [
    // A key is neither renewed nor withdrawn, and requests are counted in the other test of this source.
    ...['13 one-refresh', '13 crash', '14 withdrawn', '21 first', '21 changed-0', '21 changed-1', '21 changed-5'],
  ],
});
