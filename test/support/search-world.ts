import { terms } from '../../src/engine/terms.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import type { Database } from '../../src/store/database.ts';
import { rowSet, sql } from '../../src/store/sql.ts';
import { noteLanguages } from '../../src/store/text-languages.ts';

/** What a search test stores, as plain values; everything left out has a harmless default. */
export interface World {
  documents: WorldDocument[];
  memories?: WorldMemory[];
}

export interface WorldDocument {
  id: string;
  containerTag: string;
  customId?: string;
  filepath?: string;
  metadata?: Record<string, unknown>;
  deleted?: boolean;
  title?: string;
  summary?: string;
  status?: string;
  author?: string;
  createdAt?: Date;
  documentDate?: Date;
  chunks: WorldChunk[];
}

export interface WorldChunk {
  id: string;
  text: string;
  context?: string;
  type?: 'text' | 'turn' | 'question' | 'reply';
  /** Null: not embedded by any model. */
  vector: readonly number[] | null;
  model?: string;
}

export interface WorldMemory {
  id: string;
  containerTag: string;
  text: string;
  vector: readonly number[] | null;
  model?: string;
  metadata?: Record<string, unknown>;
  /** Ids of documents. */
  sources?: string[];
  /** Where it stands in the text of each of them. */
  span?: { start: number; end: number };
  latest?: boolean;
  forgotten?: boolean;
  forgetAfter?: Date;
  inference?: boolean;
  version?: number;
  rootMemoryId?: string;
  kind?: 'fact' | 'episode';
  author?: string;
  trust?: 'told' | 'own' | 'read';
  createdAt?: Date;
  supersededAt?: Date;
  forgottenAt?: Date;
}

/** As if each chunk were so many characters of its document. */
export const chunkLength = 1_000;

export const worldTime = new Date('2026-03-01T09:00:00.000Z');
export const worldModel = 'hand-made';

export async function storeWorld(database: Database, world: World): Promise<void> {
  await database.transaction(async (tx) => {
    const documents = rowSet(
      'r',
      {
        id: 'text',
        container_tag: 'text',
        custom_id: 'text',
        filepath: 'text',
        metadata: 'jsonb',
        deleted_at: 'timestamptz',
        title: 'text',
        summary: 'text',
        status: 'text',
        author: 'text',
        created_at: 'timestamptz',
        document_date: 'timestamptz',
        chunk_starts: 'integer[]',
        chunk_ends: 'integer[]',
      },
      world.documents.map((each) => ({
        id: each.id,
        container_tag: each.containerTag,
        custom_id: each.customId ?? null,
        filepath: each.filepath ?? null,
        metadata: each.metadata ?? {},
        deleted_at: each.deleted ? worldTime : null,
        title: each.title ?? null,
        summary: each.summary ?? null,
        status: each.status ?? 'done',
        author: each.author ?? null,
        created_at: each.createdAt ?? worldTime,
        document_date: each.documentDate ?? null,
        chunk_starts: each.chunks.map((_, position) => position * chunkLength),
        chunk_ends: each.chunks.map((_, position) => (position + 1) * chunkLength),
      })),
    );
    await tx.execute(sql`
      insert into documents (${documents.names}, type, content_hash, updated_at)
      select ${documents.select}, 'text', r.id, ${worldTime}::timestamptz
      from ${documents.from}`);
    const chunks = rowSet('r', chunkColumns, world.documents.flatMap(chunkRows));
    await tx.execute(sql`
      insert into chunks (${chunks.names}, token_count, content_hash, created_at)
      select ${chunks.select}, 1, r.id, ${worldTime}::timestamptz from ${chunks.from}`);
    await storeMemories(tx, world.memories ?? []);
    await noteLanguages(tx, languagesIn(world));
  });
}

function languagesIn({ documents, memories = [] }: World) {
  const chunks = documents.flatMap(({ containerTag, chunks }) => chunks.map(({ text }) => ({ containerTag, text })));
  return [...chunks, ...memories].map(({ containerTag, text }) => ({
    containerTag,
    languages: terms(text).languages,
  }));
}

