import { firstOf } from '../base/collections.ts';
import type { Scope } from '../base/scope.ts';
import { findConnection, listConnections, type ConnectionRow } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { troubledPartitions, heldDeletesOf, heldSweepsOf } from '../store/partitions.ts';
import { latestRuns } from '../store/sync-runs.ts';
import { createCounts, type Counts } from './counts.ts';
import { createChange, createRemoval } from './connection-change.ts';
import { createCreation, type CreationOptions } from './connection-creation.ts';
import { shownSchedule, upcomingOf, checkedHours, checkedSchedule } from '../schedule/connection-schedule.ts';
import {
  type Connection,
  type InstalledConnector,
  requireConnection,
  type ConnectionRef,
  type FollowedConnection,
  type StandingConnection,
  type NewConnection,
  type StartedConnection,
  type ConnectionChange,
} from './connection-types.ts';
import { createSources, type SourceOperations } from './source-service.ts';
import type { Connector, JsonObject } from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { HookSubscriptions } from '../inbound/hooks/subscriptions.ts';
import { issuesOf, createSyncRuns, toRun, type SyncRuns } from './run-service.ts';
import type { Push } from '../inbound/push/push-service.ts';
import { standardSchedule } from '../schedule/schedule-text.ts';
import { createSyncItems, type SyncItems } from './item-service.ts';
import { countFailuresOf } from '../store/sync-items.ts';

export interface ConnectionServiceOptions extends Omit<CreationOptions, 'redirectAllowlist' | 'folderRoots'> {
  /** Where browsers may be sent after a consent. Default: anywhere. */
  redirectAllowlist?: readonly string[];
  folderRoots?: readonly string[];
  /** The schedule of connections that have none of their own. Default `standardSchedule`. */
  standardSchedule?: string;
  /** Absent: no source is asked to report changes. */
  hooks?: Pick<HookSubscriptions, 'cancel' | 'changed'>;
  /** Absent: no connection takes pushes. */
  push?: Pick<Push, 'settleHeld'>;
}

/**
 * Everything the outer layers do with connections. Methods that take the id of a connection throw
 * `not_found` when there is none.
 */
export interface Connections extends SyncRuns, SyncItems, SourceOperations {
  /** All installed connectors. */
  connectors(): Promise<InstalledConnector[]>;
  /** The connector of a provider; null where none has its name. `connector_invalid` says why one cannot be used. */
  connector(provider: string): Promise<InstalledConnector | null>;
  /** Configured plugins that did not load, so that nobody knows the connectors in them. */
  unloadedPlugins(): string[];
  /**
   * Checks configuration and access, stores, and starts the first sync. `connector_invalid` says what
   * is wrong. Where the user has to consent at the source, all that waits for the consent.
   */
  create(input: NewConnection): Promise<StartedConnection>;
  /** What a request that names a connection needs to know of it. Unlike `get` it counts nothing. */
  find(id: string, scope: Scope): Promise<ConnectionRef | null>;
  get(id: string, scope: Scope): Promise<Connection | null>;
  list(scope: Scope, provider?: string): Promise<Connection[]>;
  /** With how each stands. What a page costs depends little on how many connections are on it. */
  page(scope: Scope, query: ConnectionPageQuery): Promise<StandingConnection[]>;
  /** All of them, for who looks again and again how far their syncs are: it counts nothing. */
  withLastRuns(): Promise<FollowedConnection[]>;
  /** Changes all or nothing. Throws as `create` does. */
  change(id: string, change: ConnectionChange): Promise<Connection>;
  /** Ends the mirror. Documents are deleted or kept with `connectionId` null. */
  remove(id: string, options: { deleteDocuments: boolean }): Promise<void>;
  /** Pause or resume. */
  setPaused(id: string, paused: boolean): Promise<Connection>;
  /** When a schedule comes next, the standard one where none is given. Throws `validation_failed` for one that is wrong. */
  upcoming(timing: { schedule?: string | null; allowedHours?: string | null }, count: number): Date[];
  /** Goes on with removals that a stop of the process has interrupted. */
  finishRemovals(signal: AbortSignal): Promise<void>;
  /** Ends what goes on after an answer was given. */
  close(): Promise<void>;
}

