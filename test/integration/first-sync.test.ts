import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Connector } from '../../src/connector/contract.ts';
import { createSyncRuns } from '../../src/connections/run-service.ts';
import { createWatching } from '../../src/inbound/watching.ts';
import { workOnSyncs } from '../../src/sync/work-syncs.ts';
import { createWaking } from '../../src/engine/process.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import { findConnection } from '../../src/store/connections.ts';
import { listRuns } from '../../src/store/sync-runs.ts';
import { openTestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { pageOf, scriptedConnector } from '../support/scripted-connector.ts';

/** A connection that was just made, whose first sync is asked for, and a process with a worker that watches. */
async function open(list: () => Promise<void> = async () => {}) {
  const { database, close } = await openTestDatabase();
  const connector: Connector<any, any> = {
    ...scriptedConnector({ list: () => list().then(() => pageOf('a', 'b')) }),
    async watch({ signal }, hint) {
      hint({});
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  const mirror = await createMirror({ database, clock: systemClock, connector });
  const queue = createInProcessQueue({ clock: systemClock, log: silentLogger });
  const waking = createWaking({ queue, slots: 1, batchSize: 32, lost: () => {} });
  const wake = (id: string) => waking.connection(id);
  const watching = createWatching({ ...mirror.runner(), wake, debounceMs: 1 });
  await mirror.request({ mode: 'full', trigger: 'event' });
  return {
    begin: async () => {
      await workOnSyncs(queue, { ...mirror.runner(), watching }, 4);
      await wake(mirror.id);
    },
    syncByHand: () =>
      createSyncRuns({ database, clock: systemClock, wake }).requestSync(mirror.id, {
        mode: 'incremental',
        trigger: 'manual',
      }),
    async expectOneRun(): Promise<void> {
      const runs = () => listRuns(database, mirror.id, { limit: 10 });
      await expect.poll(async () => (await runs())[0]?.status).toBe('completed');
      // What each process does every few seconds finds nothing new to watch.
      await watching.refresh();
      expect(await findConnection(database, mirror.id)).toMatchObject({ requestedSync: null, runningSync: null });
      expect(await runs()).toHaveLength(1);
    },
    async close() {
      await watching.close();
      await queue.close();
      await close();
    },
  };
}

it('a connection that another process made is watched before its first sync, and synced just once', async () => {
  const world = await open();
  try {
    await world.begin();
    await world.expectOneRun();
  } finally {
    await world.close();
  }
});

it('a sync that somebody asks for before a worker has begun the first one is that one', async () => {
  const world = await open();
  try {
    await world.syncByHand();
    await world.begin();
    await world.expectOneRun();
  } finally {
    await world.close();
  }
});

it('a sync that somebody asks for during the first one is that one', async () => {
  const begun = Promise.withResolvers<void>();
  const isAsked = Promise.withResolvers<void>();
  const world = await open(() => {
    begun.resolve();
    return isAsked.promise;
  });
  try {
    await world.begin();
    await begun.promise;
    const [one, other] = [await world.syncByHand(), await world.syncByHand()];
    expect(one.id).toBe(other.id);
    isAsked.resolve();
    await world.expectOneRun();
  } finally {
    isAsked.resolve();
    await world.close();
  }
});
