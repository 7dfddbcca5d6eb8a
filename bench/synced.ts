import { systemClock } from '../src/base/clock.ts';
import { newId } from '../src/base/ids.ts';
import { silentLogger } from '../src/base/log.ts';
import type { Connector } from '../src/connector/contract.ts';
import { defaultRunSettings } from '../src/sync/run.ts';
import { runSync } from '../src/sync/runner.ts';
import { insertConnection, requestSync } from '../src/store/connections.ts';
import type { Database } from '../src/store/database.ts';
import { ensureContainers } from '../src/store/documents.ts';
import { listRuns } from '../src/store/sync-runs.ts';

/** A connection over a connector, synced on demand. Documents are stored and not processed. */
export async function createSynced(database: Database, connector: Connector<any, any>) {
  const clock = systemClock;
  const now = clock.now();
  const id = newId(now);
  await database.transaction(async (tx) => {
    await ensureContainers(tx, [{ tag: 'bench', id: newId(now) }], now);
    await insertConnection(tx, {
      id,
      provider: connector.spec.name,
      containerTag: 'bench',
      status: 'active',
      config: {},
      metadata: {},
      documentLimit: null,
      onSourceDelete: 'delete',
      schedule: null,
      syncEveryMs: null,
      now,
    });
  });
  return {
    id,
    /** Through another view of the database, if one is given. Throws when the run does not complete. */
    async sync(
      mode: 'full' | 'incremental',
      { used = database, signal = new AbortController().signal }: { used?: Database; signal?: AbortSignal } = {},
    ): Promise<void> {
      await database.transaction((tx) => requestSync(tx, id, { mode, trigger: 'manual' }, { now: clock.now() }));
      const settings = defaultRunSettings;
      const wake = async () => {};
      const common = { database: used, clock, log: silentLogger, settings, wake };
      await runSync({ ...common, connector: async () => connector }, id, signal);
      const [run] = await listRuns(database, id, { limit: 1 });
      if (run?.status !== 'completed' && !signal.aborted) throw new Error(`The sync failed: ${run?.error}.`);
    },
  };
}
