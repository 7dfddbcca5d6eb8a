import { createMinilmEmbedder, type MinilmOptions } from '../src/models/minilm/minilm-embedder.ts';
import type { Embedder } from '../src/models/embedder.ts';
import { createTokenCounter } from '../src/models/token-counting.ts';

export interface EmbedFigures {
  /** From creation to the first vector. */
  firstVectorMs: number;
  /** Sentences of 12 tokens. */
  sentencesPerSecond: number;
  sentenceCpuMs: number;
  /** Chunks of 200 tokens. */
  chunksPerSecond: number;
  chunkCpuMs: number;
  /** One query of about 10 tokens at a time, nothing else running. */
  queryP50Ms: number;
  /** The same while documents are embedded without a pause. */
  busyQueryP50Ms: number;
  busyQueryP95Ms: number;
  residentMb: number;
}

export interface EmbedBenchOptions extends MinilmOptions {
  /** How long each figure is measured. Default 3,000. */
  durationMs?: number;
}

const sentenceTokens = 12;
const chunkTokens = 200;
const textsPerCall = 64;

/** Speed of the default embedder on this machine. */
export async function benchEmbed({ durationMs = 3_000, ...options }: EmbedBenchOptions = {}): Promise<EmbedFigures> {
  const startedAt = performance.now();
  const embedder = createMinilmEmbedder(options);
  try {
    await embedder.embed(['first']);
    const firstVectorMs = performance.now() - startedAt;
    const sentences = makeTexts(embedder, sentenceTokens);
    const chunks = makeTexts(embedder, chunkTokens);
    await embedder.embed(chunks);
    const sentence = await measureThroughput(embedder, sentences, durationMs);
    const chunk = await measureThroughput(embedder, chunks, durationMs);
    const idle = await measureQueries(embedder, durationMs);
    const busy = await measureQueriesWhileBusy(embedder, chunks, durationMs);
    return {
      firstVectorMs,
      sentencesPerSecond: sentence.perSecond,
      sentenceCpuMs: sentence.cpuMs,
      chunksPerSecond: chunk.perSecond,
      chunkCpuMs: chunk.cpuMs,
      queryP50Ms: quantile(idle, 0.5),
      busyQueryP50Ms: quantile(busy, 0.5),
      busyQueryP95Ms: quantile(busy, 0.95),
      residentMb: process.memoryUsage().rss / 1e6,
    };
  } finally {
    await embedder.close();
  }
}

/** Different texts of the same number of tokens, start and end tokens included. */
function makeTexts(embedder: Embedder, tokens: number): string[] {
  const words = 'the team moved our weekly planning call to monday because travel plans changed again'.split(' ');
  return Array.from({ length: textsPerCall }, (_, index) => {
    const picked = Array.from({ length: tokens - 2 }, (_, position) => words[(index + position * 3) % words.length]!);
    const text = picked.join(' ');
    if (createTokenCounter(embedder.tokens)(text) !== tokens - 2)
      throw new Error('A word of the sample is more than one token.');
    return text;
  });
}

async function measureThroughput(
  embedder: Embedder,
  texts: readonly string[],
  durationMs: number,
): Promise<{ perSecond: number; cpuMs: number }> {
  const [cpuBefore, startedAt] = [process.cpuUsage(), performance.now()];
  let count = 0;
  while (performance.now() - startedAt < durationMs) {
    await embedder.embed(texts);
    count += texts.length;
  }
  const elapsedMs = performance.now() - startedAt;
  const cpu = process.cpuUsage(cpuBefore);
  return { perSecond: (count * 1000) / elapsedMs, cpuMs: (cpu.user + cpu.system) / 1000 / count };
}

async function measureQueries(embedder: Embedder, durationMs: number): Promise<number[]> {
  const startedAt = performance.now();
  const times: number[] = [];
  for (let index = 0; performance.now() - startedAt < durationMs; index++) {
    const queryStartedAt = performance.now();
    await embedder.embed([`when did the team move call number ${index % 100}`], { kind: 'query' });
    times.push(performance.now() - queryStartedAt);
  }
  return times;
}

async function measureQueriesWhileBusy(
  embedder: Embedder,
  chunks: readonly string[],
  durationMs: number,
): Promise<number[]> {
  let done = false;
  const ingest = async (): Promise<void> => {
    while (!done) await embedder.embed(chunks);
  };
  const ingesting = Promise.all([ingest(), ingest()]);
  const times = await measureQueries(embedder, durationMs);
  done = true;
  await ingesting;
  return times;
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.floor(share * (values.length - 1))] ?? Number.NaN;
}

if (import.meta.main) {
  const figures = await benchEmbed(process.argv[2] === undefined ? {} : { threads: Number(process.argv[2]) });
  for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(20)} ${value.toFixed(2)}`);
}
