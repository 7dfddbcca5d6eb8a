import { sql, type Sql } from './sql.ts';

/**
 * On a memory `m`: it was known at a time, as the newest version of what was known then. What was forgotten,
 * had expired, had been replaced or was not stored yet is left out.
 */
export function knownAt(asOf: Date): Sql {
  const at = sql`${asOf}::timestamptz`;
  return sql`(m.created_at <= ${at} and (m.superseded_at is null or m.superseded_at > ${at})
    and (m.forgotten_at is null or m.forgotten_at > ${at}) and (m.forget_after is null or m.forget_after > ${at})
    and not exists (
      select 1 from memories v where v.root_memory_id = coalesce(m.root_memory_id, m.id) and v.version > m.version
        and v.created_at <= ${at} and (v.forgotten_at is null or v.forgotten_at > ${at})))`;
}
