import type { ConnectorAnswer } from '../schemas/connectors.ts';
import type { PendingConnection } from '../../../connections/consents.ts';
import { firstOf } from '../../../base/collections.ts';
import { mayWrite, readScope, requireManagement, requireWrite, isLocal } from '../../../account/access.ts';
import { MemorydError } from '../../../base/errors.ts';
import type { Scope } from '../../../base/scope.ts';
import type {
  Connection,
  ConnectionRef,
  InstalledConnector,
  NewConnection,
  SyncRun,
} from '../../../connections/connection-types.ts';
import { callerOf, type Api, type RouteContext, unknownProvider } from '../../request.ts';
import { paginationOf } from '../../views.ts';
import { invalidField } from '../../validation.ts';
import * as schemas from '../schemas/connectors.ts';
import { namespaceParams } from '../schemas/shared.ts';

const tags = ['Connections'];
const listed = { tags, querystring: schemas.connectorsQuery, response: { 200: schemas.connectorsAnswer } };

type Services = RouteContext['services'];

export function namespaceConnectorRoutes(app: Api, context: RouteContext): void {
  createRoute(app, context);
  listRoutes(app, context);
  getRoute(app, context);
  changeRoute(app, context);
  endRoutes(app, context);
}

function createRoute(app: Api, { services, clock }: RouteContext): void {
  app.post(
    '/ns/:namespace/connectors',
    {
      config: { sensitive: true, replay: 'without id', audit: 'connection.create' },
      schema: {
        operationId: 'createNamespaceConnector',
        summary: 'Connect a source to a namespace',
        description:
          'Starts the first sync; or answers where the user gives consent, after which it does. Such a link works for an hour.',
        tags,
        params: namespaceParams,
        body: schemas.createConnectorBody,
        response: { 201: schemas.createConnectorAnswer },
      },
    },
    async (request, reply) => {
      const { namespace } = request.params;
      const { provider, config = {}, documentLimit, redirectUrl } = request.body;
      const caller = callerOf(request);
      requireWrite(caller, namespace);
      requireKnownConfig(await requireConfigured(services, provider), config);
      const created = await permanent(
        services.connections.create({
          ...{ provider, containerTag: namespace, metadata: config as NewConnection['metadata'] },
          documentLimit,
          redirectUrl,
          readsAnyPath: isLocal(caller),
        }),
      );
      request.auditTarget = created.id;
      const { id, authLink: url, expiresInMs } = created;
      const expiresAt = new Date(clock.now().getTime() + (expiresInMs ?? 0)).toISOString();
      return reply.code(201).send({ id, authorization: url === null ? null : { url, expiresAt } });
    },
  );
}

/** Turns failures that can never succeed into a status below 500, because clients retry those from 500 on. */
async function permanent<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!MemorydError.is(error) || error.code !== 'unsupported_operation') throw error;
    throw new MemorydError('invalid_request', error.message, { cause: error });
  }
}

async function installedOf({ connections }: Services): Promise<Map<string, InstalledConnector>> {
  return new Map((await connections.connectors()).map((one) => [one.spec.name, one]));
}

async function requireConfigured({ connections }: Services, provider: string): Promise<InstalledConnector> {
  const installed = await connections.connector(provider);
  if (installed) return installed;
  throw unknownProvider(connections, provider);
}

function requireKnownConfig({ spec }: InstalledConnector, config: Record<string, unknown>): void {
  const fields = [spec.config, ...spec.auth.flatMap((auth) => ('fields' in auth ? [auth.fields] : []))];
  const known = fields.flatMap((schema) => Object.keys((schema as { properties?: object }).properties ?? {}));
  const unknown = Object.keys(config).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const message = `${unknown.slice(0, 64)} is not known; known are ${known.join(', ')}`;
  throw invalidField(['config', unknown.slice(0, 64)], message);
}

