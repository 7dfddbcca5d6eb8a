import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { removeDocuments } from '../engine/remove.ts';
import {
  countDocumentsOf,
  deleteConnection,
  documentsOnlyOf,
  findConnection,
  insertConnection,
  listConnections,
  releaseDocuments,
  requestSync,
  setConnectionStatus,
  type ConnectionRow,
} from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { ensureContainers } from '../store/documents.ts';
import { listPartitions, setHeldSweep } from '../store/partitions.ts';
import { countItems } from '../store/sync-items.ts';
import { failLostRuns, latestRuns, listRuns, startRun, waitingRun, type SyncRunRow } from '../store/sync-runs.ts';
import type { Connection, Connections, NewConnection, SyncRun } from './connections.ts';
import { createContext } from './context.ts';
import type { ConnectorSpec, JsonObject } from './contract.ts';
import type { Registry } from './registry.ts';

export interface ConnectionServiceOptions {
  database: Database;
  registry: Registry;
  clock: Clock;
  log: Logger;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
  /** Called when connections come, go, pause or resume. */
  changed(): Promise<void>;
}

const deleteBatch = 500;

export function createConnections(options: ConnectionServiceOptions): Connections {
  const { database, registry, clock } = options;

  async function create(input: NewConnection): Promise<Connection> {
    const { spec } = await registry.load(input.provider);
    const { config, metadata } = splitFields(spec, input.metadata);
    const valid = await registry.validateConfig(input.provider, config);
    // With an account, the same configuration may well be another source.
    if (spec.auth.length === 0 && Object.keys(valid).length > 0) await refuseTwin(input, valid);
    await probeAccess(options, input.provider, valid);
    const now = clock.now();
    const id = newId(now);
    await database.transaction(async (tx) => {
      await ensureContainers(tx, [{ tag: input.containerTag, id: newId(now) }], now);
      await insertConnection(tx, {
        id,
        provider: input.provider,
        containerTag: input.containerTag,
        status: 'active',
        config: valid,
        metadata,
        documentLimit: input.documentLimit ?? null,
        onSourceDelete: input.onSourceDelete ?? 'delete',
        schedule: input.schedule ?? null,
        syncEveryMs: intervalOf(spec, valid),
        now,
      });
      await startRun(tx, { id: newId(now), connectionId: id, mode: 'full', triggerType: 'event', now });
      await requestSync(tx, id, { mode: 'full', trigger: 'event' }, now);
    });
    await options.changed();
    await options.wake(id);
    return (await toConnections([await required(id)]))[0]!;
  }

  /** Two mirrors of one source into one container would only contend for the same documents. */
  async function refuseTwin({ provider, containerTag }: NewConnection, config: JsonObject): Promise<void> {
    const others = await listConnections(database, [containerTag], provider);
    const twin = others.find((other) => isDeepStrictEqual(other.config, config));
    if (!twin) return;
    throw new MemorydError('conflict', `This is connected to ${containerTag} already, as ${twin.id}.`, {
      details: 'Sync that connection, or delete it first',
      shouldRetry: false,
    });
  }

  async function required(id: string): Promise<ConnectionRow> {
    const row = await findConnection(database, id);
    if (!row || row.status === 'deleting') throw new MemorydError('not_found', 'Connection not found');
    return row;
  }

  async function toConnections(rows: readonly ConnectionRow[]): Promise<Connection[]> {
    const ids = rows.map((row) => row.id);
    const runs = new Map((await latestRuns(database, ids)).map((run) => [run.connectionId, run]));
    const counts = new Map((await countDocumentsOf(database, ids)).map((one) => [one.connectionId, one]));
    return rows.map((row) => {
      const count = counts.get(row.id);
      const run = runs.get(row.id);
      return toConnection(row, run ? toRun(run) : null, count ? count.waiting + count.done + count.failed : 0);
    });
  }

  async function remove(id: string, { deleteDocuments }: { deleteDocuments: boolean }): Promise<void> {
    await required(id);
    await setConnectionStatus(database, id, { status: 'deleting', reason: null, now: clock.now() });
    await options.changed();
    while (deleteDocuments) {
      const ids = await documentsOnlyOf(database, id, deleteBatch);
      if (ids.length === 0) break;
      await database.transaction((tx) => removeDocuments(tx, ids));
    }
    await database.transaction(async (tx) => {
      await releaseDocuments(tx, id);
      await deleteConnection(tx, id);
    });
  }

  async function requestRun(
    id: string,
    request: { mode: 'full' | 'incremental'; trigger: 'event' | 'cron' | 'manual' },
  ) {
    const row = await required(id);
    if (row.status !== 'active') {
      const why = row.statusReason ? ` ${row.statusReason}` : '';
      throw new MemorydError('conflict', `The connection is ${row.status}.${why}`, { shouldRetry: false });
    }
    const now = clock.now();
    await failLostRuns(database, { heartbeatBefore: new Date(now.getTime() - 10 * 60_000), now });
    const running = await waitingRun(database, id);
    if (!running) {
      await startRun(database, {
        id: newId(now),
        connectionId: id,
        mode: request.mode,
        triggerType: request.trigger,
        now,
      });
    }
    await database.transaction((tx) => requestSync(tx, id, request, now));
    await options.wake(id);
    if (running) {
      throw new MemorydError('conflict', 'A sync is running; another one follows it.', { shouldRetry: false });
    }
    return toRun((await waitingRun(database, id))!);
  }

  return {
    connectors: () => registry.specs(),
    create,
    async get(id, scope) {
      const row = await findConnection(database, id);
      if (!row || row.status === 'deleting') return null;
      if (scope.containerTags !== null && !scope.containerTags.includes(row.containerTag)) return null;
      return (await toConnections([row]))[0]!;
    },
    list: async (scope, provider) => toConnections(await listConnections(database, scope.containerTags, provider)),
    remove,
    async setPaused(id, paused) {
      const row = await required(id);
      await setConnectionStatus(database, id, { status: paused ? 'paused' : 'active', reason: null, now: clock.now() });
      if (!paused && row.status !== 'active') {
        await database.transaction((tx) =>
          requestSync(tx, id, { mode: 'incremental', trigger: 'manual' }, clock.now()),
        );
      }
      await options.changed();
      if (!paused) await options.wake(id);
      return (await toConnections([await required(id)]))[0]!;
    },
    requestSync: requestRun,
    runs: async (id, page) => (await listRuns(database, id, page)).map(toRun),
    async progress(id) {
      await required(id);
      const [run] = await latestRuns(database, [id]);
      const [documents] = await countDocumentsOf(database, [id]);
      const partitions = await listPartitions(database, id);
      return {
        run: run ? toRun(run) : null,
        items: await countItems(database, id),
        documents: { waiting: documents?.waiting ?? 0, done: documents?.done ?? 0, failed: documents?.failed ?? 0 },
        heldDeletes: partitions.reduce((sum, one) => sum + (one.heldSweep?.count ?? 0), 0),
      };
    },
    async resolveHeldSweep(id, decision) {
      await required(id);
      const now = clock.now();
      for (const { id: partitionId, heldSweep } of await listPartitions(database, id)) {
        if (!heldSweep) continue;
        const key = { connectionId: id, partitionId };
        await setHeldSweep(database, key, decision === 'confirm' ? { ...heldSweep, confirmed: true } : null, now);
      }
      if (decision === 'confirm') await requestRun(id, { mode: 'incremental', trigger: 'manual' }).catch(ignoreRunning);
    },
  };
}

