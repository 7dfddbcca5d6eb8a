import type { Connection, PartitionIssue, StartedConnection, SyncRun } from '../../connections/connection-types.ts';
import type { Document } from '../../engine/document.ts';
import type { ConnectionAnswer, CreateConnectionAnswer, ProviderDocument } from '../schemas/connections.ts';
import { publicMetadata } from './shared.ts';

/** Section 19.2 of the API. `config` holds no secrets: those are in the vault. */
export function connectionView(connection: Connection): ConnectionAnswer {
  const { id, provider, status, statusReason, containerTag, schedule, onSourceDelete, documentCount } = connection;
  const { lastSyncedAt, allowedHours, filters, selection, memories, trust, author, inProfile } = connection;
  return {
    id,
    provider,
    status,
    statusReason,
    containerTag,
    schedule,
    allowedHours,
    filters,
    selection,
    onSourceDelete,
    memories,
    trust,
    author,
    inProfile,
    documentCount,
    createdAt: connection.createdAt.toISOString(),
    containerTags: [containerTag],
    metadata: {
      ...connection.metadata,
      ...connection.config,
      ...(lastSyncedAt && { lastSyncedAt: lastSyncedAt.getTime() }),
    },
    nextSyncAt: connection.nextSyncAt?.toISOString() ?? null,
    ...(connection.email !== null && { email: connection.email }),
    ...(connection.expiresAt && { expiresAt: connection.expiresAt.toISOString() }),
    ...(connection.documentLimit !== null && { documentLimit: connection.documentLimit }),
    ...(connection.lastRun && { lastSyncRun: shortRun(connection.lastRun) }),
    problems: connection.problems.map(issueView),
  };
}

export function issueView(issue: PartitionIssue) {
  return { ...issue, until: issue.until?.toISOString() ?? null };
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
    ...(redirectUrl !== undefined && { redirectsTo: redirectUrl }),
  };
}

/** The form that published clients know: `1 hour`. */
function lifeInWords(lifeMs: number): string {
  const hours = Math.round(lifeMs / 3_600_000);
  return hours === 1 ? '1 hour' : `${hours} hours`;
}

function shortRun({ status, errorCode, error, startedAt, completedAt }: SyncRun) {
  return {
    status,
    errorCode,
    error,
    startedAt: startedAt.toISOString(),
    completedAt: completedAt?.toISOString() ?? null,
  };
}

/** Section 19.14 of the API. */
export function providerDocumentView(document: Document): ProviderDocument {
  const { id, status, title, summary, type, customId, url, connectionId } = document;
  return {
    id,
    createdAt: document.createdAt.toISOString(),
    updatedAt: document.updatedAt.toISOString(),
    status,
    title,
    summary,
    type,
    customId,
    url,
    connectionId,
    metadata: publicMetadata(document.metadata),
  };
}
