import { toSql } from 'pgvector';
import { joinSql, rawSql, sql, type Sql } from '../sql.ts';
import { corpusTable, countedWeights, knownWeights, normOf, scoreBy } from './bm25.ts';
import { hiddenMemories, visible, visibleAsFilter, wantedDocuments } from './conditions.ts';
import type { CandidateAccess, CandidatePlan, Keyword, SearchedKind } from './search-plan.ts';

/**
 * A text that comes into question, with all that it is ranked by. A memory comes once for each of its
 * sources. The row whose `id` is null holds the statistics in `numbers`: how many nearest vectors
 * were found and, where all texts were read, how many there are, their terms in all, and in how many
 * of them each term of the query stands.
 */
export interface CandidateRow {
  id: string | null;
  /** Null without a vector of the model. */
  cosine: number | null;
  /** In terms. */
  length: number;
  /** How often each term of the query stands in it. */
  numbers: number[];
  /** It holds a keyword. */
  held: boolean;
  /** It is of a time that the query names. */
  isDated: boolean;
  /** Of a chunk or a memory. */
  type: 'text' | 'turn' | 'question' | 'reply' | 'fact' | 'episode';
  /** Whether a turn is a document of its own. */
  isLone: boolean;
  isInference: boolean;
  /** Equal for memories that say the same. */
  statement: string | null;
  document: string | null;
  /** Of a chunk in its document; of a memory the chunks that it came from. Null: not known. */
  first: number | null;
  last: number | null;
  /** Of a memory: the stretch of text that it came from. */
  start: number | null;
  end: number | null;
  /** Of a chunk: whether memories came from its document. */
  isMined: boolean;
}

/** The best of each arm in one kind of text; one round trip, one snapshot. */
export function candidatesStatement(plan: CandidatePlan): Sql {
  const { access } = plan;
  const tables = [
    ...queryTable(plan),
    ...wantedDocuments(plan),
    ...hiddenMemories(plan),
    ...(access.kind === 'all' ? bestOfAll(plan) : bestByIndexes(plan, access)),
  ];
  return sql`with ${joinSql(tables, ',\n  ')}
  ${statisticsRow(plan)}
  union all
  ${plan.kind === 'chunks' ? chunkRows(plan) : memoryRows(plan)}`;
}

/**
 * The query's vector, once. Where the vector index may be used its settings are made here, for this
 * statement alone: the scan reads them when it starts, and it starts with this vector. Relaxed
 * order goes on after the first candidates until the limit is reached; the ranking sorts again.
 */
function queryTable({ vector, access, scoring }: CandidatePlan): Sql[] {
  if (vector === null) return [];
  const indexed = access.kind === 'candidates' && access.dense === 'indexed';
  const settings = indexed
    ? sql`, set_config('hnsw.ef_search', ${String(scoring.indexSearchSize)}, true),
      set_config('hnsw.iterative_scan', 'relaxed_order', true)`
    : rawSql('');
  return [sql`query as materialized (select ${toSql(Array.from(vector))}::vector as vector${settings})`];
}

// ---- Where everything is read

function bestOfAll(plan: CandidatePlan): Sql[] {
  const { kind, scoring } = plan;
  const found = plan.terms.map((_, index) => `i.tf${index}`).join(' + ');
  const byWords = sql`
      union
      (select i.id from items i, corpus, lateral (select ${normOf(scoring, rawSql('i.length'), rawSql('(corpus.total_length / greatest(corpus.items, 1))'))} as norm) n
      where ${rawSql(found)} > 0 order by ${scoreBy(countedWeights(plan))} desc, i.id limit ${scoring.candidates})`;
  return [
    sql`items as materialized (
    select ${columns(plan)} from ${from(kind)} where ${visible(plan)}
  )`,
    corpusTable(plan),
    sql`pool as materialized (
    select * from items where id in (
      (select id from items where cosine is not null order by cosine desc, id limit ${scoring.candidates})${plan.terms.length > 0 ? byWords : rawSql('')})
  )`,
  ];
}

