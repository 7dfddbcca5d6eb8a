import { dropLeftoverDatabases } from './databases.ts';

/** Test files leave their databases for the next ones of the same process. */
export async function teardown(): Promise<void> {
  await dropLeftoverDatabases();
}
