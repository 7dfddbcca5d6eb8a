import { MemorydError } from '../base/errors.ts';
import { findConnection, type ConnectionRow } from '../store/connections.ts';
import type { Queryable } from '../store/database.ts';

/** The connection, or `not_found` when there is none or it is being deleted. */
export async function requireConnection(database: Queryable, id: string): Promise<ConnectionRow> {
  const row = await findConnection(database, id);
  if (!row || row.status === 'deleting') throw new MemorydError('not_found', 'Connection not found');
  return row;
}
