import type { Clock } from '../base/clock.ts';
import { createGathering } from '../base/concurrency.ts';
import type { Database } from '../store/database.ts';
import { readResults, type ResultDocumentRow, type ResultRow } from '../store/search/results.ts';
import type { Chosen, Line } from './lines.ts';
import type { ResultDocument, SearchResult } from './search.ts';

/** The rows of lines, in no order. */
export type ResultReader = (lines: readonly Line[], details: { summaries: boolean }) => Promise<ResultRow[]>;

/** Searches whose results are read in one statement. */
const mostTogether = 32;

/** Searches at the same time read their results together. */
export function createResultReader(database: Database, clock: Clock): ResultReader {
  const reading = (summaries: boolean) =>
    createGathering<readonly Line[], ResultRow[]>({
      async run(searches) {
        const rows = await readResults(database, searches.flat(), { summaries, now: clock.now() });
        return searches.map(() => rows);
      },
      most: mostTogether,
    });
  const [plain, withSummaries] = [reading(false), reading(true)];
  return async (lines, { summaries }) => (lines.length === 0 ? [] : (summaries ? withSummaries : plain)(lines));
}

export function resultOf(row: ResultRow, { similarity, scores, isWeak }: Chosen): SearchResult {
  return {
    id: row.id,
    kind: row.kind,
    text: row.text,
    similarity,
    scores,
    isWeak,
    containerTag: row.container_tag,
    memoryKind: row.memory_kind,
    category: row.category,
    author: row.author,
    extractor: row.extractor,
    trust: row.trust,
    saidAt: row.said_at,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
    isLatest: row.is_latest,
    isInference: row.is_inference,
    isForgotten: row.is_forgotten,
    position: row.position,
    rootMemoryId: row.root_memory_id,
    filepath: row.filepath,
    documents: row.documents.map(documentOf),
  };
}

function documentOf(row: ResultDocumentRow): ResultDocument {
  return {
    ...row,
    documentDate: row.documentDate === null ? null : new Date(row.documentDate),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
  };
}
