import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { withContext } from './chunk/context.ts';
import type { Embedder } from '../models/embedder.ts';
import { chunksOfOtherModels, replaceVectors } from '../store/chunks.ts';
import type { Database } from '../store/database.ts';
import { holdLease, releaseLease } from '../store/leases.ts';
import { readSetting, writeSetting } from '../store/settings.ts';

export interface ReembedOptions {
  database: Database;
  embedder: Embedder;
  clock: Clock;
  log: Logger;
  /** Names this process among those that may do it. */
  holder: string;
}

const settingKey = 'embedding_model';
const batchSize = 64;
const leaseMs = 60_000;

/**
 * After a change of the embedding model: computes every stored vector again, in the background.
 * Vectors of the two models are never compared; until a chunk is done, search finds it by its words.
 * Interrupted, it goes on at the next start. Returns how many vectors were replaced.
 */
export async function reembed(options: ReembedOptions, signal: AbortSignal): Promise<number> {
  const { database, embedder, clock, log } = options;
  if ((await readSetting(database, settingKey)) === embedder.id) return 0;
  const lease = () => ({ holder: options.holder, until: new Date(clock.now().getTime() + leaseMs), now: clock.now() });
  let after = '';
  let replaced = 0;
  while (!signal.aborted) {
    if (!(await holdLease(database, 'reembed', lease()))) return replaced;
    const chunks = await chunksOfOtherModels(database, embedder.id, { after, limit: batchSize });
    if (chunks.length === 0) break;
    if (replaced === 0) log.info({ model: embedder.id }, 'embedding model changed, vectors are computed again');
    const texts = chunks.map(({ context, content }) => withContext(context, content));
    const vectors = await embedder.embed(texts, { kind: 'document', signal });
    replaced += await replaceVectors(
      database,
      embedder.id,
      chunks.map(({ id }, index) => ({ id, embedding: vectors[index]! })),
    );
    after = chunks.at(-1)!.id;
  }
  if (!signal.aborted) await writeSetting(database, settingKey, embedder.id, clock.now());
  await releaseLease(database, 'reembed', options.holder);
  if (replaced > 0) log.info({ model: embedder.id, replaced }, 'vectors computed again');
  return replaced;
}
