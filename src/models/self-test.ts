import { MemorydError } from '../base/errors.ts';
import type { Embedder, EmbedderReport } from './embedder.ts';
import { measureRelatedness, relatedThreshold } from './related-texts.ts';
import { dotProduct } from './vector.ts';

export type SelfCheck = EmbedderReport['checks'][number];

const requiredUnitLengthError = 1e-3;
const throughputTexts = 64;

/** Runs a check and turns what it throws into a failed line. */
export async function runCheck(name: string, check: () => Promise<Omit<SelfCheck, 'name'>>): Promise<SelfCheck> {
  try {
    return { name, ...(await check()) };
  } catch (error) {
    return { name, ok: false, detail: describeFailure(error) };
  }
}

function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure';
  return MemorydError.is(error) && error.details ? `${error.message} ${error.details}` : error.message;
}

/** One vector per text, of the promised length, scaled to 1. */
export function checkShape(embedder: Embedder): Promise<SelfCheck> {
  return runCheck('vectors', async () => {
    const vectors = await embedder.embed(['The first text.', 'And a second one.']);
    const sizes = vectors.map((vector) => vector.length);
    const lengths = vectors.map((vector) => Math.sqrt(dotProduct(vector, vector)));
    const ok =
      sizes.every((size) => size === embedder.dimensions) &&
      lengths.every((length) => Math.abs(length - 1) < requiredUnitLengthError);
    return {
      ok,
      detail: `${sizes.join(' and ')} dimensions, of length ${lengths.map((length) => length.toFixed(4)).join(' and ')}`,
    };
  });
}

/** Related texts score above unrelated ones, and `relatedAt` stands between them. */
export function checkMeaning(embedder: Embedder): Promise<SelfCheck> {
  return runCheck('meaning', async () => {
    const cosines = await measureRelatedness((texts, options) => embedder.embed(texts, options));
    const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    const [related, unrelated] = [mean(cosines.related), mean(cosines.unrelated)];
    const figures = [related, unrelated, embedder.relatedAt, relatedThreshold(cosines)].map((value) =>
      value.toFixed(2),
    );
    return {
      ok: related > embedder.relatedAt && embedder.relatedAt > unrelated,
      detail: `related pairs ${figures[0]}, unrelated pairs ${figures[1]}; counted as related from ${figures[2]} (measured ${figures[3]})`,
    };
  });
}

/** For people to read; it fails only when embedding does. */
export function checkThroughput(embedder: Embedder): Promise<SelfCheck> {
  return runCheck('throughput', async () => {
    const texts = Array.from(
      { length: throughputTexts },
      (_, index) => `Sentence ${index} says how fast this model reads.`,
    );
    const startedAt = performance.now();
    await embedder.embed(texts);
    const perSecond = (texts.length * 1000) / (performance.now() - startedAt);
    return { ok: true, detail: `${perSecond.toPrecision(2)} short sentences per second` };
  });
}