interface ConnectionPageQuery {
  provider?: string | undefined;
  /** `attention`: what needs a hand first, then what runs. Newest first among equals, and by `newest`. */
  order: 'newest' | 'attention';
  /** Only those that are older than this one; with `newest` alone. */
  before?: string | undefined;
  limit: number;
}

export function createConnections(given: ConnectionServiceOptions): Connections {
  const options = {
    ...{ standardSchedule, redirectAllowlist: [], folderRoots: [], ...given },
    counts: createCounts(given),
  };
  const { database, registry, clock } = options;

  async function changeAndShow(id: string, wanted: ConnectionChange): Promise<Connection> {
    await change(id, wanted);
    return firstOf(await toConnections(options, [await requireConnection(database, id)]));
  }

  async function find(id: string, scope: Scope): Promise<ConnectionRow | null> {
    const row = await findConnection(database, id);
    if (!row || row.status === 'deleting') return null;
    return scope.containerTags === null || scope.containerTags.includes(row.containerTag) ? row : null;
  }

  const runs = createSyncRuns(options);
  const change = createChange(options);
  return {
    ...runs,
    ...createSyncItems({ ...options, requestSync: runs.requestSync }),
    ...createSources(options),
    ...createRemoval(options),
    page: (scope, query) => readPage(options, scope, query),
    connectors: async () => {
      const installed = await Promise.all((await registry.specs()).map(({ name }) => registry.load(name)));
      return Promise.all(installed.map((one) => toInstalled(one, options.credentials)));
    },
    async connector(provider) {
      const isNamed = registry.names().includes(provider) || registry.broken().some((one) => one.provider === provider);
      return isNamed ? toInstalled(await registry.load(provider), options.credentials) : null;
    },
    unloadedPlugins: () => registry.broken().flatMap((one) => (one.provider === null ? [one.plugin] : [])),
    upcoming({ schedule, allowedHours }, count) {
      const timing = { schedule: checkedSchedule(schedule), allowedHours: checkedHours(allowedHours) };
      return upcomingOf(timing, clock.now(), count, options.standardSchedule);
    },
    create: createCreation(options),
    find,
    async get(id, scope) {
      const row = await find(id, scope);
      return row && firstOf(await toConnections(options, [row]));
    },
    async withLastRuns() {
      const rows = await listConnections(database, null);
      const lastRunOf = await lastRunsOf(database, rows);
      return rows.map((row) => ({ ...toConnection(row, options.standardSchedule), lastRun: lastRunOf(row.id) }));
    },
    list: async (scope, provider) =>
      toConnections(options, await listConnections(database, scope.containerTags, { provider })),
    change: changeAndShow,
    setPaused: (id, paused) => changeAndShow(id, { paused }),
  };
}

async function lastRunsOf(
  database: Database,
  rows: readonly ConnectionRow[],
): Promise<(id: string) => Connection['lastRun']> {
  const ids = rows.map((row) => row.id);
  const runs = new Map((await latestRuns(database, ids)).map((run) => [run.connectionId, toRun(run)]));
  return (id) => runs.get(id) ?? null;
}

async function toConnections(
  { database, counts, standardSchedule: standard }: Reading,
  rows: readonly ConnectionRow[],
): Promise<Connection[]> {
  const ids = rows.map((row) => row.id);
  const lastRunOf = await lastRunsOf(database, rows);
  const documents = await counts.documentsOf(ids);
  const troubled = Map.groupBy(await troubledPartitions(database, ids), (one) => one.connectionId);
  return rows.map((row) => {
    const count = documents.get(row.id);
    return {
      ...toConnection(row, standard),
      lastRun: lastRunOf(row.id),
      documentCount: count ? count.waiting + count.done + count.failed : 0,
      problems: issuesOf(row, troubled.get(row.id) ?? []),
    };
  });
}