const chunkColumns = {
  id: 'text',
  document_id: 'text',
  container_tag: 'text',
  position: 'integer',
  content: 'text',
  context: 'text',
  type: 'text',
  embedding: 'vector',
  embedding_model: 'text',
  terms: 'words',
  term_counts: 'smallint[]',
  term_total: 'integer',
} as const;

function chunkRows(document: WorldDocument) {
  return document.chunks.map((chunk, position) => ({
    id: chunk.id,
    document_id: document.id,
    container_tag: document.containerTag,
    position,
    content: chunk.text,
    context: chunk.context ?? null,
    type: chunk.type ?? 'text',
    ...indexed(chunk, [chunk.context ?? '', chunk.text].join(' ')),
  }));
}

function indexed(item: Pick<WorldChunk, 'vector' | 'model'>, text: string) {
  const { terms: words, counts, total } = terms(text);
  return {
    embedding: item.vector,
    embedding_model: item.vector === null ? null : (item.model ?? worldModel),
    terms: words,
    term_counts: counts,
    term_total: total,
  };
}

async function storeMemories(tx: Pick<Database, 'execute'>, memories: readonly WorldMemory[]): Promise<void> {
  const set = rowSet(
    'r',
    {
      id: 'text',
      container_tag: 'text',
      memory: 'text',
      metadata: 'jsonb',
      is_latest: 'boolean',
      is_forgotten: 'boolean',
      forget_after: 'timestamptz',
      is_inference: 'boolean',
      version: 'integer',
      root_memory_id: 'text',
      kind: 'text',
      author: 'text',
      trust: 'text',
      created_at: 'timestamptz',
      superseded_at: 'timestamptz',
      forgotten_at: 'timestamptz',
      embedding: 'vector',
      embedding_model: 'text',
      terms: 'words',
      term_counts: 'smallint[]',
      term_total: 'integer',
    },
    memories.map((each) => ({
      id: each.id,
      container_tag: each.containerTag,
      memory: each.text,
      metadata: each.metadata ?? null,
      is_latest: each.latest ?? true,
      is_forgotten: each.forgotten ?? false,
      forget_after: each.forgetAfter ?? null,
      is_inference: each.inference ?? false,
      version: each.version ?? 1,
      root_memory_id: each.rootMemoryId ?? null,
      kind: each.kind ?? 'fact',
      author: each.author ?? null,
      trust: each.trust ?? 'told',
      created_at: each.createdAt ?? worldTime,
      superseded_at: each.supersededAt ?? null,
      forgotten_at: each.forgottenAt ?? null,
      ...indexed(each, each.text),
    })),
  );
  await tx.execute(sql`
    insert into memories (${set.names}, content_hash, updated_at)
    select ${set.select}, r.id, ${worldTime}::timestamptz from ${set.from}`);
  const sources = rowSet(
    'r',
    { memory_id: 'text', document_id: 'text', span: 'jsonb' },
    memories.flatMap(({ id, sources = [], span = null }) =>
      sources.map((document_id) => ({ memory_id: id, document_id, span })),
    ),
  );
  await tx.execute(sql`
    insert into memory_sources (${sources.names}, created_at)
    select ${sources.select}, ${worldTime}::timestamptz from ${sources.from}`);
}

export async function emptyWorld(database: Database): Promise<void> {
  await database.script('truncate documents, memories cascade');
}

/** A model that knows the vectors of some queries; of every other text it gives the first axis. */
export function createTableEmbedder(
  vectors: Record<string, readonly number[]>,
  options: { dimensions: number; relatedAt?: number },
): Embedder {
  const axis = Array.from({ length: options.dimensions }, (_, index) => (index === 0 ? 1 : 0));
  return {
    id: worldModel,
    dimensions: options.dimensions,
    maxTokens: 256,
    maxInputs: 100,
    relatedAt: options.relatedAt ?? 0.5,
    embed: async (texts) => texts.map((text) => Float32Array.from(vectors[text] ?? axis)),
    runtime: async () => 'test',
    tokens: { kind: 'words' },
    verify: async () => ({ id: worldModel, runtime: 'table', ok: true, checks: [] }),
    close: async () => {},
  };
}
