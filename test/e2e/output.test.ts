import { afterEach, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { call } from '../support/memory-of.ts';

const env = { MEMORYD_EMBEDDER_KIND: 'hashing', MEMORYD_LOG_LEVEL: 'debug' };
let daemon: Daemon;
afterEach(() => daemon.stop());

/** Requests are logged, so that each tries to write a line. */
async function answers(): Promise<void> {
  for (let request = 0; request < 5; request++) {
    expect(await call(daemon, 'POST', '/v3/documents/list', {})).toMatchObject({ memories: [] });
  }
}

it('a daemon whose log is on a full disk goes on', async () => {
  daemon = await startDaemon({ env, outputFile: '/dev/full' });
  await answers();
});

it('a daemon whose output nobody reads any more goes on', async () => {
  daemon = await startDaemon({ env });
  daemon.closeOutput();
  await answers();
});
