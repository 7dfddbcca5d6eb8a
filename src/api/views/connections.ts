import type { Connection, ConnectionProgress, Connections, SyncRun } from '../../connect/connections.ts';
import type { ConnectionAnswer, ConnectorAnswer, ProgressAnswer, SyncRunAnswer } from '../schemas/connections.ts';

/** Section 19.2. `config` holds no secrets: those are in the vault. */
export function connectionView(connection: Connection): ConnectionAnswer {
  const { id, provider, status, statusReason, containerTag, schedule, onSourceDelete, documentCount } = connection;
  const { lastSyncedAt } = connection;
  return {
    id,
    provider,
    status,
    statusReason,
    containerTag,
    schedule,
    onSourceDelete,
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
  };
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

/** Section 19.3. */
export function syncRunView(run: SyncRun): SyncRunAnswer {
  return { ...run, startedAt: run.startedAt.toISOString(), completedAt: run.completedAt?.toISOString() ?? null };
}

export function progressView(progress: ConnectionProgress): ProgressAnswer {
  return { ...progress, run: progress.run && syncRunView(progress.run) };
}

type ConnectorSpec = Awaited<ReturnType<Connections['connectors']>>[number];

/** Section 19.20. */
export function connectorView(spec: ConnectorSpec): ConnectorAnswer {
  return {
    provider: spec.name,
    displayName: spec.title,
    description: spec.description,
    kind: spec.kind,
    version: spec.version,
    auth: authKindOf(spec),
    configSchema: spec.config,
  };
}

function authKindOf({ auth: [first] }: ConnectorSpec): ConnectorAnswer['auth'] {
  if (!first) return 'config';
  return first.type === 'oauth2' || first.type === 'xoauth2' ? 'oauth2' : 'token';
}
