import { afterAll, describe, expect, test } from 'vitest';
import type { Transaction } from '../../src/store/database.ts';
import { finishPushedItems } from '../../src/store/push.ts';
import { rawSql, type Sql } from '../../src/store/sql.ts';
import { finishItems } from '../../src/store/leases.ts';
import { moveItems, timeItems } from '../../src/store/coverage.ts';
import { engines, openTestDatabase } from '../support/databases.ts';

const key = { connectionId: 'connection', partitionId: 'partition' };
const now = new Date('2026-03-01T00:00:00.000Z');
const item = { extId: 'item', rev: null, documentId: null, nextTry: null, errorClass: null, error: null } as const;

const writes: Record<string, (tx: Transaction) => Promise<unknown>> = {
  finished: (tx) => finishItems(tx, key, [{ ...item, state: 'done' }], { leaseToken: 'lease', now }),
  pushed: (tx) => finishPushedItems(tx, key, [{ extId: 'item', documentId: 'document' }], now),
  moved: (tx) => moveItems(tx, key, [{ extId: 'item', reason: 'filtered', detail: null }], now),
  dated: (tx) => timeItems(tx, key, [{ extId: 'item', sourceUpdatedAt: now }]),
};

describe.each(engines)('items of the ledger, on %s', async (engine) => {
  const { database, close } = await openTestDatabase(engine);
  afterAll(close);

  test.each(Object.entries(writes))(
    'are looked up by their ids when they are %s, before statistics exist',
    async (_, write) => {
      const statements: Sql[] = [];
      await database.transaction(async (tx) => {
        const note = (statement: Sql) => void statements.push(statement);
        await write({
          query: (statement) => (note(statement), tx.query(statement)),
          execute: (statement) => (note(statement), tx.execute(statement)),
        });
      });
      for (const { text } of statements) {
        const plan = await database.query<{ 'QUERY PLAN': string }>(rawSql(`explain (generic_plan) ${text}`));
        const reads = plan.map((line) => line['QUERY PLAN']).filter((line) => /Index Cond|Recheck Cond/.test(line));
        expect(reads).not.toEqual([]);
        for (const read of reads) expect(read).toMatch(/ext_id = /);
      }
    },
  );
});
