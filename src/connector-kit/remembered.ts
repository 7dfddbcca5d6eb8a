import type { Database } from '../store/database.ts';
import { sql } from '../store/sql.ts';
import { customIdOf } from '../sync/check-item.ts';
import type { ExpectedItem } from './world.ts';

/** One item as memory holds it. */
export interface Remembered {
  documentId: string;
  customId: string;
  revision: number;
  status: string;
  text: string | null;
  title: string | null;
  path: string | null;
  url: string | null;
  metadata: Record<string, unknown>;
  /** Ids and contents of its chunks, in order. */
  chunks: { id: string; content: string }[];
  /** Changes with each write to the document, its content or its chunks. */
  written: string;
}

/** Every document of a container by its customId. Throws for two of one customId. */
export async function readMemory(database: Database, containerTag: string): Promise<Map<string, Remembered>> {
  const rows = await database.query<Remembered>(sql`
    select d.id as "documentId", d.custom_id as "customId", d.revision, d.status, coalesce(c.content, c.raw) as text,
      d.title, d.filepath as path, d.url, d.metadata,
      (select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'content', k.content) order by k.position), '[]'::jsonb)
        from chunks k where k.document_id = d.id) as chunks,
      concat_ws(' ', d.xmin, c.xmin, (select string_agg(k.xmin::text, ' ' order by k.id) from chunks k
        where k.document_id = d.id)) as written
    from documents d left join document_contents c on c.document_id = d.id
    where d.container_tag = ${containerTag} and d.deleted_at is null order by d.custom_id`);
  const memory = new Map(rows.map((row) => [row.customId, row]));
  if (memory.size !== rows.length) throw new Error('One item has several documents.');
  return memory;
}

const shownDifferences = 10;

/** How memory differs from what the world says, one sentence each, at most ten; empty when it does not. */
export function differences(
  provider: string,
  expected: ReadonlyMap<string, ExpectedItem>,
  memory: ReadonlyMap<string, Remembered>,
): string[] {
  const found: string[] = [];
  const customIds = new Map([...expected].map(([id, item]) => [customIdOf(provider, id), { id, item }]));
  for (const [customId, { id, item }] of customIds) {
    const remembered = memory.get(customId);
    if (remembered) found.push(...itemDifferences(id, item, remembered));
    else found.push(`${id} is missing from memory.`);
  }
  for (const customId of memory.keys()) {
    if (!customIds.has(customId)) found.push(`${customId} is in memory and must not be.`);
  }
  const more = found.length - shownDifferences;
  return more > 0 ? [...found.slice(0, shownDifferences), `And ${more} differences more.`] : found;
}

function itemDifferences(id: string, expected: ExpectedItem, found: Remembered): string[] {
  const compared: [field: string, expected: unknown, found: unknown][] = [
    ['text', expected.text.trim(), found.text?.trim() ?? null],
    ['title', expected.title, found.title],
    ['path', expected.path, found.path],
    ['url', expected.url, found.url],
    ...Object.entries(expected.metadata ?? {}).map(([name, value]): [string, unknown, unknown] => [
      `metadata ${name}`,
      value,
      found.metadata[name],
    ]),
  ];
  const differences = compared
    .filter(([, want, have]) => want !== undefined && JSON.stringify(want) !== JSON.stringify(have))
    .map(([field, want, have]) => `${id}: its ${field} is ${shown(have)} and must be ${shown(want)}.`);
  if (differences.length > 0) return differences;
  return chunkDifferences(id, expected.text, found);
}

/** Texts of checks are short, so that each is within its chunks as it stands. */
function chunkDifferences(id: string, text: string, found: Remembered): string[] {
  if (found.status !== 'done') return [`${id}: its document is ${found.status} and must be done.`];
  const strange = found.chunks.find(({ content }) => !text.includes(content.trim()));
  if (strange) return [`${id}: it has a chunk that is not of its text: ${shown(strange.content)}.`];
  if (text.trim() !== '' && found.chunks.length === 0) return [`${id}: it has no chunk, so no search finds it.`];
  return [];
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

/** Rows of the ledger and of memory that belong to nothing, one sentence each. */
export async function findOrphans(database: Database, containerTag: string): Promise<string[]> {
  const rows = await database.query<{ problem: string }>(sql`
    select 'document ' || d.custom_id || ' has no item in the ledger' as problem from documents d
      where d.container_tag = ${containerTag} and d.deleted_at is null
        and not exists (select 1 from sync_items i where i.document_id = d.id)
    union all
    select 'item ' || i.ext_id || ' names a document that is not there' from sync_items i
      join connections n on n.id = i.connection_id
      where n.container_tag = ${containerTag} and i.document_id is not null
        and not exists (select 1 from documents d where d.id = i.document_id)
    union all
    select 'chunk ' || k.id || ' belongs to no document of its container' from chunks k
      where k.container_tag = ${containerTag}
        and not exists (select 1 from documents d where d.id = k.document_id and d.container_tag = k.container_tag)
    union all
    select 'memory ' || m.id || ' has no source' from memories m
      where m.container_tag = ${containerTag} and not exists (select 1 from memory_sources s where s.memory_id = m.id)
    limit 10`);
  return rows.map((row) => row.problem);
}
