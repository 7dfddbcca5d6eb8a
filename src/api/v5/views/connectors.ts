import { firstOf } from '../../../base/collections.ts';
import type { Connection, InstalledConnector, SyncRun } from '../../../connections/connections.ts';
import type { PendingConnection } from '../../../connections/consents.ts';
import type { ConnectorAnswer } from '../schemas/connectors.ts';

/** The words of this dialect for what can be chosen at a source, the usual one first. Others have all of them. */
const selectable: Readonly<Record<string, readonly SelectionKind[]>> = {
  github: ['repos'],
  gmail: ['labels'],
  'google-drive': ['folders', 'files'],
  notion: ['files'],
};
const everyKind = ['files', 'folders', 'repos', 'labels'] as const;
export type SelectionKind = (typeof everyKind)[number];

export function kindsOf(provider: string): readonly SelectionKind[] {
  return selectable[provider] ?? everyKind;
}

const kindByWord: Readonly<Record<string, SelectionKind>> = {
  ...{ repository: 'repos', branch: 'repos', label: 'labels', 'system label': 'labels' },
  ...{ folder: 'folders', drive: 'folders', page: 'files', database: 'files', file: 'files' },
};

function capabilitiesOf(installed: InstalledConnector | undefined) {
  const { selectable: isSelectable = false, push = false } = installed?.capabilities ?? {};
  return { selectable: isSelectable, webhooks: push };
}

export function connectorView(connection: Connection, installed: InstalledConnector | undefined): ConnectorAnswer {
  const { id, provider, containerTag, email, config, documentLimit, documentCount, lastRun, lastSyncedAt } = connection;
  return {
    ...{ id, provider, namespace: containerTag, account: email, capabilities: capabilitiesOf(installed) },
    config: Object.keys(config).length === 0 ? null : config,
    selection: selectionView(connection),
    ...{ documentLimit, documentCount, latestRun: lastRun && runView(lastRun) },
    system: {
      status: 'active',
      createdAt: connection.createdAt.toISOString(),
      lastSuccessfulSyncAt: lastSyncedAt?.toISOString() ?? null,
    },
  };
}

export function pendingView(pending: PendingConnection, installed: InstalledConnector | undefined): ConnectorAnswer {
  const { id, provider, plan, authLink, createdAt, expiresAt } = pending;
  return {
    ...{ id, provider, namespace: plan.containerTag, account: null, capabilities: capabilitiesOf(installed) },
    config: Object.keys(plan.config).length === 0 ? null : plan.config,
    ...{ selection: null, documentLimit: plan.documentLimit, documentCount: 0, latestRun: null },
    system: { status: 'pending_authorization', createdAt: createdAt.toISOString(), lastSuccessfulSyncAt: null },
    authorization: { url: authLink, expiresAt: expiresAt.toISOString() },
  };
}

function selectionView({ provider, selection }: Connection): ConnectorAnswer['selection'] {
  if (selection.length === 0) return null;
  const named = selection.map((one) => {
    const kind = String(one['kind']);
    const word = kindsOf(provider).find((known) => known === kind) ?? kindByWord[kind] ?? firstOf(kindsOf(provider));
    return { word, id: String(one['id']), name: String(one['name'] ?? one['id']) };
  });
  const groups = Map.groupBy(named, ({ word }) => word);
  return Object.fromEntries([...groups].map(([word, all]) => [word, all.map(({ id, name }) => ({ id, name }))]));
}

const errorCodes = ['auth_expired', 'rate_limited', 'plan_required', 'provider_unavailable'] as const;

function runView({ status, error, errorCode, startedAt, completedAt }: SyncRun) {
  const code = errorCodes.find((known) => known === errorCode) ?? (errorCode === null ? null : ('internal' as const));
  return {
    ...{ errorCode: code, error },
    system: { status, startedAt: startedAt.toISOString(), completedAt: completedAt?.toISOString() ?? null },
  };
}

export function syncView(run: SyncRun) {
  const { id, triggerType, itemsProcessed, itemsFailed, failures, startedAt, completedAt } = run;
  const failedAt = (completedAt ?? startedAt).toISOString();
  return {
    ...runView(run),
    ...{ id, trigger: triggerType, itemsProcessed, itemsFailed },
    failures: failures.map(({ documentId, title, error }) => ({
      ...{ documentId, title, errorCode: null, errorMessage: error, failedAt },
    })),
  };
}