/** Id, length in terms, cosine, and how often each query term stands in it (tf0, tf1, …). */
function columns(plan: CandidatePlan): Sql {
  return sql`t.id, t.term_total as length, ${cosine(plan)} as cosine${termCounts(plan)}`;
}

function from(kind: SearchedKind): Sql {
  return rawSql(kind === 'chunks' ? 'chunks t' : 'memories t');
}

/** Vectors of other models are never compared. A zero vector has no cosine. */
function cosine({ vector, model }: CandidatePlan): Sql {
  if (vector === null) return rawSql('null::float8');
  return sql`case when t.embedding_model = ${model.id}::text
      then nullif(1 - (t.embedding <=> (select vector from query)), 'NaN') end`;
}

/** `terms` is sorted by bytes and of collation "C", so width_bucket finds a term by halving. */
function termCounts({ terms }: CandidatePlan): Sql {
  const counted = terms.map(({ forms }, index) => {
    const counts = joinSql(forms.map(countOf), ', ');
    return sql`,
      ${forms.length > 1 ? sql`greatest(${counts})` : counts} as ${rawSql(`tf${index}`)}`;
  });
  return joinSql(counted, '');
}

function countOf(term: string): Sql {
  const place = sql`width_bucket(${term}::text, t.terms)`;
  return sql`case when t.terms[${place}] = ${term}::text then t.term_counts[${place}] else 0 end`;
}

// ---- Where indexes lead

function bestByIndexes(plan: CandidatePlan, access: CandidateAccess): Sql[] {
  const tables = plan.vector === null ? [] : [nearest(plan, access)];
  const chosen = plan.vector === null ? [] : ['select id from nearest'];
  const tiers = matchingTiers(plan, access);
  if (tiers.length > 0) {
    tables.push(sql`matches as (${joinSql(tiers, ' union ')})`, bestMatches(plan, access));
    chosen.push('select id from best_matches');
  }
  const ids = chosen.length > 0 ? chosen.join(' union ') : 'select null';
  const pool = sql`pool as materialized (
    select ${columns(plan)} from ${from(plan.kind)} where t.id in (${rawSql(ids)})
  )`;
  return [...tables, pool];
}

/**
 * The model's id and dimensions stand in the text, not in parameters, because the index is partial
 * and over an expression. Adding zero keeps the index out, for an answer that is exact.
 */
function nearest(plan: CandidatePlan, access: CandidateAccess): Sql {
  const indexed = access.dense === 'indexed';
  const distance = sql`${vectorOf(plan.model.dimensions, 't.embedding')} <=> (select vector from query)`;
  return sql`nearest as materialized (
    select t.id from ${from(plan.kind)}
    where t.embedding_model = ${textLiteral(plan.model.id)} and ${indexed ? visibleAsFilter(plan) : visible(plan)}
    order by ${indexed ? distance : sql`(${distance}) + 0`}
    limit ${plan.scoring.candidates}
  )`;
}

/** The expression that the vector index of a model with so many dimensions is over. */
export function vectorOf(dimensions: number, column: string): Sql {
  return rawSql(`(${column}::vector(${Math.trunc(dimensions)}))`);
}

