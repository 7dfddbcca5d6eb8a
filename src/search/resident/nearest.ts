/** Vectors of texts by their places, with the length of each; 0 stands for no direction and for no vector. */
interface Vectors {
  set(place: number, vector: Float32Array | null): void;
  /** The cosine with each of the first `count` vectors; NaN where there is none. */
  cosines(query: Float32Array, count: number): Float64Array;
}

export function createVectors(dimensions: number): Vectors {
  let numbers = new Float32Array(0);
  let lengths = new Float64Array(0);

  function grow(place: number): void {
    if (place < lengths.length) return;
    const size = Math.max(2 * lengths.length, place + 1, 256);
    const [moreNumbers, moreLengths] = [new Float32Array(size * dimensions), new Float64Array(size)];
    moreNumbers.set(numbers);
    moreLengths.set(lengths);
    [numbers, lengths] = [moreNumbers, moreLengths];
  }

  return {
    set(place, vector) {
      grow(place);
      const isUsable = vector?.length === dimensions;
      if (isUsable) numbers.set(vector, place * dimensions);
      lengths[place] = isUsable ? Math.sqrt(product(vector, 0, vector)) : 0;
    },
    cosines(query, count) {
      const length = Math.sqrt(product(query, 0, query));
      const found = new Float64Array(count);
      for (let place = 0; place < count; place++) {
        // Divided by zero it is no number, as in the database.
        found[place] =
          lengths[place] === 0 ? NaN : product(numbers, place * dimensions, query) / (lengths[place]! * length);
      }
      return found;
    },
  };
}

/** In four sums, which the processor adds side by side. */
function product(numbers: Float32Array, start: number, query: Float32Array): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  const whole = query.length - (query.length % 4);
  for (let index = 0; index < whole; index += 4) {
    const at = start + index;
    a += numbers[at]! * query[index]!;
    b += numbers[at + 1]! * query[index + 1]!;
    c += numbers[at + 2]! * query[index + 2]!;
    d += numbers[at + 3]! * query[index + 3]!;
  }
  for (let index = whole; index < query.length; index++) a += numbers[start + index]! * query[index]!;
  return a + b + c + d;
}

/** The places of the highest numbers, best first; NaN counts as none. Equal ones come in the order of `ids`. */
export function highest(numbers: Float64Array, limit: number, idOf: (place: number) => string): number[] {
  const sorted = numbers.filter((number) => !Number.isNaN(number)).sort();
  const least = sorted[Math.max(sorted.length - limit, 0)] ?? Infinity;
  const places: number[] = [];
  for (let place = 0; place < numbers.length; place++) if (numbers[place]! >= least) places.push(place);
  const byId = (a: number, b: number) => (idOf(a) < idOf(b) ? -1 : 1);
  return places.sort((a, b) => numbers[b]! - numbers[a]! || byId(a, b)).slice(0, limit);
}
