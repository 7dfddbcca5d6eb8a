import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import {
  changeDocumentField,
  updateConnection,
  type ConnectionFields,
  markDeleting,
  stalledRemovals,
} from '../store/connection-changes.ts';
import {
  requestSync,
  type ConnectionRow,
  deleteConnection,
  documentsOnlyOf,
  lockConnection,
  releaseDocuments,
} from '../store/connections.ts';
import type { Database, Transaction } from '../store/database.ts';
import { noteSettingChange } from '../store/memory-settings.ts';
import { nextSyncOf, checkedHours, checkedSchedule } from '../schedule/connection-schedule.ts';
import { type ConnectionChange, type MemorySettings, requireConnection } from './connection-types.ts';
import type { JsonObject } from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import { parseFilters } from '../sync/filters.ts';
import { checkLocalPaths } from '../source/local-paths.ts';
import type { Registry } from '../connector/registry.ts';
import { splitConfig, splitFields } from '../auth/fields.ts';
import type { Logger } from '../base/log.ts';
import { removeDocuments } from '../engine/remove.ts';
import type { HookSubscriptions } from '../inbound/hooks/subscriptions.ts';

export interface ChangeOptions {
  database: Database;
  registry: Registry;
  credentials: Credentials;
  clock: Clock;
  /** The schedule of connections that have none of their own. */
  standardSchedule: string;
  /** Folders of this machine that may be chosen by callers without `readsAnyPath`. */
  folderRoots: readonly string[];
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
  /** Called when connections pause or resume. */
  changed(): Promise<void>;
}

/** A change that is checked, ready to be stored. */
interface CheckedChange {
  fields: ConnectionFields;
  /** Credentials to lay over the stored ones; null takes one away. */
  secrets: JsonObject;
}

/** Answers the function that changes a connection: everything is checked before anything is stored. */
export function createChange(options: ChangeOptions): (id: string, wanted: ConnectionChange) => Promise<void> {
  const { database, clock } = options;
  return async (id, wanted) => {
    const row = await requireConnection(database, id);
    const { fields, secrets } = await check(options, row, wanted);
    const now = clock.now();
    const sync = neededSync(row, fields, secrets);
    await database.transaction(async (tx) => {
      await updateConnection(tx, id, fields, now);
      await changeDocuments(tx, row, fields.metadata, now);
      if (changesMemories(row, fields)) await noteSettingChange(tx, { scope: 'connection', id });
      if (Object.keys(secrets).length > 0) await options.credentials.change(tx, id, secrets);
      if (sync) await requestSync(tx, id, { mode: sync, trigger: 'manual' }, { now });
    });
    if (fields.status !== row.status) await options.changed();
    if (sync && fields.status === 'active') await options.wake(id);
  };
}

/** The sync that a change makes necessary: another source or other credentials are listed anew. */
function neededSync(row: ConnectionRow, fields: ConnectionFields, secrets: JsonObject): 'full' | 'incremental' | null {
  if (!isDeepStrictEqual(fields.config, row.config)) return 'full';
  const names = ['filters', 'documentLimit'] as const;
  const isRejudged = names.some((name) => !isDeepStrictEqual(fields[name], row[name]));
  const isBack = fields.status === 'active' && row.status !== 'active';
  return isRejudged || isBack || Object.keys(secrets).length > 0 ? 'incremental' : null;
}

async function check(options: ChangeOptions, row: ConnectionRow, wanted: ConnectionChange): Promise<CheckedChange> {
  const { config, metadata, secrets } = wanted.metadata
    ? await mergeFields(options, row, { changes: wanted.metadata, readsAnyPath: wanted.readsAnyPath ?? false })
    : { config: row.config, metadata: row.metadata, secrets: {} };
  const mends = !isDeepStrictEqual(config, row.config) || Object.keys(secrets).length > 0;
  const status = nextStatus(row, wanted.paused, mends);
  const timing = {
    schedule: wanted.schedule === undefined ? row.schedule : checkedSchedule(wanted.schedule),
    allowedHours: wanted.allowedHours === undefined ? row.allowedHours : checkedHours(wanted.allowedHours),
  };
  const fields: ConnectionFields = {
    ...timing,
    status,
    statusReason: status === row.status ? row.statusReason : null,
    config,
    metadata,
    filters: wanted.filters === undefined ? row.filters : { ...parseFilters(wanted.filters) },
    documentLimit: wanted.documentLimit === undefined ? row.documentLimit : wanted.documentLimit,
    onSourceDelete: wanted.onSourceDelete ?? row.onSourceDelete,
    nextSyncAt: nextTime(options, row, timing),
    ...memorySettings(row, wanted),
  };
  return { fields, secrets };
}

function memorySettings(row: ConnectionRow, wanted: ConnectionChange): MemorySettings {
  return {
    memories: wanted.memories === undefined ? row.memories : wanted.memories,
    trust: wanted.trust ?? row.trust,
    author: wanted.author === undefined ? row.author : wanted.author,
    inProfile: wanted.inProfile ?? row.inProfile,
  };
}

/** Whether a change alters which documents make memories, or in whose name. */
function changesMemories(row: MemorySettings, fields: MemorySettings): boolean {
  return (['memories', 'trust', 'author'] as const).some((name) => row[name] !== fields[name]);
}