/** A text as a literal, for the few places that take no parameter. */
export function textLiteral(text: string): Sql {
  const escaped = text.replace(
    /[^A-Za-z0-9 ._:/@-]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return rawSql(`E'${escaped}'`);
}

/**
 * Rare terms first: every text that holds one, as long as they are not too many. Then texts that
 * hold all of the other terms, and only when the rare ones are in hardly any text, some that hold
 * the rarest of the others. A term that was in no text when it was counted may be in one by now.
 */
function matchingTiers(plan: CandidatePlan, access: CandidateAccess): Sql[] {
  const cap = plan.scoring.lexicalCandidates;
  const found = plan.terms
    .map(({ forms }, index) => ({ forms, frequency: access.frequencies[index] ?? 0 }))
    .sort((a, b) => a.frequency - b.frequency);
  const rare: string[] = [];
  let budget = cap;
  while (found.length > 0 && found[0]!.frequency <= budget) {
    const { forms, frequency } = found.shift()!;
    rare.push(...forms);
    budget -= frequency;
  }
  const common = found.map(({ forms }) => sql`t.terms && ${forms}::text[]`);
  const tiers: Sql[] = [];
  if (rare.length > 0) tiers.push(tier(plan, access, sql`t.terms && ${rare}::text[]`, cap));
  if (common.length > 1) tiers.push(tier(plan, access, joinSql(common, ' and '), budget));
  if (common.length > 0 && cap - budget < plan.scoring.candidates) {
    const few = Math.min(budget, 2 * plan.scoring.candidates);
    tiers.push(tier(plan, access, common[0]!, few));
  }
  return tiers;
}

function tier(plan: CandidatePlan, { averageLength }: CandidateAccess, condition: Sql, limit: number): Sql {
  return sql`(
    select t.id, ${normOf(plan.scoring, rawSql('t.term_total'), sql`${averageLength}::float8`)} as norm${termCounts(plan)}
    from ${from(plan.kind)} where ${condition} and ${visible(plan)} limit ${limit})`;
}

function bestMatches(plan: CandidatePlan, access: CandidateAccess): Sql {
  return sql`best_matches as materialized (
    select id from matches order by ${scoreBy(knownWeights(plan, access))} desc, id limit ${plan.scoring.candidates}
  )`;
}

// ---- What is told of them

function statisticsRow({ access, vector, terms }: CandidatePlan): Sql {
  const all = access.kind === 'all';
  const found = vector === null || all ? 'null' : '(select count(*) from nearest)';
  const counted = all ? `, items, total_length${terms.map((_, index) => `, df${index}`).join('')}` : '';
  return rawSql(`select null as id, null::float8 as cosine, 0 as length, array[${found}${counted}]::float8[] as numbers, false as held, false as "isDated",
    null as type, false as "isLone", false as "isInference", null as statement, null as document, null::integer as first, null::integer as last,
    null::integer as start, null::integer as "end", false as "isMined"${all ? ' from corpus' : ''}`);
}

function found(plan: CandidatePlan): Sql {
  const counts = plan.terms.map((_, index) => `p.tf${index}`).join(', ');
  return sql`p.id, p.cosine, p.length, ${rawSql(`array[${counts}]::float8[]`)}, ${held(plan)}, ${dated(plan)}`;
}

function dated({ kind, periods }: CandidatePlan): Sql {
  if (periods.length === 0) return rawSql('false');
  const time = rawSql(
    kind === 'memories'
      ? 't.said_at'
      : '(select coalesce(w.written_at, w.document_date) from documents w where w.id = t.document_id)',
  );
  const inside = periods.map(({ from, to, isEachYear }) => {
    if (!isEachYear) return sql`(${time} >= ${from}::timestamptz and ${time} < ${to}::timestamptz)`;
    const [first, last] = [from, to].map((one) => one.toISOString().slice(5, 10)) as [string, string];
    const day = sql`to_char(${time} at time zone 'UTC', 'MM-DD')`;
    return sql`(${day} >= ${first}::text ${rawSql(first < last ? 'and' : 'or')} ${day} < ${last}::text)`;
  });
  return sql`coalesce(${joinSql(inside, ' or ')}, false)`;
}

function chunkRows(plan: CandidatePlan): Sql {
  // As a scalar, because the planner would read all sources of the store to look up these few.
  const isMined = plan.linked
    ? '(select true from memory_sources s where s.document_id = t.document_id limit 1) is not null'
    : 'false';
  const isLone = `t.type <> 'text' and t.position = 0
      and not exists (select from chunks o where o.document_id = t.document_id and o.position = 1)`;
  return sql`select ${found(plan)}, t.type, ${rawSql(isLone)}, false, null, t.document_id, t.position, t.position, null, null, ${rawSql(isMined)}
  from pool p join chunks t on t.id = p.id${besideCorpus(plan)}`;
}

/** Sources of a memory that are told; more than a statement has in practice. */
const maxSources = 50;

/**
 * The chunks that a source's stretch of text lies in, by where the chunks of its document start and
 * end. Where the stretch is not known it is known all the same when the document is one chunk.
 */
const firstChunk = rawSql(`case when s.span is not null then width_bucket((s.span ->> 'start')::integer, d.chunk_ends)
      when cardinality(d.chunk_starts) = 1 then 0 end`);
const lastChunk =
  rawSql(`case when s.span is not null then width_bucket((s.span ->> 'end')::integer - 1, d.chunk_starts) - 1
      when cardinality(d.chunk_starts) = 1 then 0 end`);

/** Where a memory `t` came from. */
export const placesOf = sql`
    select s.document_id, ${firstChunk} as first, ${lastChunk} as last,
      (s.span ->> 'start')::integer as start, (s.span ->> 'end')::integer as "end"
    from memory_sources s join documents d on d.id = s.document_id where s.memory_id = t.id limit ${maxSources}`;

function memoryRows(plan: CandidatePlan): Sql {
  const read = sql`select ${found(plan)}, t.kind, false, t.is_inference, t.content_hash`;
  if (!plan.linked) {
    return sql`${read}, null, null, null, null, null, false
  from pool p join memories t on t.id = p.id${besideCorpus(plan)}`;
  }
  return sql`${read}, o.document_id, o.first, o.last, o.start, o.end, false
  from pool p join memories t on t.id = p.id${besideCorpus(plan)} left join lateral (${placesOf}) o on true`;
}

// ---- Keywords

/** Rarity is known before the statement where the statistics are. */
function besideCorpus({ access, keywords }: CandidatePlan): Sql {
  return rawSql(access.kind === 'all' && keywords.some(({ onlyIfRare }) => onlyIfRare) ? ' cross join corpus' : '');
}

/** Whether the text holds a keyword; only asked of texts whose vector does not tell that they are related. */
function held(plan: CandidatePlan): Sql {
  const tests = plan.keywords.flatMap((keyword) => holds(plan, keyword));
  if (tests.length === 0) return rawSql('false');
  return sql`case when p.cosine >= ${plan.scoring.relatedAt}::float8 then false else ${joinSql(tests, ' or ')} end`;
}

/** The text is only read when the terms say that the keyword may be in it. */
function holds(plan: CandidatePlan, keyword: Keyword): Sql[] {
  const guards = keyword.terms.map((index) => rawSql(`p.tf${index} > 0`));
  if (keyword.onlyIfRare) {
    const rare = isRare(plan, keyword);
    if (rare === false) return [];
    if (rare !== true) guards.push(rare);
  }
  const text = rawSql(plan.kind === 'chunks' ? `concat_ws(' ', t.context, t.content)` : 't.memory');
  const matched = sql`${text} ~* ${keyword.pattern}::text`;
  return [guards.length === 0 ? matched : sql`case when ${joinSql(guards, ' and ')} then ${matched} else false end`];
}

function isRare({ access, scoring }: CandidatePlan, { terms }: Keyword): Sql | boolean {
  const { rareItems, rareShare } = scoring;
  if (access.kind === 'candidates') {
    const rarest = Math.min(...terms.map((index) => access.frequencies[index] ?? 0));
    return rarest <= Math.min(rareItems, rareShare * access.items);
  }
  const rarest = rawSql(`least(${terms.map((index) => `corpus.df${index}`).join(', ')})`);
  return sql`${rarest} <= least(${rareItems}::float8, ${rareShare}::float8 * corpus.items)`;
}
