/** A process that runs one sync, stops itself in the middle of a page, and says how the sync ended when it goes on. */
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { defaultRunSettings } from '../../src/sync/run.ts';
import { runSync } from '../../src/sync/runner.ts';
import type { Database, Queryable } from '../../src/store/database.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { pagesOfSixty } from './pages-of-sixty.ts';

export interface StoppedRunnerTask {
  databaseUrl: string;
  connectionId: string;
  rev: string;
  /** Within the transaction that stores a page, or between two pages. */
  stopsIn: 'transaction' | 'listing';
}

const task = JSON.parse(process.argv[2]!) as StoppedRunnerTask;
const opened = await openPostgres({ url: task.databaseUrl, idleTransactionMs: 2_000, log: silentLogger });
let hasStopped = false;

function stop(): void {
  if (hasStopped) return;
  hasStopped = true;
  process.send!('stopping');
  process.kill(process.pid, 'SIGSTOP');
}

/** Stops after the first page of the listing is written and before its transaction ends. */
function stoppingIn(tx: Queryable): Queryable {
  return {
    execute: (statement) => tx.execute(statement),
    async query(statement) {
      const rows = await tx.query(statement);
      if (statement.text.includes('set seen_epoch')) stop();
      return rows as never[];
    },
  };
}

const database: Database =
  task.stopsIn === 'listing'
    ? opened
    : Object.assign(Object.create(opened) as Database, {
        transaction: (work: (tx: Queryable) => Promise<unknown>) => opened.transaction((tx) => work(stoppingIn(tx))),
      });
const connector = pagesOfSixty({ rev: task.rev }, (page) => {
  if (task.stopsIn === 'listing' && page === 2) stop();
});
const settings = { ...defaultRunSettings, connectionLeaseMs: 1_000 };
const runner = {
  database,
  clock: systemClock,
  log: silentLogger,
  settings,
  connector: async () => connector,
  wake: async () => {},
};
await runSync(runner, task.connectionId, new AbortController().signal);
await opened.close();
process.send!('ended', () => process.disconnect());
