import type { Queryable, Transaction } from './database.ts';
import { deleteSetting, writeSetting } from './settings.ts';
import { rawSql, sql, type Sql } from './sql.ts';

const switchKey = 'memories';

/** Records that memories were switched off or on; documents that arrived in between are mined after switching on. */
export async function noteMemoriesSwitch(database: Queryable, isOn: boolean, now: Date): Promise<void> {
  if (!isOn) return writeSetting(database, switchKey, 'off', now);
  if (await deleteSetting(database, switchKey)) await noteSettingChange(database, { scope: 'everything' });
}

/** Where a setting changed that decides what makes memories, who wrote it, or how far it is trusted. */
export type MemorySettingChange = { scope: 'connection' | 'container'; id: string } | { scope: 'everything' };

/** All documents below it are looked at again, in the background. One that changes meanwhile begins anew. */
export async function noteSettingChange(tx: Queryable, changed: MemorySettingChange): Promise<void> {
  const id = 'id' in changed ? changed.id : '';
  await tx.execute(sql`
    insert into memory_setting_changes (scope, id) values (${changed.scope}, ${id})
    on conflict (scope, id) do update set position = ''`);
}

export async function hasSettingChanges(database: Queryable): Promise<boolean> {
  const rows = await database.query(sql`select 1 from memory_setting_changes limit 1`);
  return rows.length > 0;
}

/**
 * Goes on with one change: of the next documents, those that it concerns and that make memories, or have
 * made some, wait to be mined again. Looks at `limit` documents at the most, wherever they belong.
 */
export async function applySettingChange(tx: Transaction, limit: number, now: Date): Promise<void> {
  const [change] = await tx.query<{ scope: MemorySettingChange['scope']; id: string; position: string }>(sql`
    select scope, id, position from memory_setting_changes order by scope, id limit 1 for update`);
  if (!change) return;
  const { scope, id, position } = change;
  const rows = await tx.query<{ id: string }>(sql`
    select id from documents where id > ${position} order by id limit ${limit}`);
  const column = rawSql(scope === 'connection' ? 'd.connection_id' : 'd.container_tag');
  const concerned = scope === 'everything' ? rawSql('true') : sql`${column} = ${id}`;
  await tx.execute(sql`
    update documents d set dreaming_status = 'dreaming', dream_at = ${now}, dream_attempts = 0
    where d.id = any(${rows.map((row) => row.id)}::text[]) and ${concerned}
      and (${mayMakeMemories()} or exists (select 1 from memory_sources s where s.document_id = d.id))`);
  const last = rows.at(-1);
  const named = sql`scope = ${scope} and id = ${id}`;
  await tx.execute(
    last && rows.length === limit
      ? sql`update memory_setting_changes set position = ${last.id} where ${named}`
      : sql`delete from memory_setting_changes where ${named}`,
  );
}

/**
 * On a document `d`: whether it may make memories as its connection and its container are set now. Mining
 * decides for each piece of it; this keeps what makes none from waiting to be mined.
 */
export function mayMakeMemories(isTranscript: Sql = rawSql('d.is_transcript')): Sql {
  return sql`(d.task_type = 'memory' and coalesce(
      (select c.memories from connections c where c.id = d.connection_id),
      (select t.memories from container_tags t where t.tag = d.container_tag),
      case when d.trust <> 'read' or ${isTranscript}
        or exists (select 1 from connections c where c.id = d.connection_id and c.trust = 'own')
      then 'facts+episodes' else 'off' end) <> 'off')`;
}
