import { describe, expect, it } from 'vitest';
import { createCallQueue, type Bundle } from '../../../src/models/worker/call-queue.ts';

/** Each text is as many tokens as it has characters, and its vector is its length. */
function createQueue() {
  const queue = createCallQueue({ encode: (text) => new Int32Array(text.length), bundleTokens: 10 });
  const answer = (bundle: Bundle | null): number[] => {
    const lengths = bundle!.sequences.map((sequence) => sequence.length);
    bundle!.resolve(lengths.map((length) => Float32Array.of(length)));
    return lengths;
  };
  return { queue, answer };
}

const asLengths = (vectors: Float32Array[]): number[] => vectors.map((vector) => vector[0]!);

describe('call queue', () => {
  it('fills a bundle across calls until its tokens are reached', async () => {
    const { queue, answer } = createQueue();
    const first = queue.add(['aaaa', 'bbb'], 'document');
    const second = queue.add(['cc', 'dddd', 'e'], 'document');
    expect(answer(queue.take())).toEqual([4, 3, 2, 4]);
    expect(asLengths(await first)).toEqual([4, 3]);
    expect(queue.hasWork()).toBe(true);
    expect(answer(queue.take())).toEqual([1]);
    expect(asLengths(await second)).toEqual([2, 4, 1]);
    expect([queue.hasWork(), queue.take()]).toEqual([false, null]);
  });

  it('puts vectors in the order of the texts, whichever bundle comes back first', async () => {
    const { queue, answer } = createQueue();
    const call = queue.add(['a'.repeat(10), 'b'.repeat(11), 'c'.repeat(12)], 'document');
    const bundles = [queue.take(), queue.take(), queue.take()];
    for (const bundle of bundles.toReversed()) answer(bundle);
    expect(asLengths(await call)).toEqual([10, 11, 12]);
  });

  it('lets no call wait for the rest of a longer one that came before', async () => {
    const { queue, answer } = createQueue();
    const ended: string[] = [];
    const add = (name: string, texts: string[]) => queue.add(texts, 'document').then(() => ended.push(name));
    const calls = [add('huge', Array<string>(100).fill('a'.repeat(10))), add('small', ['bb']), add('other', ['cc'])];
    for (let taken = 0; taken < 4; taken++) answer(queue.take());
    await expect.poll(() => ended).toEqual(['small', 'other']);
    while (queue.hasWork()) answer(queue.take());
    await Promise.all(calls);
    expect(ended).toEqual(['small', 'other', 'huge']);
  });

  it('takes queries first, and does not mix them with documents', async () => {
    const { queue, answer } = createQueue();
    const document = queue.add(['aaaa'], 'document');
    const query = queue.add(['bb'], 'query');
    expect(answer(queue.take())).toEqual([2]);
    expect(answer(queue.take())).toEqual([4]);
    expect(asLengths(await query)).toEqual([2]);
    expect(asLengths(await document)).toEqual([4]);
  });

  it('drops what has not started when the signal aborts', async () => {
    const { queue, answer } = createQueue();
    const controller = new AbortController();
    const call = queue.add(['a'.repeat(10), 'b'.repeat(10), 'c'.repeat(10)], 'document', controller.signal);
    const other = queue.add(['dd'], 'document');
    const running = queue.take();
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    answer(running);
    expect(answer(queue.take())).toEqual([2]);
    expect(asLengths(await other)).toEqual([2]);
    expect(queue.take()).toBeNull();
  });

  it('fails only the calls that a failed bundle belongs to, as a whole', async () => {
    const { queue, answer } = createQueue();
    const failing = queue.add(['a'.repeat(10), 'b'.repeat(10)], 'document');
    const other = queue.add(['cc'], 'document');
    queue.take()!.reject(new Error('broken'));
    await expect(failing).rejects.toThrow('broken');
    expect(answer(queue.take())).toEqual([2]);
    expect(asLengths(await other)).toEqual([2]);
  });

  it('fails all that waits', async () => {
    const { queue } = createQueue();
    const calls = [queue.add(['a'], 'document'), queue.add(['b'], 'query'), queue.add(['c'], 'document')];
    queue.rejectAll(new Error('closed'));
    for (const call of calls) await expect(call).rejects.toThrow('closed');
    expect(queue.hasWork()).toBe(false);
  });
});
