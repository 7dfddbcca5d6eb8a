import type { Clock } from '../../src/base/clock.ts';
import { newId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Connector } from '../../src/connector/contract.ts';
import { defaultRunSettings, type RunSettings } from '../../src/sync/run.ts';
import { runSync, type RunnerOptions } from '../../src/sync/runner.ts';
import { insertConnection, requestSync, type RequestedSync } from '../../src/store/connections.ts';
import type { Database } from '../../src/store/database.ts';
import { sql } from '../../src/store/sql.ts';
import { listRuns } from '../../src/store/sync-runs.ts';

/** One connection over a connector, synced on demand, and what memory holds of it. */
export async function createMirror(options: {
  database: Database;
  clock: Clock;
  connector: Connector<any, any>;
  config?: Record<string, unknown>;
  settings?: Partial<RunSettings>;
  onSourceDelete?: 'delete' | 'keep';
  containerTag?: string;
  runner?: Partial<RunnerOptions>;
}) {
  const { database, clock, connector } = options;
  const tag = options.containerTag ?? 'mirror';
  const id = newId(clock.now());
  await database.transaction((tx) =>
    insertConnection(tx, {
      id,
      provider: connector.spec.name,
      containerTag: tag,
      status: 'active',
      config: options.config ?? {},
      metadata: { from: 'test' },
      documentLimit: null,
      onSourceDelete: options.onSourceDelete ?? 'delete',
      schedule: null,
      syncEveryMs: 60_000,
      now: clock.now(),
    }),
  );

  async function request(what: Partial<RequestedSync> = {}): Promise<void> {
    const full: RequestedSync = { mode: 'incremental', trigger: 'manual', ...what };
    await database.transaction((tx) => requestSync(tx, id, full, { now: clock.now() }));
  }

  function runner(used: Database = database): RunnerOptions {
    return {
      database: used,
      clock,
      log: silentLogger,
      settings: { ...defaultRunSettings, claimSize: 4, ...options.settings },
      connector: async () => connector,
      wake: async () => {},
      ...options.runner,
    };
  }

  /** Runs what is due to its end, on another connection to the same database if one is given. */
  async function run(signal: AbortSignal = new AbortController().signal, used?: Database) {
    await runSync(runner(used), id, signal);
    const [latest] = await listRuns(database, id, { limit: 1 });
    return latest!;
  }

  return {
    id,
    request,
    runner,
    run,
    /** Asks for a sync and runs it. */
    async sync(what: Partial<RequestedSync> = {}, signal?: AbortSignal, used?: Database) {
      await request(what);
      return run(signal, used);
    },
    /** Text by the id at the source. */
    async texts(): Promise<Map<string, string>> {
      const rows = await database.query<{ customId: string; raw: string }>(sql`
        select d.custom_id as "customId", c.raw from documents d join document_contents c on c.document_id = d.id
        where d.deleted_at is null and d.container_tag = ${tag} order by d.custom_id`);
      return new Map(rows.map((row) => [row.customId.replace(`${connector.spec.name}:`, ''), row.raw]));
    },
    async documentIds(): Promise<Map<string, string>> {
      const rows = await database.query<{ customId: string; id: string }>(
        sql`select custom_id as "customId", id from documents where container_tag = ${tag} and deleted_at is null order by custom_id`,
      );
      return new Map(rows.map((row) => [row.customId.replace(`${connector.spec.name}:`, ''), row.id]));
    },
    /** Every document row, to see whether anything was written. */
    rows: () =>
      database.query<Record<string, unknown>>(
        sql`select d.*, d.xmin::text from documents d where container_tag = ${tag} order by id`,
      ),
    items: () =>
      database.query<Record<string, any>>(sql`select * from sync_items where connection_id = ${id} order by ext_id`),
    partitions: () =>
      database.query<Record<string, any>>(sql`select * from partitions where connection_id = ${id} order by id`),
  };
}
