import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import drive from '../../connectors/google-drive/index.ts';
import { createDriveWorld } from '../../fixtures/servers/google-drive/drive-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

await testConnector({
  database: () => openOwnDatabase(),
  vitest,
  connector: drive,
  world: createDriveWorld,
  // A position, two listings, the changes since; one request for each file, and one for a later sync without any.
  requests: ({ items, changed }) => (changed < items ? 1 + changed : 2 + 2 * Math.ceil((items + 2) / 1_000) + changed),
  places: sized('some', 'every'),
  manyItems: sized(10_000, 25_000),
  // What is encrypted is a file like any other, whose text cannot be taken.
  notApplied: ['16 encrypted'],
});