/** Credentials and settings that are mended let a connection go on that waited for them; a paused one stays paused. */
function nextStatus({ status }: ConnectionRow, paused: boolean | undefined, mends: boolean): string {
  if (paused !== undefined) return paused ? 'paused' : 'active';
  return mends && (status === 'needs_reauth' || status === 'needs_configuration') ? 'active' : status;
}

async function mergeFields(
  { registry, credentials, folderRoots }: ChangeOptions,
  row: ConnectionRow,
  { changes, readsAnyPath }: { changes: JsonObject; readsAnyPath: boolean },
) {
  const { spec } = await registry.load(row.provider);
  const given = splitFields(spec, changes);
  const opened = await credentials.open(row, spec, new AbortController().signal);
  const whole = merged({ ...(row.config as JsonObject), ...opened?.secrets }, given.config);
  const config = splitConfig(spec, await registry.validateConfig(row.provider, whole)).open;
  const moved = Object.fromEntries(Object.entries(config).filter(([name]) => config[name] !== row.config[name]));
  if (!readsAnyPath) await checkLocalPaths(spec, moved, folderRoots);
  const secrets = { ...given.unknownSecrets, ...given.authorization, ...splitConfig(spec, given.config).secret };
  return { config, metadata: merged(row.metadata as JsonObject, given.metadata), secrets };
}

function merged(fields: JsonObject, changes: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries({ ...fields, ...changes }).filter(([, value]) => value !== null));
}

function nextTime(
  { clock, standardSchedule }: ChangeOptions,
  row: ConnectionRow,
  timing: Pick<ConnectionRow, 'schedule' | 'allowedHours'>,
): Date | null {
  const isSame = timing.schedule === row.schedule && timing.allowedHours === row.allowedHours;
  if (isSame || row.requestedSync) return row.nextSyncAt;
  return nextSyncOf({ ...row, ...timing }, { itemDueAt: null, now: clock.now() }, standardSchedule);
}

async function changeDocuments(tx: Transaction, row: ConnectionRow, metadata: object, now: Date): Promise<void> {
  const after = metadata as Record<string, unknown>;
  for (const name of new Set([...Object.keys(row.metadata), ...Object.keys(after)])) {
    const field = { name, before: row.metadata[name], after: after[name] };
    if (!isDeepStrictEqual(field.before, field.after)) await changeDocumentField(tx, row.id, field, now);
  }
}

interface RemovalOptions {
  database: Database;
  registry: Registry;
  credentials: Credentials;
  clock: Clock;
  log: Logger;
  hooks?: Pick<HookSubscriptions, 'cancel'> | undefined;
  /** Called when a connection goes. */
  changed(): Promise<void>;
}

interface Removal {
  remove(id: string, options: { deleteDocuments: boolean }): Promise<void>;
  finishRemovals(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

const deleteBatch = 500;
/** Documents beyond this number are deleted after the answer. */
const deletedAtOnce = 10_000;
/** A removal that has not gone on for so long has lost its process. */
const stalledAfterMs = 60_000;

/** Ends connections. One that is `deleting` loses its documents, whatever happens to the process. */
export function createRemoval(options: RemovalOptions): Removal {
  const { database, clock, log } = options;
  const stop = new AbortController();
  const going = new Set<Promise<void>>();

  async function deleteAll(id: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) if (!(await deleteSome(options, id))) return end(options, id);
  }

  function deleteLater(id: string): void {
    const deletion = deleteAll(id, stop.signal).catch((error: unknown) =>
      log.error({ err: error, connectionId: id }, 'deletion of a connection stopped, it will be resumed'),
    );
    going.add(deletion);
    void deletion.then(() => going.delete(deletion));
  }

  return {
    async remove(id, { deleteDocuments }) {
      const row = await requireConnection(database, id);
      if (deleteDocuments) await markDeleting(database, id, clock.now());
      await leave(options, row);
      if (!deleteDocuments) await end(options, id);
      await options.changed();
      if (!deleteDocuments) return;
      for (let deleted = 0; deleted < deletedAtOnce; deleted += deleteBatch) {
        if (!(await deleteSome(options, id))) return end(options, id);
      }
      deleteLater(id);
    },
    async finishRemovals(signal) {
      const before = new Date(clock.now().getTime() - stalledAfterMs);
      for (const id of await stalledRemovals(database, before)) await deleteAll(id, signal);
    },
    async close() {
      stop.abort();
      await Promise.all(going);
    },
  };
}

/** Ends the sync under way, the subscriptions and the grant. Afterwards nothing new comes from the source. */
async function leave({ hooks, registry, credentials }: RemovalOptions, row: ConnectionRow): Promise<void> {
  await hooks?.cancel(row);
  const connector = await registry.load(row.provider).catch(() => null);
  await credentials.forget(row, connector?.spec ?? null);
}

/** Deletes some documents; false when there are none left. */
async function deleteSome({ database, clock }: RemovalOptions, id: string): Promise<boolean> {
  const ids = await documentsOnlyOf(database, id, deleteBatch);
  if (ids.length > 0) await database.transaction((tx) => removeDocuments(tx, ids, clock.now()));
  await markDeleting(database, id, clock.now());
  return ids.length === deleteBatch;
}

async function end({ database }: RemovalOptions, id: string): Promise<void> {
  await database.transaction(async (tx) => {
    await lockConnection(tx, id);
    await releaseDocuments(tx, id);
    await deleteConnection(tx, id);
  });
}