function listRoutes(app: Api, { services }: RouteContext): void {
  app.get(
    '/ns/:namespace/connectors',
    {
      schema: {
        operationId: 'listNamespaceConnectors',
        summary: 'List the connectors of a namespace',
        ...listed,
        params: namespaceParams,
      },
    },
    async (request) => page(readScope(callerOf(request), [request.params.namespace]), request.query),
  );

  app.get(
    '/connectors',
    {
      schema: { operationId: 'listAllConnectors', summary: 'List the connectors of all namespaces', ...listed },
    },
    async (request) => page(readScope(callerOf(request), []), request.query),
  );

  async function page(scope: Scope, query: { provider?: string; page?: number; limit?: number }) {
    const { provider, page: number = 1, limit = 10 } = query;
    const [connections, installed] = await Promise.all([
      services.connections.list(scope, provider),
      installedOf(services),
    ]);
    const shown = connections.slice((number - 1) * limit, number * limit);
    return {
      connectors: shown.map((one) => connectorView(one, installed.get(one.provider))),
      pagination: paginationOf({ page: number, limit, total: connections.length }),
    };
  }
}

/** Throws `not_found` for a connector of another namespace. */
async function findIn({ connections }: Services, namespace: string, id: string): Promise<ConnectionRef> {
  return known(await connections.find(id, { containerTags: [namespace] }));
}

function known<Found>(connector: Found | null): Found {
  if (!connector) throw new MemorydError('not_found', 'Connector not found');
  return connector;
}

function getRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/ns/:namespace/connectors/:id',
    {
      schema: {
        operationId: 'getNamespaceConnector',
        summary: 'Get a connector of a namespace',
        description: 'One that waits for consent is shown, with its link, to keys that may write in the namespace.',
        tags,
        params: schemas.connectorParams,
        querystring: schemas.connectorQuery,
        response: { 200: schemas.connectorAnswer },
      },
    },
    async (request) => {
      const { namespace, id } = request.params;
      const { include = [] } = request.query;
      const caller = callerOf(request);
      const scope = readScope(caller, [namespace]);
      if (include.includes('picker')) requireManagement(caller);
      const installed = await installedOf(services);
      const connection = await services.connections.get(id, scope);
      const pending =
        connection || !mayWrite(caller, namespace) ? null : await services.consents.pending(id, namespace);
      const view = known(
        connection
          ? connectorView(connection, installed.get(connection.provider))
          : pending && pendingView(pending, installed.get(pending.provider)),
      );
      const runs = connection && include.includes('syncs') ? await services.connections.runs(id, { limit: 10 }) : [];
      return {
        ...view,
        syncs: include.includes('syncs') ? runs.map(syncView) : undefined,
        picker: include.includes('picker') ? null : undefined,
      };
    },
  );
}

function changeRoute(app: Api, { services }: RouteContext): void {
  app.patch(
    '/ns/:namespace/connectors/:id',
    {
      config: { audit: 'connection.change' },
      schema: {
        operationId: 'updateNamespaceConnector',
        summary: 'Change what a connector of a namespace mirrors',
        description: 'A selection takes the place of the one before and starts a sync.',
        tags,
        params: schemas.connectorParams,
        body: schemas.changeConnectorBody,
        response: { 200: schemas.connectorAnswer },
      },
    },
    async (request) => {
      const { namespace, id } = request.params;
      const { selection, documentLimit } = request.body;
      const caller = callerOf(request);
      requireWrite(caller, namespace);
      const connection = await findIn(services, namespace, id);
      if (selection) await permanent(services.connections.configure(id, resourcesOf(connection, selection), {}));
      const readsAnyPath = isLocal(caller);
      if (documentLimit !== undefined) await services.connections.change(id, { documentLimit, readsAnyPath });
      const installed = await installedOf(services);
      return connectorView(
        known(await services.connections.get(id, { containerTags: [namespace] })),
        installed.get(connection.provider),
      );
    },
  );
}

function resourcesOf({ provider }: ConnectionRef, selection: Partial<Record<SelectionKind, string[]>>) {
  return Object.entries(selection).flatMap(([kind, ids]) => {
    if (!kindsOf(provider).some((known) => known === kind)) {
      throw invalidField(['selection', kind], `${provider} has no ${kind} to choose from`);
    }
    return ids.map((id) => ({ id, kind }));
  });
}

