import type { Status } from './api/services.ts';
import type { Clock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { MemorydError } from './base/errors.ts';
import type { Logger } from './base/log.ts';
import type { Embedder } from './models/embedder.ts';
import type { TaskQueue } from './queue/task-queue.ts';
import type { Database } from './store/database.ts';
import { rawSql } from './store/sql.ts';

/** How the embedding model is doing. */
export interface ModelState {
  state: 'loading' | 'ready' | 'failed';
  runtime: string;
  /** Loads the model, which tests itself, before the first search has to wait for it. */
  open(): Promise<void>;
}

export function trackModel(embedder: Embedder, log: Logger): ModelState {
  const model: ModelState = {
    state: 'loading',
    runtime: 'none',
    async open() {
      try {
        await embedder.embed(['ready'], { kind: 'query' });
        model.runtime = await embedder.runtime();
        model.state = 'ready';
      } catch (error) {
        model.state = 'failed';
        log.error({ err: error }, 'the embedding model does not work, documents wait for it');
      }
    },
  };
  return model;
}

/** What the process knows about itself. */
export function createStatus(
  { config, clock }: { config: Config; clock: Clock },
  { database, embedder, queue }: { database: Database; embedder: Embedder; queue: TaskQueue },
  model: ModelState,
): Status {
  const startedAt = clock.now();
  const probe = async (run: () => Promise<unknown>): Promise<string> => {
    try {
      await run();
      return 'ok';
    } catch (error) {
      return MemorydError.is(error) ? error.message : 'does not answer';
    }
  };
  return {
    describe: async () => ({
      startedAt,
      role: config.role,
      storage: { engine: database.engine, dataDir: database.engine === 'pglite' ? config.dataDir : null },
      queue: { kind: queue.kind },
      embedder: { id: embedder.id, runtime: model.runtime, state: model.state },
    }),
    readiness: async () => ({
      database: await probe(() => database.query(rawSql('select 1'))),
      queue: await probe(() => queue.check()),
      embeddings: model.state === 'failed' ? 'the model cannot be loaded; run `memoryd models verify`' : 'ok',
      scheduler: 'ok',
    }),
  };
}
