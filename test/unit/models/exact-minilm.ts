import { dequantize, type QuantizedWeight } from '../../../src/models/minilm/weights.ts';

/**
 * all-MiniLM-L6-v2 computed the plain way in double precision, straight from the weights: shares
 * no code with the ONNX graph, so the two check each other. Slow; for short texts.
 */
type Matrix = Float64Array[];

const model = 'StatefulPartitionedCall/model/tf_bert_model/bert/';
const headCount = 12;

export function computeExactVector(
  weights: ReadonlyMap<string, QuantizedWeight>,
  tokenIds: readonly number[],
): Float64Array {
  const values = (name: string): Float32Array => dequantize(weights.get(name)!);
  const row = (table: QuantizedWeight, index: number): Float32Array => {
    const width = table.shape[1]!;
    return dequantize({ ...table, bytes: table.bytes.subarray(index * width, (index + 1) * width) });
  };
  const layerNorm = (input: Matrix, name: string): Matrix => {
    const gain = values(`${model}${name}/batchnorm/mul/ReadVariableOp`);
    const shift = values(`${model}${name}/batchnorm/ReadVariableOp`);
    return input.map((vector) => {
      const mean = vector.reduce((sum, value) => sum + value, 0) / vector.length;
      const variance = vector.reduce((sum, value) => sum + (value - mean) ** 2, 0) / vector.length;
      return vector.map(
        (value, index) => ((value - mean) / Math.sqrt(variance + 1e-12)) * gain[index]! + shift[index]!,
      );
    });
  };
  const linear = (input: Matrix, name: string): Matrix => {
    const matrix = values(`${model}${name}/Tensordot/ReadVariableOp`);
    const bias = values(`${model}${name}/BiasAdd/ReadVariableOp`);
    return input.map((vector) => {
      const output = Float64Array.from(bias);
      for (const [from, value] of vector.entries()) {
        for (let to = 0; to < output.length; to++) output[to]! += value * matrix[from * output.length + to]!;
      }
      return output;
    });
  };

  const [words, positions, types] = ['unknown', 'unknown_0', 'unknown_1'].map((name) => weights.get(name)!);
  const embedded = tokenIds.map((id, position) => {
    const [word, place, type] = [row(words!, id), row(positions!, position), row(types!, 0)];
    return Float64Array.from(word, (value, index) => value + place[index]! + type[index]!);
  });
  let hidden = layerNorm(embedded, 'embeddings/LayerNorm');
  for (let layer = 0; layer < 6; layer++) {
    const name = `encoder/layer_._${layer}`;
    const [query, key, value] = ['query', 'key', 'value'].map((part) =>
      linear(hidden, `${name}/attention/self/${part}`),
    );
    const mixed = linear(attend(query!, key!, value!), `${name}/attention/output/dense`);
    const attended = layerNorm(add(mixed, hidden), `${name}/attention/output/LayerNorm`);
    const wide = linear(attended, `${name}/intermediate/dense`).map((vector) => vector.map(gelu));
    hidden = layerNorm(add(linear(wide, `${name}/output/dense`), attended), `${name}/output/LayerNorm`);
  }
  return unitMean(hidden);
}

function attend(query: Matrix, key: Matrix, value: Matrix): Matrix {
  const width = query[0]!.length / headCount;
  return query.map((asking) => {
    const output = new Float64Array(asking.length);
    for (let head = 0; head < headCount; head++) {
      const from = head * width;
      const part = (vector: Float64Array): Float64Array => vector.subarray(from, from + width);
      const scores = key.map((asked) => dot(part(asking), part(asked)) / Math.sqrt(width));
      const top = Math.max(...scores);
      const shares = scores.map((score) => Math.exp(score - top));
      const total = shares.reduce((sum, share) => sum + share, 0);
      for (const [token, share] of shares.entries()) {
        for (let index = from; index < from + width; index++) output[index]! += (share / total) * value[token]![index]!;
      }
    }
    return output;
  });
}

function dot(left: Float64Array, right: Float64Array): number {
  return left.reduce((sum, value, index) => sum + value * right[index]!, 0);
}

function add(left: Matrix, right: Matrix): Matrix {
  return left.map((vector, token) => vector.map((value, index) => value + right[token]![index]!));
}

function gelu(value: number): number {
  return 0.5 * value * (1 + errorFunction(value / Math.SQRT2));
}

/** The Maclaurin series of erf, exact to double precision where it has not yet reached ±1. */
function errorFunction(value: number): number {
  if (Math.abs(value) > 5) return Math.sign(value);
  let term = value;
  let sum = value;
  for (let step = 1; Math.abs(term) > 1e-17; step++) {
    term *= -(value * value) / step;
    sum += term / (2 * step + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

function unitMean(rows: Matrix): Float64Array {
  const mean = rows[0]!.map((_, index) => rows.reduce((sum, row) => sum + row[index]!, 0) / rows.length);
  const length = Math.sqrt(dot(mean, mean));
  return mean.map((value) => value / length);
}
