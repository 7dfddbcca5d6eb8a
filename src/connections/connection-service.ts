import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { countDocumentsOf, findConnection, listConnections, type ConnectionRow } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { troubledPartitions } from '../store/partitions.ts';
import { latestRuns } from '../store/sync-runs.ts';
import { createChange } from './connection-change.ts';
import { createCreation } from './connection-creation.ts';
import { createRemoval } from './connection-removal.ts';
import { shownSchedule } from '../schedule/connection-schedule.ts';
import type { Connection, Connections, InstalledConnector } from './connections.ts';
import type { Connector, JsonObject } from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Outbound } from '../source/http/outbound.ts';
import type { HookSubscriptions } from '../inbound/hooks/subscriptions.ts';
import { createSyncItems } from './item-service.ts';
import type { Consents } from './consents.ts';
import type { Registry } from '../connector/registry.ts';
import { issuesOf } from './partition-issues.ts';
import type { Push } from '../inbound/push/push-service.ts';
import { requireConnection } from './require-connection.ts';
import { createSyncRuns, toRun } from './run-service.ts';
import { standardSchedule } from '../schedule/schedule-text.ts';
import { createSources } from './source-service.ts';

export interface ConnectionServiceOptions {
  database: Database;
  registry: Registry;
  credentials: Credentials;
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  consents: Consents;
  /** Where browsers may be sent after a consent. Default: anywhere. */
  redirectAllowlist?: readonly string[];
  folderRoots?: readonly string[];
  /** What connections follow that have no schedule of their own. Default `standardSchedule`. */
  standardSchedule?: string;
  /** Absent: no source is asked to report changes. */
  hooks?: Pick<HookSubscriptions, 'cancel' | 'changed'>;
  /** Absent: no connection takes pushes. */
  push?: Pick<Push, 'settleHeld'>;
  clock: Clock;
  log: Logger;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
  /** Called when connections come, go, pause or resume. */
  changed(): Promise<void>;
}

export function createConnections(given: ConnectionServiceOptions): Connections {
  const options = { standardSchedule, redirectAllowlist: [], folderRoots: [], ...given };
  const { database, registry } = options;

  async function shown(id: string): Promise<Connection> {
    return (await toConnections([await requireConnection(database, id)]))[0]!;
  }

  async function toConnections(rows: readonly ConnectionRow[]): Promise<Connection[]> {
    const ids = rows.map((row) => row.id);
    const runs = new Map((await latestRuns(database, ids)).map((run) => [run.connectionId, run]));
    const counts = new Map((await countDocumentsOf(database, ids)).map((one) => [one.connectionId, one]));
    const troubled = Map.groupBy(await troubledPartitions(database, ids), (one) => one.connectionId);
    return rows.map((row) => {
      const count = counts.get(row.id);
      const run = runs.get(row.id);
      return {
        ...toConnection(row, options.standardSchedule),
        lastRun: run ? toRun(run) : null,
        documentCount: count ? count.waiting + count.done + count.failed : 0,
        problems: issuesOf(row, troubled.get(row.id) ?? []),
      };
    });
  }

  const runs = createSyncRuns(options);
  const change = createChange(options);
  return {
    ...runs,
    ...createSyncItems({ ...options, requestSync: runs.requestSync }),
    ...createSources(options),
    ...createRemoval(options),
    connectors: async () => {
      const installed = await Promise.all((await registry.specs()).map(({ name }) => registry.load(name)));
      return Promise.all(
        installed.map(async (one) => toInstalled(one, await options.credentials.isConfigured(one.spec))),
      );
    },
    create: createCreation(options),
    async get(id, scope) {
      const row = await findConnection(database, id);
      if (!row || row.status === 'deleting') return null;
      if (scope.containerTags !== null && !scope.containerTags.includes(row.containerTag)) return null;
      return (await toConnections([row]))[0]!;
    },
    list: async (scope, provider) => toConnections(await listConnections(database, scope.containerTags, provider)),
    async change(id, wanted) {
      await change(id, wanted);
      return shown(id);
    },
    async setPaused(id, paused) {
      await change(id, { paused });
      return shown(id);
    },
  };
}

function toInstalled(connector: Connector<any, any>, configured: boolean): InstalledConnector {
  const { spec, resources, hooks, watch, head, changes } = connector;
  return {
    spec,
    configured,
    capabilities: {
      selectable: resources !== undefined,
      push: hooks !== undefined || watch !== undefined,
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
