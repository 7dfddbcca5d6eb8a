import { compileFilter } from '../filters.ts';
import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import type { SearchPlan } from './search-plan.ts';

/** What decides which rows a search may see. */
export type Narrowing = Pick<SearchPlan, 'containerTags' | 'namedTags' | 'filters' | 'filepath' | 'docId'>;

/** On the rows of a table with a container tag; true for every container. */
export function inScope(alias: string, containerTags: readonly string[] | null): Sql {
  return containerTags === null ? rawSql('true') : sql`${rawSql(alias)}.container_tag = any(${containerTags}::text[])`;
}

/**
 * On a chunk `c`: its document is not hidden. Within `coalesce` it stays a filter, and the planner has
 * the choice: few hidden documents are read once into a hash, very many are looked up one by one (a
 * `not in` would compare each chunk with all of them).
 */
const isVisible = rawSql(
  'coalesce(not exists (select 1 from documents d where d.id = c.document_id and d.deleted_at is not null), true)',
);

/**
 * On a chunk `c`: what the search may see. Filters and not a join, for two reasons: the planner
 * would read all documents to join the chunks of a few, and it would give up the order of the
 * vector index. Documents are only looked up when something is asked of them.
 */
export function visibleChunks(narrowing: Narrowing): Sql {
  const conditions = [inScope('c', narrowing.containerTags), isVisible];
  if (narrowing.docId !== undefined) conditions.push(rawSql('c.document_id in (select id from wanted)'));
  const { namedTags, filters, filepath } = narrowing;
  if (namedTags !== undefined || filters !== undefined || filepath !== undefined) {
    conditions.push(sql`(select ${documentConditions(narrowing)} from documents d where d.id = c.document_id)`);
  }
  return joinSql(conditions, ' and ');
}

/** On a document `d`; `metadata` is what the filters are tested with. Needs `wantedDocuments` when there is a docId. */
function documentConditions(narrowing: Narrowing, metadata: Sql = rawSql('d.metadata')): Sql {
  const conditions = [rawSql('d.deleted_at is null')];
  if (narrowing.docId !== undefined) conditions.push(rawSql('d.id in (select id from wanted)'));
  if (narrowing.namedTags !== undefined) conditions.push(isNamed(narrowing.namedTags));
  if (narrowing.filepath !== undefined) conditions.push(onFilepath(narrowing.filepath));
  if (narrowing.filters) conditions.push(compileFilter(narrowing.filters, metadata));
  return joinSql(conditions, ' and ');
}

/** On a document `d`. */
function isNamed(tags: readonly string[]): Sql {
  return sql`coalesce(d.container_tags, array[d.container_tag::text]) && ${tags}::text[]`;
}

function onFilepath(filepath: string): Sql {
  if (filepath.endsWith('/')) return sql`starts_with(d.filepath, ${filepath}::text)`;
  return sql`d.filepath = ${filepath}::text`;
}

/** The document that a docId names, as a CTE: an id match goes before a customId, which several containers may have. */
export function wantedDocuments({ docId, containerTags }: Narrowing): Sql[] {
  if (docId === undefined) return [];
  const visible = sql`d.deleted_at is null and ${inScope('d', containerTags)}`;
  return [
    sql`wanted as materialized (
      select d.id from documents d where d.id = ${docId} and ${visible}
      union all
      select d.id from documents d where d.custom_id = ${docId} and ${visible}
        and not exists (select 1 from documents d where d.id = ${docId} and ${visible})
    )`,
  ];
}

/**
 * On a memory `m`: a source it still has fulfils the conditions, with its metadata overlaid by the
 * memory's own. A memory that never had a source is tested by itself.
 */
export function memoryConditions(narrowing: Narrowing): Sql {
  const overlaid = rawSql(`(d.metadata || coalesce(m.metadata, '{}'))`);
  const fromSource = sql`exists (
      select 1 from memory_sources s join documents d on d.id = s.document_id
      where s.memory_id = m.id and ${documentConditions(narrowing, overlaid)})`;
  if (narrowing.docId !== undefined || narrowing.filepath !== undefined) return fromSource;
  const own = [inScope('m', narrowing.namedTags ?? null)];
  if (narrowing.filters) own.push(compileFilter(narrowing.filters, rawSql('m.metadata')));
  return sql`(${fromSource}
      or ${joinSql(own, ' and ')} and not exists (select 1 from memory_sources s where s.memory_id = m.id))`;
}
