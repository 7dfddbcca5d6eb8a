/** Vectors of texts by their places, with the length of each; 0 stands for no direction and for no vector. */
interface Vectors {
  set(place: number, vector: Float32Array | null): void;
  /** The cosine with each of the first `count` vectors; NaN where there is none. */
  cosines(query: Float32Array, count: number): Float64Array;
}

/** `products.wat`, compiled: it multiplies four numbers at a time, which JavaScript cannot. */
export const productsModule =
  'AGFzbQEAAAABCQFgBX9/f39/AAMCAQAFAwEAAQcVAgZtZW1vcnkCAAhwcm9kdWN0cwAACsABAb0BAgJ/AnsCQANAIANFDQH9DAAAAAAAAAAAAAAAAAAA' +
  'AAAhB/0MAAAAAAAAAAAAAAAAAAAAACEIIAEhBiABIAJqIQUDQCAHIAD9AAQAIAb9AAQA/eYB/eQBIQcgCCAA/QAEECAG/QAEEP3mAf3kASEIIABBIGoh' +
  'ACAGQSBqIQYgBiAFSQ0ACyAHIAj95AEhByAEIAf9HwAgB/0fAZIgB/0fAiAH/R8DkpI4AgAgBEEEaiEEIANBAWshAwwACwsL';

/** Of the runtime; the types of Node.js leave it to those of browsers. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (compiled: object) => { exports: object };
};

interface Products {
  memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  products(vectors: number, query: number, bytes: number, count: number, results: number): void;
}

let compiled: object | undefined;

function newProducts(): Products {
  compiled ??= new WebAssembly.Module(Buffer.from(productsModule, 'base64'));
  return new WebAssembly.Instance(compiled).exports as Products;
}

const pageBytes = 65_536;
/** Vectors that are multiplied in one call. */
const blockSize = 4_096;

export function createVectors(dimensions: number): Vectors {
  const { memory, products } = newProducts();
  // The query comes first, then the results of a block, then the vectors; what fills a vector up is 0.
  const bytes = Math.ceil(dimensions / 8) * 32;
  const resultsAt = bytes;
  const vectorsAt = resultsAt + blockSize * 4;
  let lengths = new Float64Array(256);

  function makeRoom(place: number): void {
    const missing = vectorsAt + (place + 1) * bytes - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(Math.max(missing, memory.buffer.byteLength / 4) / pageBytes));
    if (place < lengths.length) return;
    const longer = new Float64Array(2 * place);
    longer.set(lengths);
    lengths = longer;
  }

  return {
    set(place, vector) {
      makeRoom(place);
      const isUsable = vector?.length === dimensions;
      if (isUsable) new Float32Array(memory.buffer, vectorsAt + place * bytes, dimensions).set(vector);
      lengths[place] = isUsable ? lengthOf(vector) : 0;
    },
    cosines(query, count) {
      const length = lengthOf(query);
      const found = new Float64Array(count);
      makeRoom(0);
      new Float32Array(memory.buffer, 0, dimensions).set(query);
      const results = new Float32Array(memory.buffer, resultsAt, blockSize);
      for (let start = 0; start < count; start += blockSize) {
        const size = Math.min(blockSize, count - start);
        products(vectorsAt + start * bytes, 0, bytes, size, resultsAt);
        for (let index = 0; index < size; index++) {
          const own = lengths[start + index]!;
          // Divided by zero it is no number, as in the database.
          found[start + index] = own === 0 ? NaN : results[index]! / (own * length);
        }
      }
      return found;
    },
  };
}

function lengthOf(vector: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < vector.length; index++) sum += vector[index]! * vector[index]!;
  return Math.sqrt(sum);
}

/** The places of the highest numbers, best first; NaN counts as none. Equal ones come in the order of `ids`. */
export function highest(numbers: Float64Array, limit: number, idOf: (place: number) => string): number[] {
  const least = leastOfHighest(numbers, limit);
  const places: number[] = [];
  for (let place = 0; place < numbers.length; place++) if (numbers[place]! >= least) places.push(place);
  const byId = (a: number, b: number) => (idOf(a) < idOf(b) ? -1 : 1);
  return places.sort((a, b) => numbers[b]! - numbers[a]! || byId(a, b)).slice(0, limit);
}

/** Sorts only what is above the least of the highest so far, some at a time. */
function leastOfHighest(numbers: Float64Array, limit: number): number {
  const kept = new Float64Array(4 * limit);
  let [size, least] = [0, -Infinity];
  for (let place = 0; place < numbers.length; place++) {
    if (!(numbers[place]! > least)) continue;
    kept[size++] = numbers[place]!;
    if (size < kept.length) continue;
    kept.sort().copyWithin(0, size - limit);
    size = limit;
    least = kept[0]!;
  }
  return kept.subarray(0, size).sort()[size - limit] ?? -Infinity;
}
