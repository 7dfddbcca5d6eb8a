import type { DocumentInput, Metadata } from '../engine/document.ts';
import type { ConnectionRow } from '../store/connections.ts';
import type { ClaimedItem } from '../store/sync-claims.ts';
import type { FetchedDocument, Ref } from '../connector/contract.ts';
import type { TakenContent } from './fetched.ts';
import { timeOf } from './values.ts';

/** The outcome of one claimed item. */
export type Outcome = { item: ClaimedItem } & (
  | { kind: 'document'; document: FetchedDocument; content: TakenContent }
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

/** `documentType`: that of the connector's documents that have none of their own. */
export function documentInput(
  connection: ConnectionRow,
  documentType: string | undefined,
  outcome: Extract<Outcome, { kind: 'document' }>,
): DocumentInput {
  const { item, document, content } = outcome;
  const ref = item.ref as Partial<Ref>;
  const metadata = { ...(connection.metadata as Metadata), ...ref.metadata, ...document.metadata };
  const ownId = (item.ref as { sourceId?: string }).sourceId;
  return {
    containerTag: connection.containerTag,
    customId: item.custom_id,
    connectionId: connection.id,
    source: connection.provider,
    ...content,
    trust: isOwn(outcome) ? 'own' : 'read',
    // An id that is too long for a customId is found again here.
    metadata: ownId === undefined ? metadata : { sourceId: ownId.slice(0, 2_000), ...metadata },
    ...optional('author', document.author),
    ...optional('title', document.title),
    ...optional('type', document.type ?? documentType),
    ...optional('url', document.url ?? ref.url),
    ...optional('filepath', document.path ?? ref.path),
    ...optional('documentDate', timeOf(document.updatedAt ?? ref.updatedAt)),
    ...optional('createdAt', timeOf(document.createdAt)),
  };
}

/** Of a text by several people: at least a piece of it. */
function isOwn({ document, content }: Extract<Outcome, { kind: 'document' }>): boolean {
  return document.own === true || (content.turns ?? []).some(({ own }) => own);
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}
