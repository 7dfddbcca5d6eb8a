import { rawSql, sql, type Sql } from './sql.ts';

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
