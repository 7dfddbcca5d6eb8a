import { posix } from 'node:path';
import { hash } from 'node:crypto';
import { valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Transaction } from '../store/database.ts';
import { rawTexts, writeContents, type ContentWrite } from '../store/document-contents.ts';
import {
  ensureContainers,
  insertDocuments,
  lockByCustomId,
  updateDocuments,
  type DocumentWrite,
  type NewLease,
  type StoredDocument,
} from '../store/documents.ts';
import { lockHiddenByCustomId, showDocuments } from '../store/hidden-documents.ts';
import { requireQuota } from '../store/quotas.ts';
import type { ClaimedDocument } from '../store/processing.ts';
import type { DocumentBody, DocumentInput, DocumentStatus, IngestResult } from './document.ts';
import { joinedText } from './joined-text.ts';

interface Pending {
  input: DocumentInput;
  /** Position among the inputs of the call. */
  index: number;
}

const keyOf = (containerTag: string, customId: string) => `${containerTag}\n${customId}`;

/**
 * The one entrance of documents, for API calls and connectors alike: stores what is new or changed
 * and marks it `queued`, inside the caller's transaction. A constant number of statements however
 * many inputs there are. With a lease, new
 * documents are stored as taken by its holder, who goes on with them (`claimed`) after the commit.
 *
 * - a customId that does not exist in the container: a new document;
 * - the same content and fields: nothing is written;
 * - the same content, other fields: the fields change in place;
 * - with `append`, text that is there already: as the same content;
 * - other content: a new revision. One that arrives while the last is processed takes the
 *   document from the worker, whose result is then thrown away.
 *
 * Throws `quota_exceeded` when a container or a key would hold more than it may.
 *
 * A connection's item whose document was removed and is only hidden gets that document back; the
 * rules above then say whether it is processed again.
 */
export async function ingest(
  tx: Transaction,
  inputs: readonly DocumentInput[],
  clock: Clock,
  lease: NewLease | null = null,
): Promise<IngestResult[]> {
  const results: IngestResult[] = new Array(inputs.length);
  const now = clock.now();
  const tags = [...new Set(inputs.map((input) => input.containerTag))];
  if (tags.length > 0)
    await ensureContainers(
      tx,
      tags.map((tag) => ({ tag, id: newId(now) })),
      now,
    );
  let left: Pending[] = inputs.map((input, index) => ({ input, index }));
  while (left.length > 0) {
    const { round, later } = nextRound(left);
    left = [...(await ingestRound(tx, round, results, { now, lease })), ...later];
  }
  await requireQuota(tx, { tags, keys: inputs.flatMap(({ addedBy }) => addedBy ?? []) });
  return results;
}

/** Inputs with one customId apply in order: the first of each now, the others in later rounds. */
function nextRound(pending: readonly Pending[]): { round: Pending[]; later: Pending[] } {
  const taken = new Set<string>();
  const round: Pending[] = [];
  const later: Pending[] = [];
  for (const one of pending) {
    const { containerTag, customId } = one.input;
    const key = customId === undefined ? undefined : keyOf(containerTag, customId);
    if (key !== undefined && taken.has(key)) later.push(one);
    else round.push(one);
    if (key !== undefined) taken.add(key);
  }
  return { round, later };
}

/** Returns the inputs whose customId somebody else took in the meantime. */
async function ingestRound(
  tx: Transaction,
  round: readonly Pending[],
  results: IngestResult[],
  { now, lease }: { now: Date; lease: NewLease | null },
): Promise<Pending[]> {
  const { stored, hidden } = await storedDocuments(tx, round);
  if (hidden.size > 0) await showDocuments(tx, [...hidden], now);
  const appended = await appendedTexts(tx, round, stored);
  const inserts: (Pending & { row: DocumentWrite; content: ContentWrite })[] = [];
  const updates: (DocumentWrite & { requeue: boolean })[] = [];
  const contents: ContentWrite[] = [];
  for (const one of round) {
    const before = stored.get(storedKey(one.input));
    const text = appended.get(one.index);
    const body = text ?? one.input.body;
    const row = documentWrite(one.input, text === null ? null : body, before, now);
    if (!before) {
      inserts.push({ ...one, row, content: contentWrite(row.id, { ...one.input, body }) });
      continue;
    }
    const requeue = row.contentHash !== before.contentHash || before.status === 'failed' || body.kind === 'url';
    // What failed is read again as it is stored.
    if (requeue && text !== null) contents.push(contentWrite(row.id, { ...one.input, body }));
    const changed = requeue || fieldsDiffer(row, before);
    if (changed) updates.push({ ...row, requeue });
    results[one.index] = {
      id: row.id,
      status: requeue ? 'queued' : (before.status as DocumentStatus),
      outcome: hidden.has(row.id) ? 'restored' : requeue ? 'updated' : changed ? 'metadata' : 'unchanged',
    };
  }
  const inserted =
    inserts.length > 0
      ? await insertDocuments(
          tx,
          inserts.map((one) => one.row),
          { now, lease },
        )
      : new Set<string>();
  const created = inserts.filter((one) => inserted.has(one.row.id));
  for (const { index, row, content } of created) {
    const claimed = lease ? { claimed: claimedDocument(row, content) } : {};
    results[index] = { id: row.id, status: 'queued', outcome: 'created', ...claimed };
  }
  if (updates.length > 0) await updateDocuments(tx, updates, now);
  contents.push(...created.map((one) => one.content));
  if (contents.length > 0) await writeContents(tx, contents);
  return inserts.filter((one) => !inserted.has(one.row.id)).map(({ input, index }) => ({ input, index }));
}

