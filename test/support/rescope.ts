import type { Queryable } from '../../src/store/database.ts';
import { sql } from '../../src/store/sql.ts';

/** What a connection mirrors; absent stays. */
export interface ScopeChange {
  filters?: object;
  selection?: readonly { id: string }[];
  documentLimit?: number | null;
}

/** Changes what a connection mirrors, as the API does, without asking for a sync. */
export async function rescope(database: Queryable, id: string, change: ScopeChange): Promise<void> {
  const { filters, selection, documentLimit } = change;
  await database.execute(sql`
    update connections set
      filters = coalesce(${filters ? JSON.stringify(filters) : null}::jsonb, filters),
      selection = coalesce(${selection ? JSON.stringify(selection) : null}::jsonb, selection),
      document_limit = case when ${documentLimit === undefined} then document_limit else ${documentLimit ?? null}::integer end
    where id = ${id}`);
}