async function toInstalled(
  connector: Connector<any, any>,
  credentials: Pick<Credentials, 'isConfigured' | 'missingClient'>,
): Promise<InstalledConnector> {
  const { spec, resources, hooks, watch, head, changes } = connector;
  return {
    spec,
    configured: await credentials.isConfigured(spec),
    missingClient: await credentials.missingClient(spec),
    capabilities: {
      selectable: resources !== undefined,
      push: hooks !== undefined || watch !== undefined,
      offersHookSecret: hooks?.offered !== undefined,
      incremental: head !== undefined && changes !== undefined,
      // What a complete listing no longer shows is removed, whatever else the source tells.
      deletes: true,
    },
  };
}

function toConnection(
  row: ConnectionRow,
  standard: string,
): Omit<Connection, 'lastRun' | 'documentCount' | 'problems'> {
  return {
    id: row.id,
    provider: row.provider,
    containerTag: row.containerTag,
    status: row.status as Connection['status'],
    statusReason: row.statusReason,
    email: row.email,
    config: row.config as JsonObject,
    metadata: row.metadata as JsonObject,
    documentLimit: row.documentLimit,
    onSourceDelete: row.onSourceDelete as Connection['onSourceDelete'],
    filters: row.filters as JsonObject,
    selection: row.selection,
    schedule: shownSchedule(row, standard),
    allowedHours: row.allowedHours,
    memories: row.memories,
    trust: row.trust,
    author: row.author,
    inProfile: row.inProfile,
    nextSyncAt: row.nextSyncAt,
    lastSyncedAt: row.lastSyncedAt,
    expiresAt: row.expiresAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

type Reading = Pick<Required<ConnectionServiceOptions>, 'database' | 'standardSchedule'> & { counts: Counts };

async function readPage(
  reading: Reading,
  scope: Scope,
  { provider, order, before, limit }: ConnectionPageQuery,
): Promise<StandingConnection[]> {
  const range = order === 'newest' ? { before, limit } : {};
  const rows = await listConnections(reading.database, scope.containerTags, { provider, ...range });
  const connections = await withStanding(reading, await toConnections(reading, rows));
  if (order === 'newest') return connections;
  return connections.toSorted((one, other) => urgencyOf(one) - urgencyOf(other)).slice(0, limit);
}

async function withStanding(
  { database, counts }: Reading,
  connections: readonly Connection[],
): Promise<StandingConnection[]> {
  const ids = connections.map(({ id }) => id);
  const [documents, failed, sweeps] = await Promise.all([
    counts.documentsOf(ids),
    countFailuresOf(database, ids),
    heldSweepsOf(database, ids),
  ]);
  const failures = new Map(failed.map((one) => [one.connectionId, one.failed]));
  const held = Map.groupBy(sweeps, (one) => one.connectionId);
  return connections.map((connection) => ({
    ...connection,
    standing: {
      waiting: documents.get(connection.id)?.waiting ?? 0,
      failed: failures.get(connection.id) ?? 0,
      heldDeletes: heldDeletesOf(held.get(connection.id) ?? []),
    },
  }));
}

/** The smaller, the sooner somebody wants to see it. */
function urgencyOf({ status, lastRun, problems, standing }: StandingConnection): number {
  if (status === 'needs_reauth' || status === 'needs_configuration') return 0;
  const isRunning = lastRun?.status === 'running';
  if (status === 'active' && lastRun?.status === 'failed') return 0;
  if (standing.heldDeletes > 0 || standing.failed > 0 || problems.length > 0) return 1;
  return isRunning || (status === 'active' && standing.waiting > 0) ? 2 : 3;
}
