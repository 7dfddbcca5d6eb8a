import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import folder from '../connectors/folder/index.ts';
import { systemClock } from '../src/base/clock.ts';
import { newId } from '../src/base/ids.ts';
import { silentLogger } from '../src/base/log.ts';
import { defaultRunSettings } from '../src/sync/run.ts';
import type { Connector } from '../src/connector/contract.ts';
import { runSync, type RunnerOptions } from '../src/sync/runner.ts';
import { createTextWork } from '../src/engine/text/text-work.ts';
import { createHandOver, createProcessor } from '../src/engine/process.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { insertConnection, requestSync } from '../src/store/connections.ts';
import type { Database } from '../src/store/database.ts';
import { rawSql } from '../src/store/sql.ts';
import { writeFiles } from './corpus.ts';

const slots = 2;
const mostPauseMs = 20;

/** A folder of text files, removed by `close`. */
export async function makeFolder(count: number, bytes: number): Promise<{ path: string; close(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'memoryd-bench-files-'));
  await writeFiles(path, count, bytes);
  return { path, close: () => rm(path, { recursive: true, force: true }) };
}

/** A folder, or what another connector needs. */
type PipelineSource =
  { path: string } | ({ connector: Connector<any, any> } & Partial<Omit<RunnerOptions, 'connector'>>);

/** The daemon's own parts for one connection: what `memoryd start FOLDER` runs, without the HTTP server. */
export async function createPipeline(database: Database, embedder: Embedder, source: PipelineSource) {
  const { connector, ...runner } = 'path' in source ? { connector: folder } : source;
  const clock = systemClock;
  const log = silentLogger;
  const id = newId(clock.now());
  await database.transaction((tx) =>
    insertConnection(tx, {
      id,
      provider: connector.spec.name,
      containerTag: 'bench',
      status: 'active',
      config: 'path' in source ? source : {},
      metadata: {},
      documentLimit: null,
      onSourceDelete: 'delete',
      schedule: null,
      syncEveryMs: null,
      now: clock.now(),
    }),
  );
  const textWork = createTextWork({ log });
  const processor = createProcessor({ database, embedder, textWork, clock, log });
  const handOver = createHandOver({ processor, clock, log, concurrency: slots });
  const stop = new AbortController();
  const draining = new Map<number, Promise<unknown>>();

  async function wake(count: number): Promise<void> {
    for (let slot = 0; slot < Math.min(slots, Math.ceil(count / 32)); slot++) {
      if (draining.has(slot)) continue;
      draining.set(
        slot,
        processor.drain(stop.signal).finally(() => draining.delete(slot)),
      );
    }
  }

  async function sync(): Promise<void> {
    await database.transaction((tx) =>
      requestSync(tx, id, { mode: 'incremental', trigger: 'manual' }, { now: clock.now() }),
    );
    const common = { database, clock, log, settings: defaultRunSettings, wake, handOver, extractor: textWork };
    await runSync({ ...common, ...runner, connector: async () => connector }, id, stop.signal);
  }

  /** Resolves when nothing is left to process. */
  async function finish(): Promise<void> {
    // Looking all the time would take from what is looked at.
    for (let pauseMs = 5; (await waiting()) > 0; pauseMs = Math.min(2 * pauseMs, mostPauseMs)) {
      await Promise.all(Array.from({ length: slots }, () => processor.drain(stop.signal)));
      await setTimeout(pauseMs);
    }
  }

  async function waiting(): Promise<number> {
    const [row] = await database.query<{ count: number }>(
      rawSql(`select count(*) as count from documents where status not in ('done', 'failed')`),
    );
    return row!.count;
  }

  return {
    sync,
    finish,
    async documents(): Promise<number> {
      const [row] = await database.query<{ count: number }>(
        rawSql(`select count(*)::int as count from documents where deleted_at is null`),
      );
      return row!.count;
    },
    async close() {
      await handOver.close();
      await textWork.close();
    },
  };
}
