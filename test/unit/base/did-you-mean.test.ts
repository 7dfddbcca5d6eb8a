import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import wabt from 'wabt';
import { describe, expect, it } from 'vitest';
import { createVectors, highest, productsModule } from '../../../src/search/resident/nearest.ts';

const number = fc.integer({ min: -64, max: 64 }).map((value) => value / 64);

describe('nearest vectors', () => {
  it('are multiplied by the code that products.wat says', async () => {
    const path = new URL('../../../src/search/resident/products.wat', import.meta.url);
    const compiled = (await wabt()).parseWat('products.wat', await readFile(path), { simd: true }).toBinary({});
    expect(productsModule).toBe(Buffer.from(compiled.buffer).toString('base64'));
  });

  it('have the cosine with the query, whatever their number of dimensions', () => {
    const dimensions = fc.integer({ min: 1, max: 40 });
    const vectorOf = (size: number) =>
      fc.array(number, { minLength: size, maxLength: size }).map((all) => Float32Array.from(all));
    const world = dimensions.chain((size) => fc.tuple(fc.array(fc.option(vectorOf(size))), vectorOf(size)));
    fc.assert(
      fc.property(world, ([stored, query]) => {
        const vectors = createVectors(query.length);
        for (const [place, vector] of stored.entries()) vectors.set(place, vector);
        const cosines = vectors.cosines(query, stored.length);
        for (const [place, vector] of stored.entries()) {
          const expected = vector === null ? NaN : cosine(vector, query);
          if (Number.isNaN(expected)) expect(cosines[place]).toBeNaN();
          else expect(cosines[place]).toBeCloseTo(expected, 4);
        }
      }),
    );
  });

  it('are as many as were stored, in more than one block and after the room for them has grown', () => {
    const vectors = createVectors(384);
    const count = 9_000;
    const one = new Float32Array(384);
    for (let place = 0; place < count; place++) {
      one.fill(0);
      one[place % 384] = 1 + place;
      vectors.set(place, one);
    }
    vectors.set(5_000, null);
    const query = new Float32Array(384);
    query[7] = 2;
    const cosines = vectors.cosines(query, count);
    const found = [...cosines.entries()].filter(([, value]) => value > 0);
    expect(found).toEqual([...cosines.keys()].filter((place) => place % 384 === 7).map((place) => [place, 1]));
    expect(cosines[5_000]).toBeNaN();
  });

  it('are the highest, as sorting all of them finds', () => {
    const numbers = fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant(NaN)), { maxLength: 400 });
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 30 }), (values, limit) => {
        const idOf = (place: number) => String(place).padStart(4, '0');
        const sorted = [...values.keys()]
          .filter((place) => !Number.isNaN(values[place]))
          .toSorted((a, b) => values[b]! - values[a]! || a - b);
        expect(highest(Float64Array.from(values), limit, idOf)).toEqual(sorted.slice(0, limit));
      }),
    );
  });
});

function cosine(a: Float32Array, b: Float32Array): number {
  const product = (left: Float32Array, right: Float32Array) =>
    left.reduce((sum, value, index) => sum + value * right[index]!, 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
}
