import type { Database } from './database.ts';
import { sql } from './sql.ts';

/** Names one budget that processes share. */
export interface BudgetKey {
  scope: string;
  class: string;
}

/**
 * Changes the state of one budget while no other process can. `change` gets the state, null at first,
 * and answers the next one, or the same object when nothing is to be written.
 */
export async function changeBudget<State extends object>(
  database: Database,
  key: BudgetKey,
  now: Date,
  change: (state: State | null) => State | null,
): Promise<void> {
  const where = sql`scope = ${key.scope} and class = ${key.class}`;
  await database.transaction(async (tx) => {
    const read = () => tx.query<{ state: State | null }>(sql`select state from budgets where ${where} for update`);
    let [row] = await read();
    if (!row) {
      await tx.execute(sql`
        insert into budgets (scope, class, state, updated_at) values (${key.scope}, ${key.class}, 'null'::jsonb, ${now})
        on conflict do nothing`);
      [row] = await read();
    }
    const before = row?.state ?? null;
    const after = change(before);
    if (after === before) return;
    await tx.execute(sql`
      update budgets set state = ${JSON.stringify(after)}::jsonb, updated_at = ${now} where ${where}`);
  });
}

/** Forgets budgets that nobody has used since. */
export async function removeUnusedBudgets(database: Database, before: Date): Promise<number> {
  return database.execute(sql`delete from budgets where updated_at < ${before}`);
}
