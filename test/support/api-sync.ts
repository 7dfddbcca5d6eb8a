import { silentLogger } from '../../src/base/log.ts';
import type { Connector } from '../../src/connector/contract.ts';
import { defaultRunSettings } from '../../src/sync/run.ts';
import { runSync } from '../../src/sync/runner.ts';
import type { TestApi } from './api.ts';

/** Runs what a connection is due for to its end, as a worker does. */
export async function runDueSync(test: TestApi, connector: Connector<any, any>, connectionId: string): Promise<void> {
  await runSync(
    {
      database: test.database,
      clock: test.clock,
      log: silentLogger,
      settings: defaultRunSettings,
      connector: async () => connector,
      wake: async () => {},
      credentials: test.authorizing.credentials,
    },
    connectionId,
    new AbortController().signal,
  );
}