function claimedDocument(row: DocumentWrite, content: ContentWrite): ClaimedDocument {
  const { kind, raw, bytes, mimeType, fileName } = content;
  const { id, containerTag, type, givenTitle, filepath, dreaming } = row;
  const fresh = { revision: 1, attempts: 0, lostWorkers: 0, redrives: 0, textHash: null, content: null };
  const written = { id, containerTag, type, givenTitle, filepath, dreaming };
  return { ...written, kind, raw, bytes, mimeType, fileName, ...fresh };
}

function storedKey(input: DocumentInput): string {
  return keyOf(input.containerTag, input.customId ?? '');
}

interface Stored {
  stored: Map<string, StoredDocument>;
  /** Ids of those that are hidden. */
  hidden: Set<string>;
}

/** The documents that the inputs name. Hidden ones only belong to mirrors: a caller's is a new document. */
async function storedDocuments(tx: Transaction, round: readonly Pending[]): Promise<Stored> {
  const named = round.flatMap(({ input: { containerTag: tag, customId, connectionId } }) =>
    customId === undefined ? [] : [{ tag, customId, mirrored: connectionId !== undefined }],
  );
  if (named.length === 0) return { stored: new Map(), hidden: new Set() };
  const visible = await lockByCustomId(tx, named);
  const stored = new Map(visible.map((row) => [keyOf(row.containerTag, row.customId), row]));
  const missing = named.filter((one) => one.mirrored && !stored.has(keyOf(one.tag, one.customId)));
  const hidden = missing.length > 0 ? await lockHiddenByCustomId(tx, missing) : [];
  for (const row of hidden) stored.set(keyOf(row.containerTag, row.customId), row);
  return { stored, hidden: new Set(hidden.map((row) => row.id)) };
}

/** The whole text of inputs that append, by the input's index; null when they add nothing. */
async function appendedTexts(
  tx: Transaction,
  round: readonly Pending[],
  stored: ReadonlyMap<string, StoredDocument>,
): Promise<Map<number, DocumentBody | null>> {
  const appending = round.filter(
    ({ input }) => input.updateMode === 'append' && 'text' in input.body && stored.has(storedKey(input)),
  );
  if (appending.length === 0) return new Map();
  const texts = await rawTexts(
    tx,
    appending.map(({ input }) => valueOf(stored, storedKey(input)).id),
  );
  return new Map(
    appending.map(({ input, index }) => {
      const body = input.body as Extract<DocumentBody, { text: string }>;
      const before = texts.get(valueOf(stored, storedKey(input)).id) ?? '';
      const text = joinedText(before, body.text);
      return [index, text === null ? null : { ...body, text }];
    }),
  );
}

/** Without a body the content stays as it is. */
function documentWrite(
  input: DocumentInput,
  body: DocumentBody | null,
  before: StoredDocument | undefined,
  now: Date,
): DocumentWrite {
  const metadata = metadataOf(input, before);
  const metadataTitle = typeof metadata.title === 'string' ? metadata.title : undefined;
  const givenTitle = titleOf(input, body) ?? metadataTitle ?? keptTitle(input, before);
  const supportingContext = input.supportingContext ?? before?.supportingContext ?? null;
  return {
    ...(body === null ? contentFields(before!) : newContentFields(input, body, before)),
    id: before?.id ?? newId(now),
    containerTag: input.containerTag,
    customId: input.customId ?? null,
    connectionId: input.connectionId ?? before?.connectionId ?? null,
    givenTitle,
    title: givenTitle ?? titleUntilRead(input, body, before),
    filepath: input.filepath ?? before?.filepath ?? null,
    metadata,
    taskType: input.taskType ?? before?.taskType ?? 'memory',
    dreaming: input.dreaming ?? before?.dreaming ?? 'dynamic',
    documentDate: input.documentDate ?? before?.documentDate ?? null,
    filterByMetadata: input.filterByMetadata ?? before?.filterByMetadata ?? null,
    supportingContext,
    createdAt: input.createdAt ?? now,
    updatedAt: now,
  };
}