function ignoreRunning(error: unknown): void {
  if (!MemorydError.is(error) || error.code !== 'conflict') throw error;
}

/** Fields that the connector's schema names are its configuration; the rest goes onto each document. */
function splitFields(spec: ConnectorSpec, fields: JsonObject): { config: JsonObject; metadata: JsonObject } {
  const known = new Set(Object.keys(spec.config.properties ?? {}));
  const entries = Object.entries(fields);
  return {
    config: Object.fromEntries(entries.filter(([name]) => known.has(name))),
    metadata: Object.fromEntries(entries.filter(([name]) => !known.has(name))),
  };
}

function intervalOf(spec: ConnectorSpec, config: JsonObject): number | null {
  const own = config.pollEveryMs;
  return typeof own === 'number' ? own : (spec.schedule?.everyMs ?? null);
}

/** A source that cannot be reached is told at once, not after the first failed run. */
async function probeAccess(options: ConnectionServiceOptions, provider: string, config: JsonObject): Promise<void> {
  const connector = await options.registry.load(provider);
  const { context, dispose } = createContext({
    connector,
    config,
    selection: [],
    clock: options.clock,
    log: options.log,
    signal: AbortSignal.timeout(30_000),
  });
  try {
    const failed = (await connector.check(context)).find((result) => result.status === 'failed');
    if (!failed) return;
    throw new MemorydError('connector_invalid', failed.detail ?? `Not true of the source: ${failed.title}`, {
      ...(failed.remedy ? { details: failed.remedy } : {}),
    });
  } finally {
    await dispose();
  }
}

function toRun(row: SyncRunRow): SyncRun {
  return {
    ...row,
    status: row.status as SyncRun['status'],
    mode: row.mode as SyncRun['mode'],
    triggerType: row.triggerType as SyncRun['triggerType'],
  };
}

function toConnection(row: ConnectionRow, lastRun: SyncRun | null, documentCount: number): Connection {
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
    schedule: row.schedule,
    nextSyncAt: row.nextSyncAt,
    lastSyncedAt: row.lastSyncedAt,
    expiresAt: row.expiresAt,
    documentCount,
    lastRun,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
