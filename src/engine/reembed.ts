import { lastOf, paired } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { withContext } from './chunk/chunk.ts';
import type { Embedder } from '../models/embedder.ts';
import type { Database } from '../store/database.ts';
import { holdLease, isLeaseLost, releaseLease, whileHeld, type HeldLease } from '../store/leases.ts';
import { readSetting, writeSetting } from '../store/settings.ts';
import { embeddedKinds, replaceVectors, withOtherModel, type EmbeddedKind } from '../store/stored-vectors.ts';

export interface ReembedOptions {
  database: Database;
  embedder: Embedder;
  clock: Clock;
  log: Logger;
  /** Names this process among those that may do it. */
  holder: string;
}

const settingKey = 'embedding_model';
const leaseName = 'reembed';
const batchSize = 64;
const leaseMs = 60_000;

/**
 * After a change of the embedding model: computes every stored vector again, of chunks and of memories,
 * in the background. Vectors of the two models are never compared; until one is done, search finds its
 * text by the words. One process does it, and another goes on when that one is gone. Returns how many
 * vectors this one replaced.
 */
export async function reembed(options: ReembedOptions, signal: AbortSignal): Promise<number> {
  const { database, embedder, clock, log, holder } = options;
  let replaced = 0;
  while (!signal.aborted && (await readSetting(database, settingKey)) !== embedder.id) {
    const lease = await hold(options);
    if (!lease) {
      await clock.sleep(leaseMs, signal);
      continue;
    }
    let complete = true;
    for (const kind of embeddedKinds) {
      const done = await reembedKind(options, kind, signal);
      replaced += done.replaced;
      complete &&= done.complete;
    }
    if (complete) await finish(options, lease);
  }
  await releaseLease(database, leaseName, holder);
  if (replaced > 0) log.info({ model: embedder.id, replaced }, 'vectors computed again after a change of the model');
  return replaced;
}

async function reembedKind(
  options: ReembedOptions,
  kind: EmbeddedKind,
  signal: AbortSignal,
): Promise<{ replaced: number; complete: boolean }> {
  const { database, embedder } = options;
  let replaced = 0;
  let after = '';
  while (!signal.aborted) {
    const lease = await hold(options);
    if (!lease) break;
    const rows = await withOtherModel(database, kind, embedder.id, { after, limit: batchSize });
    if (rows.length === 0) return { replaced, complete: true };
    const texts = rows.map(({ context, content }) => withContext(context, content));
    const vectors = await embedder.embed(texts, { kind: 'document', signal });
    const written = paired(rows, vectors).map(([{ id }, embedding]) => ({ id, embedding }));
    const count = await unlessLost(whileHeld(database, lease, (tx) => replaceVectors(tx, kind, embedder.id, written)));
    if (count === null) break;
    replaced += count;
    after = lastOf(rows).id;
  }
  return { replaced, complete: false };
}

async function finish({ database, embedder, clock }: ReembedOptions, lease: HeldLease): Promise<void> {
  await unlessLost(whileHeld(database, lease, (tx) => writeSetting(tx, settingKey, embedder.id, clock.now())));
}

/** Null when another process does it by now; whether anything is left shows at the next look. */
async function unlessLost<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isLeaseLost(error)) return null;
    throw error;
  }
}

function hold({ database, clock, holder }: ReembedOptions): Promise<HeldLease | null> {
  const now = clock.now();
  return holdLease(database, leaseName, { holder, until: new Date(now.getTime() + leaseMs), now });
}
