import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everyContainer } from '../../src/base/scope.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { purgeDeleted, removeSelected } from '../../src/engine/remove.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

describe('a deletion that takes long', () => {
  let opened: TestDatabase;
  beforeAll(async () => {
    opened = await openTestDatabase();
  });
  afterAll(() => opened.close());

  it('answers, nobody sees what is left, and the next clean-up deletes it', async () => {
    const { database } = opened;
    const clock = createTestClock();
    const documents = createDocuments({ database, clock, wake: async () => {} });
    const body = (index: number) => ({ kind: 'text' as const, text: `Note ${index}` });
    await documents.add(
      Array.from({ length: 250 }, (_, index) => ({ containerTag: 'a', source: 'api', body: body(index) })),
    );
    // Each look at the clock takes six seconds, so that there is time for two batches.
    const slowClock = { ...clock, now: () => (clock.advance(6_000), clock.now()) };
    expect(await removeSelected(database, { containerTags: ['a'] }, slowClock)).toBe(250);
    expect(Object.values(await documents.countByStatus(everyContainer)).filter((count) => count > 0)).toEqual([]);
    const left = await database.query(sql`select 1 from documents`);
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(250);
    await purgeDeleted(database, { before: new Date(1), batch: 250, now: clock.now() });
    expect(await database.query(sql`select 1 from documents`)).toEqual([]);
  });
});
