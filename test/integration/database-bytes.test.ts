import { expect, it } from 'vitest';
import { databaseBytes } from '../../src/store/database.ts';
import { engines, openTestDatabase } from '../support/databases.ts';

it.each(engines)('a database on %s tells how large it is', async (engine) => {
  const { database, close } = await openTestDatabase(engine);
  expect(await databaseBytes(database)).toBeGreaterThan(1_000_000);
  await close();
});