/** The name of a mirrored file is no title: it is called what its text calls itself, whichever source it is from. */
function titleOf({ title, connectionId }: DocumentInput, body: DocumentBody | null): string | undefined {
  const isName = connectionId !== undefined && body?.kind === 'file' && body.name === title;
  // Without an ending it is what people call it: a page of a wiki.
  return isName && /\.\w+$/.test(title ?? '') ? undefined : title;
}

/** A mirrored file that was given its name as title before, and none now, is called what its text calls itself. */
function keptTitle({ connectionId }: DocumentInput, before: StoredDocument | undefined): string | null {
  if (!before || (connectionId !== undefined && before.givenTitle === nameOf(before.filepath))) return null;
  return before.givenTitle;
}

/** A mirrored file without a title is called by its name, also by a new one. */
function titleUntilRead(
  { connectionId }: DocumentInput,
  body: DocumentBody | null,
  before: StoredDocument | undefined,
): string | null {
  const isNamed = !before || before.title === nameOf(before.filepath);
  if (connectionId !== undefined && isNamed && body?.kind === 'file' && body.name !== undefined) return body.name;
  return before?.title ?? null;
}

function nameOf(filepath: string | null): string | null {
  return filepath === null ? null : posix.basename(filepath);
}

type ContentFields = Pick<DocumentWrite, 'contentHash' | 'type' | 'source' | 'url' | 'author' | 'trust' | 'addedBy'>;

function contentFields({ contentHash, type, source, url, author, trust, addedBy }: StoredDocument): ContentFields {
  return { contentHash, type, source, url, author, trust, addedBy };
}

function newContentFields(input: DocumentInput, body: DocumentBody, before: StoredDocument | undefined): ContentFields {
  const contentHash = hashOf(body);
  const same = before?.contentHash === contentHash ? before : undefined;
  return {
    contentHash,
    // New content may be of another type than what was there; processing looks at it.
    type: input.type ?? same?.type ?? (body.kind === 'url' ? 'webpage' : 'text'),
    source: input.source,
    url: input.url ?? urlOf(body, before),
    // What the text itself says of its author is known after processing, and holds as long as the text does.
    author: input.author ?? same?.author ?? null,
    trust: input.trust ?? trustOf(body),
    addedBy: same ? same.addedBy : (input.addedBy ?? null),
  };
}

function metadataOf(input: DocumentInput, before: StoredDocument | undefined): DocumentWrite['metadata'] {
  if (input.mergesMetadata === true) return { ...before?.metadata, ...input.metadata };
  return input.metadata ?? before?.metadata ?? {};
}

/** An address that was the content before is not that of the text that replaces it. */
function urlOf(body: DocumentBody, before: StoredDocument | undefined): string | null {
  if (body.kind === 'url') return body.url;
  return before && before.source !== 'url' ? before.url : null;
}

interface ContentInput {
  body: DocumentBody;
  turns?: DocumentInput['turns'] | null;
}

export function hashOf(body: DocumentBody): string {
  switch (body.kind) {
    case 'file':
      return hash('sha256', body.bytes, 'base64');
    case 'url':
      return hash('sha256', body.url, 'base64');
    default:
      return hash('sha256', body.text, 'base64');
  }
}

/** Direct text counts as told; a file or an address counts as read. */
export function trustOf({ kind }: DocumentBody): 'told' | 'read' {
  return kind === 'file' || kind === 'url' ? 'read' : 'told';
}

export function contentWrite(id: string, { body, turns = null }: ContentInput): ContentWrite {
  const sent = { documentId: id, kind: body.kind, turns };
  const base = { ...sent, bytes: null, mimeType: null, fileName: null, keepBytes: false };
  if (body.kind === 'url') return { ...base, raw: body.url };
  if (body.kind !== 'file') return { ...base, raw: body.text };
  const text = body.keep ? null : textOf(body.bytes);
  return {
    ...base,
    raw: text,
    bytes: text === null ? body.bytes : null,
    mimeType: body.mimeType ?? null,
    fileName: body.name ?? null,
    keepBytes: body.keep ?? false,
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The bytes as text when they are UTF-8 that the database can store as text: the same bytes come
 * back, and most files are spared a second copy. Null otherwise.
 */
function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

const comparedFields = [
  'connectionId',
  'type',
  'source',
  'givenTitle',
  'url',
  'filepath',
  'metadata',
  'taskType',
  'dreaming',
  'documentDate',
  'filterByMetadata',
  'supportingContext',
  'author',
  'trust',
] as const;

function fieldsDiffer(after: DocumentWrite, before: StoredDocument): boolean {
  return comparedFields.some((field) => comparable(after[field]) !== comparable(before[field]));
}

/** jsonb does not keep the order of keys, so neither does the comparison. */
function comparable(value: unknown): string {
  if (value === null || typeof value !== 'object' || value instanceof Date) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}
