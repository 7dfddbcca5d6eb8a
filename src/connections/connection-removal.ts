import type { Credentials } from '../auth/credentials.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Registry } from '../connector/registry.ts';
import { removeDocuments } from '../engine/remove.ts';
import type { HookSubscriptions } from '../inbound/hooks/subscriptions.ts';
import { markDeleting, stalledRemovals } from '../store/connection-changes.ts';
import {
  type ConnectionRow,
  deleteConnection,
  documentsOnlyOf,
  lockConnection,
  releaseDocuments,
} from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { requireConnection } from './connection-types.ts';

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
