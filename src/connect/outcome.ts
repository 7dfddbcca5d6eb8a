import type { DocumentBody, DocumentInput, Metadata } from '../engine/document.ts';
import type { ClaimedItem } from '../store/sync-claims.ts';
import type { FetchedDocument, Ref } from './contract.ts';
import type { Run } from './run.ts';
import { timeOf } from './values.ts';

/** What came of one claimed item. */
export type Outcome = { item: ClaimedItem } & (
  | { kind: 'document'; document: FetchedDocument; body: DocumentBody }
  | { kind: 'gone' }
  | { kind: 'skipped'; reason: string; detail: string }
  | { kind: 'failed'; error: unknown }
);

/** The ref of a claimed item, as the connector gave it. */
export function refOf(item: ClaimedItem): Ref {
  const { sourceId, inline: _, ...ref } = item.ref as Partial<Ref> & { sourceId?: string; inline?: true };
  return {
    ...ref,
    id: sourceId ?? item.ext_id,
    rev: item.want_rev,
    ...optional('fingerprint', item.fingerprint ?? undefined),
  };
}

export function documentInput(run: Run, outcome: Extract<Outcome, { kind: 'document' }>): DocumentInput {
  const { connection, connector } = run;
  const { item, document, body } = outcome;
  const ref = item.ref as Partial<Ref>;
  const metadata = { ...(connection.metadata as Metadata), ...ref.metadata, ...document.metadata };
  const ownId = (item.ref as { sourceId?: string }).sourceId;
  return {
    containerTag: connection.containerTag,
    customId: item.custom_id,
    connectionId: connection.id,
    source: connection.provider,
    body,
    // An id that is too long for a customId is found again here.
    metadata: ownId === undefined ? metadata : { sourceId: ownId.slice(0, 2_000), ...metadata },
    ...optional('title', document.title),
    ...optional('type', document.type ?? connector.spec.documentType),
    ...optional('url', document.url ?? ref.url),
    ...optional('filepath', document.path ?? ref.path),
    ...optional('documentDate', timeOf(document.updatedAt ?? ref.updatedAt)),
    ...optional('createdAt', timeOf(document.createdAt)),
  };
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}
