import * as vitest from 'vitest';
import { testConnector, type TestRunner } from 'memoryd/testing';
import { shelfConnector } from '../../fixtures/servers/shelf-connector.ts';
import { createShelfWorld } from '../../fixtures/servers/shelf-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

/** The dear ones. In short, of partial listings, those of Gmail, Google Drive and Notion prove the same. */
const onlyInLong = /^check (?:4|6|18) /;
const withoutDearOnes: TestRunner = {
  ...vitest,
  it: (name, run, timeoutMs) => (onlyInLong.test(name) ? undefined : vitest.it(name, run, timeoutMs)),
};

/** The same source, of which the connector says that its listings may leave items out. */
await testConnector({
  database: () => openOwnDatabase(),
  vitest: sized(withoutDearOnes, vitest),
  connector: { ...shelfConnector, spec: { ...shelfConnector.spec, listing: 'partial' } },
  world: (options) => createShelfWorld(options, 'key'),
  manyItems: 20_000,
  notApplied: [
    // A key is neither renewed nor withdrawn, and requests are counted in the other test of this source.
    ...['13 one-refresh', '13 crash', '14 withdrawn', '21 first', '21 changed-0', '21 changed-1', '21 changed-5'],
  ],
});
