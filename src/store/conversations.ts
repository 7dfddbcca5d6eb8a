import type { Transaction } from './database.ts';
import { sql } from './sql.ts';

/** The turns that a conversation's document was made of; null when it is none, or was changed otherwise. */
export async function readMessages(tx: Transaction, documentId: string): Promise<unknown[] | null> {
  const rows = await tx.query<{ messages: unknown[] | null }>(
    sql`select messages from document_contents where document_id = ${documentId}`,
  );
  return rows[0]?.messages ?? null;
}

export async function writeMessages(tx: Transaction, documentId: string, messages: readonly object[]): Promise<void> {
  await tx.execute(sql`
    update document_contents set messages = ${JSON.stringify(messages)}::jsonb where document_id = ${documentId}`);
}
