import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism, constants, getPriority, platform } from 'node:os';
import { describe, expect, it } from 'vitest';
import { findModelFolder, readModelFile } from '../../../src/models/minilm/files.ts';
import type { Arithmetic } from '../../../src/models/minilm/graph.ts';
import { createMinilmEmbedder } from '../../../src/models/minilm/minilm-embedder.ts';
import { compareWithReference, openMinilm } from '../../../src/models/minilm/open-minilm.ts';
import { referenceSentences } from '../../../src/models/minilm/reference.ts';
import { readWeights } from '../../../src/models/minilm/weights.ts';
import { loadRuntime, type InferenceRuntime } from '../../../src/models/worker/runtime.ts';
import { measureRelatedness, relatedThreshold } from '../../../src/models/related-texts.ts';
import { computeExactVector } from './exact-minilm.ts';

const folder = findModelFolder();

/** A library whose first model answers as a processor that saturates would: numbers, but wrong ones. */
function saturateFirst(runtime: InferenceRuntime): InferenceRuntime & { opened: number } {
  const wrapper = {
    ...runtime,
    opened: 0,
    async open(...parameters: Parameters<InferenceRuntime['open']>) {
      const session = await runtime.open(...parameters);
      if (wrapper.opened++ > 0) return session;
      const run: typeof session.run = async (feeds: Parameters<typeof session.run>[0]) => {
        const results = await session.run(feeds);
        const values = results['sentence_embedding']!.data as Float32Array;
        values.forEach((value, index) => (values[index] = Math.max(value, -0.02)));
        return results;
      };
      return { ...session, outputNames: session.outputNames, run, release: () => session.release() };
    },
  };
  return wrapper;
}

describe('MiniLM', () => {
  it('has reference vectors that follow from the weights', { timeout: 60_000 }, () => {
    const weights = readWeights(readModelFile(folder, 'graph').toString('utf8'), readModelFile(folder, 'weights'));
    for (const { tokenIds, vectorStart } of referenceSentences) {
      const exact = computeExactVector(weights, tokenIds);
      for (const [index, value] of vectorStart.entries()) expect(value).toBeCloseTo(exact[index]!, 4);
    }
  });

  it.each<[Arithmetic, 'onnxruntime-node' | 'onnxruntime-web', number]>([
    ['fp32', 'onnxruntime-node', 0.99999],
    ['u8u8', 'onnxruntime-node', 0.99],
    ['fp32', 'onnxruntime-web', 0.99999],
    ['u8u8', 'onnxruntime-web', 0.99],
    ['u8s8', 'onnxruntime-web', 0.99],
  ])('reproduces them in %s on %s', { timeout: 30_000 }, async (arithmetic, name, required) => {
    const model = await openMinilm(folder, [arithmetic], await loadRuntime(name));
    for (const cosine of await compareWithReference(model)) expect(cosine).toBeGreaterThan(required);
    await model.release();
  });

  it('takes the next arithmetic when one does not reproduce them', { timeout: 30_000 }, async () => {
    const runtime = saturateFirst(await loadRuntime('auto'));
    const model = await openMinilm(folder, ['u8s8', 'u8u8'], runtime);
    expect(runtime.opened).toBe(2);
    expect(model.checks).toEqual([{ name: 'self-test', ok: true, detail: expect.stringMatching(/^u8u8: .*0\.99/) }]);
    await model.release();
    await expect(openMinilm(folder, ['u8s8'], saturateFirst(runtime))).rejects.toMatchObject({
      code: 'model_unavailable',
      details: expect.stringMatching(/^u8s8: cosines/),
    });
  });

  it('computes in threads that let those go first that answer requests, where the system can', async () => {
    const embedder = createMinilmEmbedder();
    await embedder.embed(['a text']);
    const threads = platform() === 'linux' ? readdirSync('/proc/self/task').map(Number) : [];
    // Nothing is lower than the lowest, also where the whole process is low already.
    const low = Math.min(getPriority(process.pid) + 10, constants.priority.PRIORITY_LOW);
    const stepped = threads.filter((thread) => existsSync(`/proc/self/task/${thread}`) && getPriority(thread) === low);
    expect(stepped.length > 0).toBe(platform() === 'linux');
    await embedder.close();
  });

  it('finds a query closer to the text that answers it, whatever else stands around the answer', async () => {
    const embedder = createMinilmEmbedder();
    const answer = 'Our cat was asleep. The spare key of the boat is kept in the blue jar by the stove.';
    const texts = [answer, 'Boats are kept in the harbour. Cats like jars.', 'The stove was repaired in May.'];
    const scores = await embedder.reranker!.score('Where is the key to the boat?', texts);
    expect(scores).toEqual(scores.map(() => expect.any(Number)));
    expect(Math.max(...scores)).toBe(scores[0]);
    const short = 'The spare key of the boat is in the blue jar.';
    const [same, empty] = await embedder.reranker!.score(short, [short, '']);
    expect(same).toBeCloseTo(1, 2);
    expect(empty).toBe(0);
    expect(await embedder.reranker!.score('key', [])).toEqual([]);
    // Beside ordinary work: answers are not mixed up.
    const [vectors, again] = await Promise.all([
      embedder.embed(texts),
      embedder.reranker!.score('Where is the key to the boat?', texts),
      embedder.reranker!.score('What do cats like?', texts),
    ]);
    expect(vectors.map(({ length }) => length)).toEqual([384, 384, 384]);
    expect(again).toEqual(scores);
    await embedder.close();
  });

  it('keeps the threshold that its known pairs give', { timeout: 30_000 }, async () => {
    const embedder = createMinilmEmbedder();
    const measured = relatedThreshold(await measureRelatedness((texts, options) => embedder.embed(texts, options)));
    expect(Math.abs(embedder.relatedAt - measured)).toBeLessThan(0.03);
    await embedder.close();
  });

  it('passes its whole self-test', { timeout: 30_000 }, async () => {
    const embedder = createMinilmEmbedder();
    const report = await embedder.verify();
    expect(report).toMatchObject({ id: 'minilm-l6-v2', runtime: 'onnxruntime-node', ok: true });
    const names = ['files', 'tokenizer', 'runtime', 'self-test', 'vectors', 'meaning', 'throughput'];
    expect(report.checks.map((check) => check.name)).toEqual(names);
    await embedder.close();
  });

  it('cuts at 256 tokens and not before', { timeout: 30_000 }, async () => {
    const embedder = createMinilmEmbedder({ threads: 1 });
    const word = (count: number): string => 'team '.repeat(count);
    const [full, longer, shorter] = await embedder.embed([word(256), word(256) + 'call '.repeat(50), word(255)]);
    expect(longer).toEqual(full);
    expect(shorter).not.toEqual(full);
    await embedder.close();
  });

  it('has no more threads than it is told', () => {
    expect(() => createMinilmEmbedder({ threads: 0 })).toThrow('must be 1 or more');
    expect(() => createMinilmEmbedder({ threads: 1.5 })).toThrow('must be 1 or more');
    expect(() => createMinilmEmbedder({ threads: availableParallelism() })).not.toThrow();
  });
});
