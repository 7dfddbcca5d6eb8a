import { silentLogger } from '../../src/base/log.ts';
import { createMeteredModel, type MeteredModel } from '../../src/memory/llm/metered-model.ts';
import { createHttpLanguageModel, type HttpLanguageModelOptions } from '../../src/models/http/http-language-model.ts';
import type { Database } from '../../src/store/database.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock, type TestClock } from './clock.ts';
import { startLanguageModelServer, type LanguageModelServer } from './language-model-server.ts';

export interface LanguageModelStand {
  server: LanguageModelServer;
  clock: TestClock;
  /** Another one on the same server and database, as after a restart. */
  open(options?: Partial<HttpLanguageModelOptions>): MeteredModel;
  close(): Promise<void>;
}

/** Language models over HTTP, with budgets and answers in a database. */
export async function startLanguageModelStand(database: Database, tokensPerDay = 100_000): Promise<LanguageModelStand> {
  const server = await startLanguageModelServer();
  const clock = createTestClock();
  const opened: MeteredModel[] = [];
  return {
    server,
    clock,
    open(options = {}) {
      const model = createHttpLanguageModel({
        ...{ baseUrl: server.baseUrl, model: 'small', clock, attempts: 1 },
        ...options,
      });
      const metered = createMeteredModel({ database, model, clock, log: silentLogger, tokensPerDay });
      opened.push(metered);
      return metered;
    },
    async close() {
      for (const model of opened) await model.close();
      await server.close();
    },
  };
}

/** A row that answers can be kept with. */
export async function insertDocument(database: Database, id: string, containerTag: string): Promise<void> {
  const now = new Date('2026-03-01T09:00:00Z');
  await database.execute(sql`
    insert into documents (id, container_tag, status, type, content_hash, created_at, updated_at)
    values (${id}, ${containerTag}, 'done', 'text', ${id}, ${now}, ${now})`);
}
