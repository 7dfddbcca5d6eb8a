import { MemorydError } from '../base/errors.ts';
import { readableBytes } from '../base/readable-bytes.ts';
import { refusalOfType } from '../engine/read-document.ts';
import type { ClaimedItem } from '../store/sync-claims.ts';
import {
  ConnectorError,
  type ConnectorSpec,
  type Fetched,
  type FetchedDocument,
  type Ref,
} from '../connector/contract.ts';
import { connectorFault, stopsFetching, wearsOut } from './failure.ts';
import { checkFetched, contentBody, type TakenContent } from './check-fetched.ts';
import type { FetchingParts, PartitionRun } from './run.ts';

interface GroupResult {
  outcomes: FetchOutcome[];
  /** Something about more than one item ended the group; items without an outcome are not touched. */
  stopped: { error: unknown } | null;
}

/** Items in one call of `fetchMany`. */
const manySize = 100;

type GroupFetch = PartitionRun & Pick<FetchingParts, 'extractor'>;

/** Content that is known without a `fetch` for the item alone. */
type Known = Map<string, () => Fetched>;

/** Fetches some items side by side; `contents` are those that came with the listing. */
export async function fetchGroup(
  part: GroupFetch,
  items: readonly ClaimedItem[],
  contents: ReadonlyMap<string, FetchedDocument>,
): Promise<GroupResult> {
  const result: GroupResult = { outcomes: [], stopped: null };
  const known: Known = new Map([...contents].map(([id, document]) => [id, () => document]));
  const wanted: ClaimedItem[] = [];
  for (const item of items) {
    const refused = refuse(part, item);
    if (refused) result.outcomes.push(refused);
    else wanted.push(item);
  }
  if (part.source.has('fetchMany')) await fetchMany(part, wanted, known, result);
  const queue = result.stopped ? wanted.filter((item) => known.has(item.ext_id)) : [...wanted];
  const worker = async () => {
    for (let item = queue.shift(); item; item = queue.shift()) await fetchInto(part, item, known, result);
  };
  await Promise.all(Array.from({ length: Math.min(part.settings.fetchConcurrency, queue.length) }, worker));
  return result;
}

/** The outcome of an item that needs no request to the source; null for all others. */
function refuse({ source, extractor }: GroupFetch, item: ClaimedItem): FetchOutcome | null {
  if (wearsOut(item)) {
    const error = new MemorydError('lost_worker', 'Workers keep dying while they fetch this item.');
    return { item, kind: 'failed', error };
  }
  const refusal = refusalOfType(item.ref['mimeType'] as string | undefined, extractor.readsPictures);
  if (refusal) return { item, kind: 'skipped', reason: 'unsupported_type', detail: refusal };
  const maxBytes = maxItemBytes(source.spec);
  const bytes = Number(item.ref['size'] ?? 0);
  return bytes > maxBytes ? tooLarge(item, bytes, maxBytes) : null;
}

const maxItemBytes = ({ maxItemBytes: bytes = 25 * 1024 * 1024 }: ConnectorSpec) => bytes;

function tooLarge(item: ClaimedItem, bytes: number, maxBytes: number): FetchOutcome {
  const detail = `It has ${readableBytes(bytes)}; at most ${readableBytes(maxBytes)} are read.`;
  return { item, kind: 'skipped', reason: 'too_large', detail };
}

/**
 * Asks for many at once. What was received counts even when the answer breaks off; what is missing in
 * it is fetched one by one.
 */
async function fetchMany(
  part: GroupFetch,
  items: readonly ClaimedItem[],
  known: Known,
  result: GroupResult,
): Promise<void> {
  const { signal } = part.ledger;
  const missing = items.filter((item) => !known.has(item.ext_id));
  for (let start = 0; start < missing.length && !result.stopped; start += manySize) {
    const refs = missing.slice(start, start + manySize).map((item) => ({ key: item.ext_id, ref: refOf(item) }));
    const keys = new Map(refs.map(({ key, ref }) => [ref.id, key]));
    const take = (id: string, answer: unknown) => {
      const key = keys.get(id);
      if (key !== undefined) known.set(key, () => checkFetched(answer));
    };
    const asked = refs.map(({ ref }) => ref);
    try {
      await part.source.fetchMany(part.partition, asked, take, signal);
    } catch (error) {
      if (signal.aborted || stopsFetching(error)) result.stopped = { error };
    }
  }
}

async function fetchInto(part: GroupFetch, item: ClaimedItem, known: Known, result: GroupResult): Promise<void> {
  // What is known already is worth keeping even when nothing more may be asked for.
  if (result.stopped && !known.has(item.ext_id)) return;
  try {
    const answer = known.get(item.ext_id)?.() ?? (await ask(part, item));
    // One answer "not there" may be a slip of the source; two are evidence.
    const fetched = 'gone' in answer && !result.stopped ? await ask(part, item) : answer;
    if ('gone' in fetched && result.stopped) return;
    result.outcomes.push(await outcomeOf(part, item, fetched));
  } catch (error) {
    if (part.ledger.signal.aborted || stopsFetching(error)) result.stopped ??= { error };
    else result.outcomes.push(failureOf(item, error));
  }
}

async function ask({ source, partition }: GroupFetch, item: ClaimedItem): Promise<Fetched> {
  try {
    return await source.fetch(partition, refOf(item));
  } catch (error) {
    if (ConnectorError.is(error) && error.kind === 'gone') return { gone: true };
    throw error;
  }
}

async function outcomeOf(
  { source, extractor, ledger }: GroupFetch,
  item: ClaimedItem,
  fetched: Fetched,
): Promise<FetchOutcome> {
  if ('gone' in fetched) return { item, kind: 'gone' };
  if ('skip' in fetched) {
    return { item, kind: 'skipped', reason: fetched.skip, detail: fetched.detail ?? fetched.skip };
  }
  const maxBytes = maxItemBytes(source.spec);
  const bytes = fetched.file?.bytes.byteLength ?? 0;
  if (bytes > maxBytes) return tooLarge(item, bytes, maxBytes);
  const content = await contentBody(fetched, extractor, ledger.signal);
  if ('refusal' in content) return { item, kind: 'skipped', reason: 'unsupported_type', detail: content.refusal };
  return { item, kind: 'document', document: fetched, content };
}

function failureOf(item: ClaimedItem, error: unknown): FetchOutcome {
  if (!ConnectorError.is(error) && !MemorydError.is(error)) {
    return { item, kind: 'failed', error: connectorFault('The content that fetch answered cannot be read.') };
  }
  if (!ConnectorError.is(error) || error.kind !== 'skip') return { item, kind: 'failed', error };
  return { item, kind: 'skipped', reason: error.skip ?? 'other', detail: error.message };
}

/** The outcome of one claimed item. */
export type FetchOutcome = { item: ClaimedItem } & (
  | { kind: 'document'; document: FetchedDocument; content: TakenContent }
  | { kind: 'gone' }
  | { kind: 'skipped'; reason: string; detail: string }
  | { kind: 'failed'; error: unknown }
);

/** The ref of a claimed item, as the connector gave it. */
function refOf(item: ClaimedItem): Ref {
  const { sourceId, inline: _, ...ref } = item.ref as Partial<Ref> & { sourceId?: string; inline?: true };
  return {
    ...ref,
    id: sourceId ?? item.ext_id,
    rev: item.want_rev,
    ...(item.fingerprint !== null && { fingerprint: item.fingerprint }),
  };
}
