/** A weight as the TensorFlow.js files hold it: value = scale × (byte − zeroPoint). Row-major. */
export interface QuantizedWeight {
  shape: readonly number[];
  bytes: Uint8Array;
  scale: number;
  /** Added after scaling: −scale × zeroPoint. */
  minimum: number;
  /** A whole number for every weight that holds a zero, which all matrices of this model do. */
  zeroPoint: number;
}

interface ManifestEntry {
  name: string;
  shape: number[];
  dtype: string;
  quantization?: { min: number; scale: number; dtype: string };
}

/**
 * The quantized weights of a TensorFlow.js graph model by name.
 *
 * @param manifest the text of `model.json`
 * @param data the bytes of its one shard; the weights stand in it one after another, unaligned
 */
export function readWeights(manifest: string, data: Uint8Array): Map<string, QuantizedWeight> {
  const { weightsManifest } = JSON.parse(manifest) as { weightsManifest: { weights: ManifestEntry[] }[] };
  const weights = new Map<string, QuantizedWeight>();
  let offset = 0;
  for (const { name, shape, quantization } of weightsManifest.flatMap((group) => group.weights)) {
    const length = shape.reduce((product, size) => product * size, 1);
    const byteLength = quantization ? length : length * 4;
    if (quantization) {
      const { scale, min: minimum } = quantization;
      const bytes = data.subarray(offset, offset + byteLength);
      weights.set(name, { shape, bytes, scale, minimum, zeroPoint: Math.round(-minimum / scale) });
    }
    offset += byteLength;
  }
  return weights;
}

/** The numbers themselves, as TensorFlow.js computes them. */
export function dequantize({ bytes, scale, minimum }: QuantizedWeight): Float32Array {
  const values = new Float32Array(bytes.length);
  for (let index = 0; index < values.length; index++) values[index] = bytes[index]! * scale + minimum;
  return values;
}
