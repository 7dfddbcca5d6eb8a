import type { Queryable } from './database.ts';
import { rowSet } from './row-set.ts';
import { sql } from './sql.ts';

/** A fact as it is shown to a language model, to compare others with it. */
export interface NearMemory {
  id: string;
  memory: string;
  subject: string | null;
  slot: string | null;
  value: string | null;
  contentHash: string;
  trust: 'told' | 'own' | 'read';
  /** Cosine. */
  similarity: number;
}

export interface Nearest {
  containerTag: string;
  trusts: readonly NearMemory['trust'][];
  embeddingModel: string;
  vectors: readonly Float32Array[];
  /** Of each vector. */
  limit: number;
  now: Date;
}

/** The current facts of a container that are nearest to each vector, nearest first, in the order of the vectors. */
export async function nearestMemories(database: Queryable, nearest: Nearest): Promise<NearMemory[][]> {
  const { containerTag, trusts, embeddingModel, vectors, limit, now } = nearest;
  if (vectors.length === 0) return [];
  const rows = vectors.map((embedding, place) => ({ place, embedding }));
  const set = rowSet('v', { place: 'integer', embedding: 'vector' }, rows);
  const found = await database.query<NearMemory & { place: number }>(sql`
    select v.place, n.*
    from (select ${set.select} from ${set.from}) v(place, embedding)
    cross join lateral (
      select m.id, m.memory, m.subject, m.slot, m.slot_value as value, m.content_hash as "contentHash", m.trust,
        1 - (m.embedding <=> v.embedding) as similarity
      from memories m
      where m.container_tag = ${containerTag} and m.kind = 'fact' and m.trust = any(${trusts}::text[])
        and m.embedding_model = ${embeddingModel} and m.is_latest and not m.is_forgotten
        and (m.forget_after is null or m.forget_after > ${now})
      order by m.embedding <=> v.embedding, m.id limit ${limit}
    ) n
    order by v.place, similarity desc, n.id`);
  const byPlace = Map.groupBy(found, ({ place }) => place);
  return vectors.map((_, place) => byPlace.get(place) ?? []);
}
