import { at, paired, valueOf } from '../base/collections.ts';
import { addedBy, type Caller } from '../account/access.ts';
import { MemorydError } from '../base/errors.ts';
import type { DocumentInput, IngestResult, Documents } from '../engine/document.ts';
import { oldScopeIn } from './body.ts';
import { documentInputOf } from './document-input.ts';
import { addBody, type AddBody, type BatchBody, type BatchResult } from './schemas/documents.ts';
import type { ApiConfig } from './services.ts';
import { containersOfWrite } from './request.ts';
import { createCheck, fieldName } from './validation.ts';

/** An item of a batch, read: what to ingest, or why it cannot be. */
export type BatchItem = { input: DocumentInput } | { failure: BatchResult };

const checkItem = createCheck(addBody);

/** Reads every item with the defaults of the batch. A bad item fails alone. */
export function readBatch(body: BatchBody, caller: Caller, config: ApiConfig): BatchItem[] {
  const { documents, content: _, ...defaults } = body;
  return documents.map((document, index) => readItem(withDefaults(document, defaults), index, caller, config));
}

function readItem(item: unknown, index: number, caller: Caller, config: ApiConfig): BatchItem {
  const [issue] = checkItem(item);
  if (issue) return failed(item, issue.message, fieldName(['documents', index, ...(issue.path ?? [])]));
  const oldScope = oldScopeIn(item);
  if (oldScope) return failed(item, oldScope, `documents[${index}]`);
  const body = item as AddBody;
  try {
    const input = documentInputOf(body, config.limits.maxTextBytes);
    return { input: { ...input, ...containersOfWrite(caller, body, config), ...addedBy(caller) } };
  } catch (error) {
    if (!MemorydError.is(error)) throw error;
    const place = error.issues?.[0]?.path ?? [];
    return failed(item, error.issues?.[0]?.message ?? error.message, fieldName(['documents', index, ...place]));
  }
}

function withDefaults(document: unknown, defaults: Partial<AddBody>): unknown {
  const item = typeof document === 'string' ? { content: document } : document;
  if (!isObject(item)) return item;
  const { metadata } = item;
  const merged = isObject(metadata) ? { ...defaults.metadata, ...metadata } : (metadata ?? defaults.metadata);
  return { ...defaults, ...item, ...(merged !== undefined && { metadata: merged }) };
}

function failed(item: unknown, error: string, details: string): BatchItem {
  const content = isObject(item) ? item['content'] : undefined;
  const url = typeof content === 'string' && /^https?:\/\/\S+$/i.test(content.trim()) ? content.trim() : undefined;
  return { failure: { id: '', status: 'error', error, details, url } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The order in which a batch is ingested, as places in it: oldest `documentDate` first, so that
 * newer facts supersede older ones; items without a date last. Items of one customId keep the
 * order of the request, because the later one wins.
 */
export function ingestOrder(inputs: readonly DocumentInput[]): number[] {
  const latestByCustomId = new Map<string, number>();
  const times = inputs.map((input) => {
    const own = input.documentDate?.getTime() ?? Infinity;
    if (input.customId === undefined) return own;
    const key = `${input.containerTag} ${input.customId}`;
    const time = Math.max(own, latestByCustomId.get(key) ?? -Infinity);
    latestByCustomId.set(key, time);
    return time;
  });
  const order = inputs.map((_, index) => index);
  // Infinity minus Infinity is not a number, which would not sort.
  return order.sort((left, right) =>
    times[left] === times[right] ? left - right : at(times, left) - at(times, right),
  );
}

/** Stores the documents of a batch in their order of ingestion; the results are in that of the request. */
export async function addInOrder(
  documents: Pick<Documents, 'add'>,
  inputs: readonly DocumentInput[],
): Promise<IngestResult[]> {
  if (inputs.length === 0) return [];
  const order = ingestOrder(inputs);
  const ingested = await documents.add(order.map((place) => at(inputs, place)));
  const byPlace = new Map(paired(order, ingested));
  return inputs.map((_, place) => valueOf(byPlace, place));
}

/** Puts the outcomes of the accepted items back to where they stood in the request. */
export function batchResults(items: readonly BatchItem[], ingested: readonly IngestResult[]): BatchResult[] {
  const outcomes = ingested.values();
  return items.map((item) => {
    if ('failure' in item) return item.failure;
    const { value, done } = outcomes.next();
    if (done) throw new RangeError('A document of the batch has no outcome.');
    return { id: value.id, status: value.status };
  });
}
