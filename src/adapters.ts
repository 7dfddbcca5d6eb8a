import type { Clock } from './base/clock.ts';
import type { Config, ConfigRow } from './base/config.ts';
import { MemorydError } from './base/errors.ts';
import type { Logger } from './base/log.ts';
import type { LocalModels } from './cli/context.ts';
import { createRateCounter, type RateCounter } from './base/rate-counter.ts';
import { rotateEncryption, type RotationReport, type EncryptionKeyOptions } from './auth/encryption-keys.ts';
import type { Ocr } from './engine/ocr.ts';
import type { Embedder } from './models/embedder.ts';
import type { LanguageModel } from './models/language-model.ts';
import { createInProcessQueue } from './queue/in-process.ts';
import type { TaskQueue } from './queue/task-queue.ts';
import type { Database } from './store/database.ts';
import { migrate } from './store/migrate.ts';
import { createMeteredModel, type MeteredModel } from './memory/llm/metered-model.ts';

/** The parts that the process is built from. */
export interface AppOptions {
  config: Config;
  /** The same for people, with where each value is from; absent: not shown by the API. */
  settings?: readonly ConfigRow[];
  clock: Clock;
  log: Logger;
}

/** The model that the configuration names. Local models load at their first use. */
export async function createEmbedder({ config, clock }: AppOptions): Promise<Embedder> {
  const { kind, folder, baseUrl, model, apiKey, dimensions } = config.embedder;
  const threads = config.threads === undefined ? {} : { threads: config.threads };
  const length = dimensions === undefined ? {} : { dimensions };
  switch (kind) {
    case 'chosen': {
      const { openChosen } = await import('./models/hub/local-models.ts');
      return openChosen(config.dataDir, threads);
    }
    case 'minilm': {
      const { createMinilmEmbedder } = await import('./models/minilm/minilm-embedder.ts');
      return createMinilmEmbedder(threads);
    }
    case 'onnx': {
      const { createOnnxFolderEmbedder } = await import('./models/onnx-folder/onnx-folder-embedder.ts');
      return createOnnxFolderEmbedder({ folder: folder!, ...threads });
    }
    case 'http': {
      const { createHttpEmbedder } = await import('./models/http/http-embedder.ts');
      const key = apiKey === undefined ? {} : { apiKey, apiKeySetting: 'MEMORYD_EMBEDDER_API_KEY' };
      return createHttpEmbedder({ baseUrl: baseUrl!, model: model!, ...key, ...length, clock });
    }
    case 'hashing': {
      const { createHashingEmbedder } = await import('./models/hashing-embedder.ts');
      return createHashingEmbedder(length);
    }
  }
}

/** The models of the data directory, for `memoryd models`. */
export async function localModels({ config }: Pick<AppOptions, 'config'>): Promise<LocalModels> {
  const { choose, listModels, pull } = await import('./models/hub/local-models.ts');
  const { dataDir, embedder } = config;
  return {
    list: () => listModels(dataDir),
    pull: (request) => pull(dataDir, { ...request, hub: embedder.hub }),
    choose: (name) => choose(dataDir, name),
  };
}

/** The language model that the configuration names; null when it names none. */
export async function createLanguageModel({ config, clock }: AppOptions): Promise<LanguageModel | null> {
  const { url, model, apiKey, concurrency, timeoutMs } = config.llm;
  if (url === undefined) return null;
  const { createHttpLanguageModel } = await import('./models/http/http-language-model.ts');
  const key = apiKey === undefined ? {} : { apiKey };
  return createHttpLanguageModel({ baseUrl: url, model: model!, ...key, concurrency, timeoutMs, clock });
}

/** Asks the language model one short question; answers its id, null when none is configured. Throws `language_model_failed`. */
export async function tryLanguageModel(options: AppOptions): Promise<string | null> {
  const model = await createLanguageModel(options);
  if (!model) return null;
  const schema = {
    type: 'object',
    properties: { ok: { type: 'boolean' } },
    required: ['ok'],
    additionalProperties: false,
  };
  const prompt = { name: 'check', instructions: 'Answer {"ok": true}.', content: '{"ok": true}', schema };
  const signal = new AbortController().signal;
  const completion = await model.complete({ ...prompt, maxAnswerTokens: 500 }, { kind: 'query', signal });
  await model.close();
  if ('failure' in completion) throw completion.failure;
  if (completion.text.includes('"ok"')) return model.id;
  throw new MemorydError('language_model_failed', `${model.id} answers, but not with the JSON that it is asked for.`);
}

/** Reads text in images; null when the configuration names no server for it. */
export async function openOcr({ config }: AppOptions): Promise<Ocr | null> {
  const { url, ...settings } = config.ocr;
  if (url === undefined) return null;
  const { createOcr } = await import('./engine/ocr.ts');
  return createOcr({ url, ...settings });
}

/** `begun` is called when the embedded database opens by itself, in a thread of its own. */
export async function openDatabase({ config, clock, log }: AppOptions, begun?: () => void): Promise<Database> {
  if (config.databaseUrl === undefined) {
    const { openPglite } = await import('./store/pglite/open-pglite.ts');
    const { preparedClusterFile } = await import('./store/pglite/packed-cluster.ts');
    return openPglite({ dataDir: config.dataDir, preparedFile: await preparedClusterFile(), clock, log, begun });
  }
  const { openPostgres } = await import('./store/postgres.ts');
  return openPostgres({ url: config.databaseUrl, log, applicationName: `memoryd ${config.role}` });
}

export async function openQueue({ config, clock, log }: AppOptions): Promise<TaskQueue> {
  if (config.databaseUrl === undefined || config.redisUrl === undefined) return createInProcessQueue({ clock, log });
  const { openBullmqQueue } = await import('./queue/bullmq.ts');
  return openBullmqQueue({ url: config.redisUrl, prefix: config.redisPrefix, clock, log });
}

/** Requests of a key are counted for all processes where these have a Redis in common. */
export async function openRateCounter({ config, clock, log }: AppOptions): Promise<RateCounter> {
  if (config.databaseUrl === undefined || config.redisUrl === undefined) return createRateCounter(clock);
  const { createRedisRateCounter } = await import('./queue/redis.ts');
  return createRedisRateCounter({ url: config.redisUrl, prefix: config.redisPrefix, clock, log });
}

export function encryptionOptions({ config, clock, log }: AppOptions, database: Database): EncryptionKeyOptions {
  const { encryptionKey: key, encryptionKeyPrevious: previousKey, dataDir } = config;
  return { database, key, previousKey, dataDir, clock, log };
}

/** Seals every stored secret anew, see `rotateEncryption`. Opens the database for itself. */
export async function rotateKeys(options: AppOptions, discardUnreadable: boolean): Promise<RotationReport> {
  const database = await openDatabase(options);
  try {
    await migrate(database, { log: options.log });
    return await rotateEncryption({ ...encryptionOptions(options, database), discardUnreadable });
  } finally {
    await database.close();
  }
}

/** The language model of the configuration, with its budget; null when there is none. */
export async function openLanguageModel(options: AppOptions, database: Database): Promise<MeteredModel | null> {
  const model = await createLanguageModel(options);
  const { config, clock, log } = options;
  return model && createMeteredModel({ database, model, clock, log, tokensPerDay: config.llm.tokensPerDay });
}
