import { createLanguageModel, type AppOptions } from './adapters.ts';
import { createMeteredModel, type MeteredModel } from './memory/llm/metered-model.ts';
import type { Database } from './store/database.ts';

/** The language model of the configuration, with its budget; null when there is none. */
export async function openLanguageModel(options: AppOptions, database: Database): Promise<MeteredModel | null> {
  const model = await createLanguageModel(options);
  const { config, clock, log } = options;
  return model && createMeteredModel({ database, model, clock, log, tokensPerDay: config.llm.tokensPerDay });
}
