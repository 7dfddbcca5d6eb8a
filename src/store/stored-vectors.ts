import type { Queryable } from './database.ts';
import { rowSet, rawSql, sql } from './sql.ts';

/** Tables whose rows have stored vectors. */
export const embeddedKinds = ['chunks', 'memories'] as const;
export type EmbeddedKind = (typeof embeddedKinds)[number];

const texts = {
  chunks: rawSql('context, content'),
  memories: rawSql('null::text as context, memory as content'),
};

/** Those whose vector is of another model, in id order. */
export async function withOtherModel(
  database: Queryable,
  kind: EmbeddedKind,
  model: string,
  options: { after: string; limit: number },
): Promise<{ id: string; context: string | null; content: string }[]> {
  return database.query(sql`
    select id, ${texts[kind]} from ${rawSql(kind)}
    where id > ${options.after} and embedding_model is distinct from ${model}
    order by id limit ${options.limit}`);
}

/** Replaces vectors, unless what they stand for is gone or somebody else was first. */
export async function replaceVectors(
  database: Queryable,
  kind: EmbeddedKind,
  model: string,
  vectors: readonly { id: string; embedding: Float32Array }[],
): Promise<number> {
  const set = rowSet('v', { id: 'text', embedding: 'vector' }, vectors);
  return database.execute(sql`
    update ${rawSql(kind)} c set embedding = r.embedding, embedding_model = ${model}
    from (select ${set.select} from ${set.from}) as r (${set.names})
    where c.id = r.id and c.embedding_model is distinct from ${model}`);
}