function endRoutes(app: Api, { services }: RouteContext): void {
  app.delete(
    '/ns/:namespace/connectors/:id',
    {
      config: { audit: 'connection.delete' },
      schema: {
        operationId: 'deleteNamespaceConnector',
        summary: 'Disconnect a source from a namespace',
        description:
          'Credentials are erased, and documents unless deleteDocuments is false. Also ends the wait for consent.',
        tags,
        params: schemas.connectorParams,
        querystring: schemas.removeConnectorQuery,
        response: { 200: schemas.removeConnectorAnswer },
      },
    },
    async (request) => {
      const { namespace, id } = request.params;
      requireWrite(callerOf(request), namespace);
      if (await services.consents.pending(id, namespace)) {
        await services.consents.cancel(id);
        return { id, deleted: true };
      }
      await findIn(services, namespace, id);
      await services.connections.remove(id, { deleteDocuments: request.query.deleteDocuments !== 'false' });
      return { id, deleted: true };
    },
  );

  app.post(
    '/ns/:namespace/connectors/:id/sync',
    {
      schema: {
        operationId: 'syncNamespaceConnector',
        summary: 'Sync a connector of a namespace now',
        tags,
        params: schemas.connectorParams,
        body: schemas.syncConnectorBody,
        response: { 202: schemas.syncConnectorAnswer },
      },
    },
    async (request, reply) => {
      const { namespace, id } = request.params;
      requireWrite(callerOf(request), namespace);
      await findIn(services, namespace, id);
      await services.connections.requestSync(id, { mode: 'incremental', trigger: 'manual' });
      return reply.code(202).send({ id, status: 'queued' });
    },
  );
}

/** The words of this dialect for what can be chosen at a source, the usual one first. Others have all of them. */
const selectable: Readonly<Record<string, readonly SelectionKind[]>> = {
  github: ['repos'],
  gmail: ['labels'],
  'google-drive': ['folders', 'files'],
  notion: ['files'],
};
const everyKind = ['files', 'folders', 'repos', 'labels'] as const;
type SelectionKind = (typeof everyKind)[number];

function kindsOf(provider: string): readonly SelectionKind[] {
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

function connectorView(connection: Connection, installed: InstalledConnector | undefined): ConnectorAnswer {
  const { id, provider, containerTag, email, config, documentLimit, documentCount, lastRun, lastSyncedAt } = connection;
  return {
    ...{ id, provider, namespace: containerTag, account: email, capabilities: capabilitiesOf(installed) },
    config: Object.keys(config).length === 0 ? null : config,
    selection: selectionView(connection),
    ...{ documentLimit, documentCount, latestRun: lastRun && runView(lastRun) },
    system: {
      status: 'active',
      createdAt: connection.createdAt,
      lastSuccessfulSyncAt: lastSyncedAt,
    },
  };
}

function pendingView(pending: PendingConnection, installed: InstalledConnector | undefined): ConnectorAnswer {
  const { id, provider, plan, authLink, createdAt, expiresAt } = pending;
  return {
    ...{ id, provider, namespace: plan.containerTag, account: null, capabilities: capabilitiesOf(installed) },
    config: Object.keys(plan.config).length === 0 ? null : plan.config,
    ...{ selection: null, documentLimit: plan.documentLimit, documentCount: 0, latestRun: null },
    system: { status: 'pending_authorization', createdAt, lastSuccessfulSyncAt: null },
    authorization: { url: authLink, expiresAt },
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
    system: { status, startedAt, completedAt },
  };
}

function syncView(run: SyncRun) {
  const { id, triggerType, itemsProcessed, itemsFailed, failures, startedAt, completedAt } = run;
  const failedAt = completedAt ?? startedAt;
  return {
    ...runView(run),
    ...{ id, trigger: triggerType, itemsProcessed, itemsFailed },
    failures: failures.map(({ documentId, title, error }) => ({
      ...{ documentId, title, errorCode: null, errorMessage: error, failedAt },
    })),
  };
}
