import { createEmbedder, openDatabase, type AppOptions } from './adapters.ts';
import { createLogTail, type LogTail } from './base/log-tail.ts';
import { requireFreePort } from './listening.ts';
import type { Embedder } from './models/embedder.ts';
import type { Database } from './store/database.ts';

/** What takes its time in threads of its own, begun. */
export interface Opening {
  options: AppOptions;
  warnings: LogTail['warnings'];
  database: Promise<Database>;
  embedder: Promise<Embedder>;
}

/**
 * Opens the database and the model beside each other, and resolves when both go on without this thread, so that the
 * caller reads the rest of the code meanwhile. Whoever gets them closes them. Throws `port_in_use` before anything is
 * opened.
 */
export async function startOpening(given: AppOptions): Promise<Opening> {
  const { log, warnings } = createLogTail(given.log, given.clock);
  const options = { ...given, log };
  await requireFreePort(options.config);
  const begun = Promise.withResolvers<void>();
  const database = openDatabase(options, begun.resolve);
  const embedder = createEmbedder(options);
  // Whoever awaits them sees the failure; until then it must not end the process. To ask for its runtime opens the model.
  for (const opening of [database, embedder.then((model) => model.runtime())]) opening.catch(() => undefined);
  const failed = database.catch(() => undefined);
  await Promise.all([Promise.race([begun.promise, failed]), embedder.catch(() => undefined)]);
  return { options, warnings, database, embedder };
}

/** Parts to close, the newest first. */
export class Opened {
  readonly #parts: { close(): Promise<void> }[] = [];

  /** Null is what the configuration does not want. */
  add<Part extends { close(): Promise<void> } | null>(part: Part): Part {
    if (part !== null) this.#parts.push(part);
    return part;
  }

  async close(): Promise<void> {
    for (let part = this.#parts.pop(); part; part = this.#parts.pop()) await part.close();
  }
}
