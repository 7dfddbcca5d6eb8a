import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Connector } from '../../src/connect/contract.ts';
import { createWatching } from '../../src/connect/watching.ts';
import { workOnSyncs } from '../../src/connect/work-syncs.ts';
import { createWaking } from '../../src/engine/waking.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import { findConnection } from '../../src/store/connections.ts';
import { listRuns } from '../../src/store/sync-runs.ts';
import { engines, openTestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { pageOf, scriptedConnector } from '../support/scripted-connector.ts';

it('a connection that another process made is watched before its first sync, and synced just once', async () => {
  const { database, close } = await openTestDatabase(engines.at(-1)!);
  const connector: Connector<any, any> = {
    ...scriptedConnector({ list: () => pageOf('a', 'b') }),
    async watch({ signal }, hint) {
      hint({});
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  const mirror = await createMirror({ database, clock: systemClock, connector });
  const queue = createInProcessQueue({ clock: systemClock, log: silentLogger });
  const waking = createWaking({ queue, slots: 1, batchSize: 32, lost: () => {} });
  const watching = createWatching({ ...mirror.runner(), wake: (id) => waking.connection(id), debounceMs: 1 });
  try {
    await workOnSyncs(queue, { ...mirror.runner(), watching }, 4);
    await waking.connection(mirror.id);
    const runs = () => listRuns(database, mirror.id, { limit: 10 });
    await expect.poll(async () => (await runs())[0]?.status).toBe('completed');
    // What each process does every few seconds finds nothing new to watch.
    await watching.refresh();
    expect(await findConnection(database, mirror.id)).toMatchObject({ requestedSync: null, runningSync: null });
    expect(await runs()).toHaveLength(1);
  } finally {
    await watching.close();
    await queue.close();
    await close();
  }
});
