import type { Connection, StartedConnection, SyncRun, ConnectionProgress } from '../connections/connection-types.ts';
import type { Chunk, Document, DocumentContent, DocumentMemory } from '../engine/document.ts';
import type { ListedMemory, Memory } from '../memory/memories.ts';
import type { CitedMemory, Profile, ProfileLine } from '../memory/profiles.ts';
import type { ContextEntry, MatchingChunk, MemoryContext, ResultDocument, SearchResult } from '../search/search.ts';
import type { ConnectionAnswer, CreateConnectionAnswer, ProviderDocument } from './schemas/connections.ts';
import type { DocumentAnswer, ListedDocument } from './schemas/documents.ts';
import type { CitedMemoryAnswer, MemoryEntryAnswer } from './schemas/memories.ts';
import type { SearchResultAnswer } from './schemas/search.ts';
import type { ProgressAnswer, SyncRunAnswer } from './schemas/sync-runs.ts';

/** Metadata as callers see it: internal fields (`sm_internal_…`) never leave. */
export function publicMetadata<Value>(metadata: Record<string, Value>): Record<string, Value> {
  const entries = Object.entries(metadata).filter(([key]) => !key.startsWith('sm_internal_'));
  return Object.fromEntries(entries);
}

/** Where a page stands among all; `page` is 1-based. */
export function paginationOf({ page, limit, total }: { page: number; limit: number; total: number }) {
  return { currentPage: page, limit, totalItems: total, totalPages: Math.ceil(total / limit) };
}

/** Section 10.3 of the API. */
export function documentView(document: Document & DocumentContent, memories: DocumentMemory[]): DocumentAnswer {
  const { containerTag: _tag, revision: _revision, ...fields } = document;
  return {
    ...fields,
    metadata: publicMetadata(document.metadata),
    spatialPoint: null,
    memories: memories.length === 0 ? undefined : memories.map(memoryView),
  };
}

function memoryView(memory: DocumentMemory) {
  return { ...memory, metadata: publicMetadata(memory.metadata) };
}

/** Section 12.6 of the API. `content` is left out unless asked for. */
export function listedDocumentView(
  document: Document & { content: string | null; size?: number | null },
  includeContent: boolean,
): ListedDocument {
  const { id, customId, connectionId, title, summary, type, status, url, filepath } = document;
  const { createdAt, updatedAt, size } = document;
  return {
    ...{ id, customId, connectionId, title, summary, type, status, url, filepath },
    metadata: publicMetadata(document.metadata),
    containerTags: listedTags(document.containerTags),
    ...{ createdAt, updatedAt, size },
    content: includeContent ? (document.content ?? '') : undefined,
  };
}

/**
 * Of several tags, which only the switch `plural-tags` allows, lists leave out those of projects: the
 * callers that write them (`@supermemory/tools/claude-memory`) take a document for theirs by exactly the rest.
 */
function listedTags(tags: string[]): string[] {
  const rest = tags.filter((tag) => !tag.startsWith('sm_project_'));
  return tags.length > 1 && rest.length > 0 ? rest : tags;
}

/** Section 12.10 of the API. */
export function chunksView(documentId: string, chunks: Chunk[]) {
  return {
    documentId,
    chunks: chunks.map((chunk) => ({ ...chunk, metadata: publicMetadata(chunk.metadata) })),
    total: chunks.length,
  };
}

export interface ResultParts {
  /** Who searches memories finds passages in the field `memory`, too. */
  passagesAsMemories: boolean;
  documents: boolean;
  summaries: boolean;
  scores?: boolean;
}

/** Section 14 of the API. */
export function searchResultView(result: SearchResult, parts: ResultParts): SearchResultAnswer {
  const { id, similarity, version, filepath, containerTag, memoryKind, category, author, trust, extractor } = result;
  return {
    ...{ id, similarity, filepath, containerTag, category, author, trust, extractor },
    scores: parts.scores ? result.scores : undefined,
    isAggregated: result.isAggregated,
    kind: memoryKind ?? 'passage',
    saidAt: result.saidAt,
    sources: result.documents.map(sourceView),
    ...textView(result, parts),
    ...{ version, metadata: resultMetadataView(result, parts) },
    createdAt: result.createdAt,
    updatedAt: result.updatedAt,
    chunks: result.chunks?.map(chunkView),
    context: result.context ? contextView(result.context) : undefined,
    documents: parts.documents ? result.documents.map((document) => resultDocumentView(document, parts)) : undefined,
  };
}

function textView({ kind, text, rootMemoryId }: SearchResult, { passagesAsMemories }: ResultParts) {
  return kind === 'memory' || passagesAsMemories ? { memory: text, rootMemoryId } : { chunk: text };
}

function resultMetadataView({ kind, metadata }: SearchResult, { passagesAsMemories }: ResultParts) {
  const shown = metadata && publicMetadata(metadata);
  return kind === 'chunk' && passagesAsMemories ? { ...shown, kind: 'passage' } : shown;
}

function sourceView({ id, title, type, url, filepath, author, trust, documentDate, createdAt }: ResultDocument) {
  const date = (documentDate ?? createdAt).toISOString();
  return { documentId: id, title, type, url, filepath, author, trust, date };
}

function chunkView({ content, documentId, position, similarity }: MatchingChunk) {
  return { content, documentId, position, score: similarity };
}

function contextView({ parents, children, related }: MemoryContext) {
  const versionView = (entry: ContextEntry & { version: number }) => ({ ...entryView(entry), version: entry.version });
  return {
    parents: parents.map(versionView),
    children: children.map(versionView),
    related: related.map(entryView),
  };
}

function entryView({ id, relation, memory, metadata, updatedAt }: ContextEntry) {
  return { id, relation, memory, metadata: publicMetadata(metadata ?? {}), updatedAt };
}

