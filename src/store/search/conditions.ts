import { compileFilter, filterable } from '../filters.ts';
import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import type { CandidatePlan, DateRange, Narrowing } from './search-plan.ts';

type Seeing = Narrowing & Pick<CandidatePlan, 'kind' | 'forgottenToo' | 'now'>;

/** On a row `t` of the table of the kind. */
export function visible(plan: Seeing): Sql {
  return plan.kind === 'chunks' ? visibleChunks(plan) : sql`${isKnown(plan)} and ${visibleMemories(plan)}`;
}

/**
 * The same, of which no other index can make use: a table without statistics seems to hold so few rows of a container
 * that the planner would sort all of them rather than walk the vector index. What that index is partial by stays open.
 */
export function visibleAsFilter(plan: Seeing): Sql {
  if (plan.kind === 'chunks') return sql`coalesce(${visibleChunks(plan)}, false)`;
  return sql`${isKnown(plan)} and coalesce(${visibleMemories(plan)}, false)`;
}

/** On the rows of a table with a container tag; true for every container. */
export function inScope(alias: string, containerTags: readonly string[] | null): Sql {
  return containerTags === null ? rawSql('true') : sql`${rawSql(alias)}.container_tag = any(${containerTags}::text[])`;
}

/**
 * On a chunk `t`: its document is not hidden. Within `coalesce` it stays a filter, and the planner has
 * the choice: few hidden documents are read once into a hash, very many are looked up one by one (a
 * `not in` would compare each chunk with all of them).
 */
const isVisible = rawSql(
  'coalesce(not exists (select 1 from documents d where d.id = t.document_id and d.deleted_at is not null), true)',
);

/**
 * On a chunk `t`: what the search may see. Filters and not a join, for two reasons: the planner
 * would read all documents to join the chunks of a few, and it would give up the order of the
 * vector index. Documents are only looked up when something is asked of them.
 */
function visibleChunks(narrowing: Narrowing): Sql {
  const conditions = [inScope('t', narrowing.containerTags), isVisible];
  if (narrowing.docId !== undefined) conditions.push(rawSql('t.document_id in (select id from wanted)'));
  const { namedTags, filters, filepath, dates, asOf } = narrowing;
  if ([namedTags, filters, filepath, dates, asOf].some((one) => one !== undefined)) {
    const added = asOf === undefined ? rawSql('') : sql` and d.created_at <= ${asOf}::timestamptz`;
    conditions.push(sql`(select ${documentConditions(narrowing)}${added} from documents d where d.id = t.document_id)`);
  }
  return joinSql(conditions, ' and ');
}

/** On a document `d`; `metadata` is what the filters are tested with. Needs `wantedDocuments` when there is a docId. */
export function documentConditions(narrowing: Narrowing, metadata: Sql = filterable): Sql {
  const conditions = [rawSql('d.deleted_at is null')];
  if (narrowing.docId !== undefined) conditions.push(rawSql('d.id in (select id from wanted)'));
  if (narrowing.namedTags !== undefined) conditions.push(isNamed(narrowing.namedTags));
  if (narrowing.filepath !== undefined) conditions.push(onFilepath(narrowing.filepath));
  if (narrowing.dates) conditions.push(isWithin(dateOf, narrowing.dates));
  if (narrowing.filters) conditions.push(compileFilter(narrowing.filters, metadata));
  return joinSql(conditions, ' and ');
}

/** Of a document `d`, as results tell it. */
const dateOf = rawSql('coalesce(d.written_at, d.document_date, d.created_at)');

function isWithin(moment: Sql, { from, to }: DateRange): Sql {
  const conditions = [
    ...(from ? [sql`${moment} >= ${from}::timestamptz`] : []),
    ...(to ? [sql`${moment} <= ${to}::timestamptz`] : []),
  ];
  return conditions.length === 0 ? rawSql('true') : joinSql(conditions, ' and ');
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

/** On a memory `t`: the version that counts now, or that counted at the time that is asked about. */
function isKnown({ forgottenToo, asOf, now }: Pick<CandidatePlan, 'forgottenToo' | 'now' | 'asOf'>): Sql {
  if (asOf === undefined) {
    if (forgottenToo) return rawSql('t.is_latest');
    return sql`t.is_latest and not t.is_forgotten and (t.forget_after is null or t.forget_after > ${now}::timestamptz)`;
  }
  const versions = sql`t.created_at <= ${asOf}::timestamptz and (t.is_latest or t.superseded_at > ${asOf}::timestamptz)`;
  if (forgottenToo) return versions;
  return sql`${versions} and (not t.is_forgotten or t.forgotten_at > ${asOf}::timestamptz)
      and (t.forget_after is null or t.forget_after > ${asOf}::timestamptz)`;
}

/** On a memory `t`: not all of its documents are hidden. Needs `hiddenMemories`. */
const hasVisibleSource = rawSql('coalesce(not exists (select 1 from hidden h where h.memory_id = t.id), true)');

/** Memories of which all documents are hidden, read once: there are few. */
export function hiddenMemories(plan: Narrowing & Pick<CandidatePlan, 'kind'>): Sql[] {
  if (plan.kind === 'chunks' || asksForDocuments(plan)) return [];
  return [
    rawSql(`hidden as materialized (
    select s.memory_id from documents d join memory_sources s on s.document_id = d.id
    where d.deleted_at is not null and not exists (
      select 1 from memory_sources o join documents l on l.id = o.document_id
      where o.memory_id = s.memory_id and l.deleted_at is null)
  )`),
  ];
}

function asksForDocuments({ docId, filepath, namedTags, dates, filters }: Narrowing): boolean {
  return [docId, filepath, namedTags, dates, filters].some((one) => one !== undefined);
}

/**
 * On a memory `t`: where something is asked of documents, a source it still has fulfils it, with its
 * metadata overlaid by the memory's own. A memory that never had a source is tested by itself.
 */
function visibleMemories(narrowing: Narrowing): Sql {
  const { containerTags, docId, filepath, namedTags, dates, filters } = narrowing;
  const scope = inScope('t', containerTags);
  if (!asksForDocuments(narrowing)) return sql`${scope} and ${hasVisibleSource}`;
  const overlaid = sql`(${filterable} || coalesce(t.metadata, '{}'))`;
  const fromSource = sql`exists (
      select 1 from memory_sources s join documents d on d.id = s.document_id
      where s.memory_id = t.id and ${documentConditions(narrowing, overlaid)})`;
  if (docId !== undefined || filepath !== undefined) return sql`${scope} and ${fromSource}`;
  const own = [inScope('t', namedTags ?? null)];
  if (dates) own.push(isWithin(rawSql('coalesce(t.said_at, t.created_at)'), dates));
  if (filters) own.push(compileFilter(filters, rawSql('t.metadata')));
  return sql`${scope} and (${fromSource}
      or ${joinSql(own, ' and ')} and not exists (select 1 from memory_sources s where s.memory_id = t.id))`;
}
