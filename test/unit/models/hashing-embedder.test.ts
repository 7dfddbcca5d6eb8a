import { describe, expect, it } from 'vitest';
import { createHashingEmbedder } from '../../../src/models/hashing-embedder.ts';
import { createTestClock } from '../../support/clock.ts';

describe('hashed words', () => {
  it('are the same on every machine', async () => {
    const [vector] = await createHashingEmbedder({ dimensions: 8 }).embed(['The cat, the hat']);
    const expected = [0, 0, -0.408248, 0, -0.816497, 0, 0, 0.408248];
    for (const [index, value] of expected.entries()) expect(vector![index]).toBeCloseTo(value, 5);
  });

  it('do not depend on order, case or punctuation', async () => {
    const [first, second] = await createHashingEmbedder().embed(['The cat sleeps.', 'sleeps THE: Cat']);
    expect(first).toEqual(second);
  });

  it('share one direction when there is no word', async () => {
    const vectors = await createHashingEmbedder().embed(['', '?!', '\ud800']);
    expect(new Set(vectors.map((vector) => vector.join())).size).toBe(1);
  });

  it('take as long as they are told', async () => {
    const clock = createTestClock();
    const embedder = createHashingEmbedder({ delayMs: 50, clock });
    let done = false;
    const call = embedder.embed(['a']).then(() => (done = true));
    clock.advance(49);
    await Promise.resolve();
    expect(done).toBe(false);
    clock.advance(1);
    await call;
    expect(done).toBe(true);
  });

  it('say what they are', async () => {
    const report = await createHashingEmbedder({ dimensions: 64 }).verify();
    expect(report).toMatchObject({ id: 'hashing:64', runtime: 'hashing', ok: true });
    expect(report.checks[0]!.detail).toContain('no model');
  });
});