function resultDocumentView(document: ResultDocument, parts: ResultParts) {
  const { id, customId, title, type, url, summary, createdAt, updatedAt } = document;
  return {
    ...{ id, customId, title, type, url, createdAt, updatedAt },
    metadata: publicMetadata(document.metadata),
    summary: parts.summaries ? summary : undefined,
  };
}

/** Section 16 of the API; what a write of a memory answers. */
export function writtenMemoryView({ id, memory, createdAt, forgetAfter, forgetReason, ...source }: Memory) {
  return { id, memory, createdAt, forgetAfter, forgetReason, metadata: datedMetadataView(source) };
}

/** The caller's metadata with the dates (section 10.4 rule 6 of the API). */
function datedMetadataView({ metadata, temporalContext }: Pick<Memory, 'metadata' | 'temporalContext'>) {
  if (metadata === null && temporalContext === null) return null;
  return { ...publicMetadata(metadata ?? {}), ...(temporalContext && { temporalContext }) };
}

/** Section 15 of the API. */
export function profileView({ facts, buckets, ...lists }: Profile) {
  const profile = {
    ...textsOf(lists),
    buckets: buckets ? textsOf(buckets) : undefined,
  };
  return { profile, facts: facts.map(citedMemoryView) };
}

/** The lines of sections as texts alone. */
function textsOf<Name extends string>(sections: Partial<Record<Name, ProfileLine[]>>): Record<Name, string[]> {
  const entries = Object.entries<ProfileLine[] | undefined>(sections);
  return Object.fromEntries(entries.map(([name, lines = []]) => [name, lines.map(({ memory }) => memory)])) as never;
}

function citedMemoryView(cited: CitedMemory): CitedMemoryAnswer {
  const { id, memory, version, isInference, createdAt, updatedAt } = cited;
  return { id, memory, version, isInference, ...provenanceView(cited), createdAt, updatedAt };
}

function provenanceView({ kind, category, author, trust, saidAt, sources }: CitedMemory) {
  return {
    ...{ kind, category, author, trust, saidAt },
    sources: sources.map((source) => ({ ...source, date: new Date(source.date).toISOString() })),
  };
}

export function memoryEntryView(entry: ListedMemory, orgId: string): MemoryEntryAnswer {
  const { id, memory, version, isLatest, isForgotten, isStatic, isInference, parentMemoryId, rootMemoryId } = entry;
  const { spaceId, sourceCount, forgetReason, memoryRelations, temporalContext, documentIds } = entry;
  const { createdAt, updatedAt, forgetAfter } = entry;
  return {
    ...{ id, memory, version, isLatest, isForgotten, isStatic, isInference, parentMemoryId, rootMemoryId },
    ...{ orgId, spaceId, sourceCount, forgetReason, memoryRelations, temporalContext, documentIds },
    ...{ ...provenanceView(entry), createdAt, updatedAt, forgetAfter },
    metadata: entry.metadata && publicMetadata(entry.metadata),
    history: entry.history.map((earlier) => ({
      ...earlier,
      createdAt: new Date(earlier.createdAt).toISOString(),
      updatedAt: new Date(earlier.updatedAt).toISOString(),
    })),
  };
}

/** Section 19.2 of the API. `config` holds no secrets: those are in the vault. */
export function connectionView(connection: Connection): ConnectionAnswer {
  const { id, provider, status, statusReason, containerTag, schedule, onSourceDelete, documentCount } = connection;
  const { lastSyncedAt, allowedHours, filters, selection, memories, trust, author, inProfile } = connection;
  const { createdAt, nextSyncAt, problems } = connection;
  return {
    ...{ id, provider, status, statusReason, containerTag, schedule, onSourceDelete, documentCount },
    ...{ allowedHours, filters, selection, memories, trust, author, inProfile, createdAt, nextSyncAt, problems },
    containerTags: [containerTag],
    metadata: {
      ...connection.metadata,
      ...connection.config,
      ...(lastSyncedAt && { lastSyncedAt: lastSyncedAt.getTime() }),
    },
    email: connection.email ?? undefined,
    expiresAt: connection.expiresAt ?? undefined,
    documentLimit: connection.documentLimit ?? undefined,
    lastSyncRun: connection.lastRun ? shortRun(connection.lastRun) : undefined,
  };
}

/** Section 19.6 of the API. */
export function createView(
  { id, authLink, expiresInMs }: StartedConnection,
  redirectUrl: string | undefined,
): CreateConnectionAnswer {
  return {
    id,
    authLink,
    expiresIn: expiresInMs === null ? null : lifeInWords(expiresInMs),
    redirectsTo: redirectUrl,
  };
}

/** The form that published clients know: `1 hour`. */
function lifeInWords(lifeMs: number): string {
  const hours = Math.round(lifeMs / 3_600_000);
  return hours === 1 ? '1 hour' : `${hours} hours`;
}

function shortRun({ status, errorCode, error, startedAt, completedAt }: SyncRun) {
  return { status, errorCode, error, startedAt, completedAt };
}

/** Section 19.14 of the API. */
export function providerDocumentView(document: Document): ProviderDocument {
  const { id, status, title, summary, type, customId, url, connectionId, createdAt, updatedAt } = document;
  return {
    ...{ id, createdAt, updatedAt, status, title, summary, type, customId, url, connectionId },
    metadata: publicMetadata(document.metadata),
  };
}

/** Section 19.3 of the API. */
export function syncRunView(run: SyncRun): SyncRunAnswer {
  const { cancelledAt: _, report, ...fields } = run;
  return { ...fields, report: report ?? undefined };
}

export function progressView(progress: ConnectionProgress): ProgressAnswer {
  return { ...progress, run: progress.run && syncRunView(progress.run) };
}
