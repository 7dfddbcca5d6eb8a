/** The oid of `float4`, the same in every database (pg_type.dat). */
const float4 = 700;
const headerBytes = 20;
/** Four bytes that say how long it is, and the number itself. */
const bytesPerNumber = 8;
/** A length of 4 as the processor writes the bytes 0, 0, 0, 4. */
const lengthWord = new Uint32Array(new Uint8Array([0, 0, 0, 4]).buffer)[0]!;
const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Vectors one behind the other. `starts[i]` and `ends[i]` are the bounds of the i-th, null where it is null. */
export interface VectorArray {
  /** A `float4[]` in PostgreSQL's binary format, which the driver sends as it is. */
  bytes: Buffer;
  /** One-based and inclusive, as in `array[start:end]`. */
  starts: (number | null)[];
  ends: (number | null)[];
}

/**
 * Many vectors as one array of numbers in binary: what reading and writing their texts costs is most
 * of what inserting them costs, on both sides.
 */
export function vectorArray(vectors: readonly (ArrayLike<number> | null)[]): VectorArray {
  const count = vectors.reduce((sum, vector) => sum + (vector?.length ?? 0), 0);
  const bytes = Buffer.from(new ArrayBuffer(headerBytes + count * bytesPerNumber));
  writeHeader(bytes, count);
  const words = new Uint32Array(bytes.buffer, headerBytes);
  const array: VectorArray = { bytes, starts: [], ends: [] };
  let end = 0;
  for (const vector of vectors) {
    array.starts.push(vector === null ? null : end + 1);
    if (vector !== null) end = writeNumbers(words, end, vector);
    array.ends.push(vector === null ? null : end);
  }
  return array;
}

/** Array of one dimension without nulls (array_recv in PostgreSQL's arrayfuncs.c); of none when it is empty. */
function writeHeader(bytes: Buffer, count: number): void {
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(0, 4);
  bytes.writeInt32BE(float4, 8);
  bytes.writeInt32BE(count, 12);
  bytes.writeInt32BE(1, 16);
}

/** Returns how many numbers there are now. */
function writeNumbers(words: Uint32Array, start: number, vector: ArrayLike<number>): number {
  const numbers = vector instanceof Float32Array ? vector : Float32Array.from(vector);
  const bits = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  for (let index = 0; index < bits.length; index++) {
    const word = 2 * (start + index);
    words[word] = lengthWord;
    words[word + 1] = isLittleEndian ? swapBytes(bits[index]!) : bits[index]!;
  }
  return start + bits.length;
}

function swapBytes(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}
