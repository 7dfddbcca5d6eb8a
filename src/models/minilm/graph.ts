import type { Attribute, ElementType, OnnxGraph, OnnxNode, OnnxTensor } from '../onnx/model-bytes.ts';
import { dequantize, type QuantizedWeight } from './weights.ts';

/**
 * How the matrix products are computed. `u8s8` and `u8u8` quantize the activations on the fly and
 * multiply whole numbers: the same result, at different speed, except that u8s8 saturates on x86
 * processors without VNNI. `fp32` is exact and several times slower.
 */
export type Arithmetic = 'u8s8' | 'u8u8' | 'fp32';

export const hiddenSize = 384;
const maxPositions = 512;
const layerCount = 6;
const headCount = 12;
const layerNormEpsilon = 1e-12;
const microsoft = 'com.microsoft';
const model = 'StatefulPartitionedCall/model/tf_bert_model/bert/';

type Weights = ReadonlyMap<string, QuantizedWeight>;

/** Layers after which the vectors of tokens are compared: after all six they tell no more, and take longer. */
const comparedLayers = 4;

/**
 * all-MiniLM-L6-v2 as an ONNX graph for one text at a time: `input_ids` int32 [1, tokens] gives
 * `sentence_embedding` float32 [1, 384], the mean of its tokens' vectors, not of unit length.
 *
 * One text per run has no padding, hence no mask, and its vector depends on nothing but the text:
 * the ranges of quantized activations would otherwise be those of a whole batch.
 */
export function buildMinilmGraph(weights: Weights, arithmetic: Arithmetic): OnnxGraph {
  const graph = createGraphBuilder(weights, arithmetic);
  const hidden = addLayers(graph, layerCount);
  graph.node('ReduceMean', [hidden], 'sentence_embedding', { axes: [1], keepdims: 0 });
  return {
    nodes: graph.nodes,
    constants: graph.constants,
    inputs: [{ name: 'input_ids', elementType: 'int32', shape: [1, 'tokens'] }],
    outputs: [{ name: 'sentence_embedding', elementType: 'float32', shape: [1, hiddenSize] }],
  };
}

/**
 * The lower layers of the model, which compare the tokens of a text with those of a question. `input_ids` gives
 * `token_embeddings` float32 [1, tokens, 384], of unit length, without the tokens that frame the text. With the
 * question's, `question` float32 [1, asked, 384], it gives `nearest` float32 [1, asked]: the greatest cosine of each.
 */
export function buildComparingGraph(weights: Weights, arithmetic: Arithmetic): OnnxGraph {
  const graph = createGraphBuilder(weights, arithmetic);
  const hidden = addLayers(graph, comparedLayers);
  graph.constant('first', 'int64', [1], BigInt64Array.of(1n));
  graph.constant('last', 'int64', [1], BigInt64Array.of(-1n));
  graph.node('Slice', [hidden, 'first', 'last', 'first'], 'unframed');
  graph.node('LpNormalization', ['unframed'], 'token_embeddings', { axis: -1, p: 2 });
  graph.node('Transpose', ['question'], 'question_columns', { perm: [0, 2, 1] });
  graph.node('MatMul', ['token_embeddings', 'question_columns'], 'cosines');
  graph.node('ReduceMax', ['cosines'], 'nearest', { axes: [1], keepdims: 0 });
  return {
    nodes: graph.nodes,
    constants: graph.constants,
    inputs: [
      { name: 'input_ids', elementType: 'int32', shape: [1, 'tokens'] },
      { name: 'question', elementType: 'float32', shape: [1, 'asked', hiddenSize] },
    ],
    outputs: [
      { name: 'token_embeddings', elementType: 'float32', shape: [1, 'told', hiddenSize] },
      { name: 'nearest', elementType: 'float32', shape: [1, 'asked'] },
    ],
  };
}

type GraphBuilder = ReturnType<typeof createGraphBuilder>;

function createGraphBuilder(weights: Weights, arithmetic: Arithmetic) {
  const nodes: OnnxNode[] = [];
  const constants: OnnxTensor[] = [];
  return {
    nodes,
    constants,
    arithmetic,
    weight(name: string): QuantizedWeight {
      const weight = weights.get(name);
      if (!weight) throw new Error(`The model has no weight "${name}".`);
      return weight;
    },
    node(type: string, inputs: readonly string[], output: string, attributes: Record<string, Attribute> = {}): string {
      nodes.push({ type, inputs, outputs: [output], attributes });
      return output;
    },
    fused(type: string, inputs: readonly string[], output: string, attributes: Record<string, Attribute> = {}): string {
      nodes.push({ type, inputs, outputs: [output], attributes, domain: microsoft });
      return output;
    },
    constant(name: string, elementType: ElementType, shape: readonly number[], data: NodeJS.ArrayBufferView): string {
      const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
      constants.push({ name, elementType, shape, data: bytes });
      return name;
    },
    /** Splits activations into bytes, scale and zero point, found from their range. */
    quantizeActivations(input: string): { bytes: string; scale: string; zeroPoint: string } {
      const [bytes, scale, zeroPoint] = [`${input}.bytes`, `${input}.scale`, `${input}.zero`] as const;
      nodes.push({ type: 'DynamicQuantizeLinear', inputs: [input], outputs: [bytes, scale, zeroPoint] });
      return { bytes, scale, zeroPoint };
    },
  };
}

/** Word, position and token type; the word table stays in bytes, only the rows needed are dequantized. */
function addEmbeddings(graph: GraphBuilder): string {
  const words = graph.weight('unknown');
  graph.constant('words', 'uint8', words.shape, words.bytes);
  graph.constant('words.scale', 'float32', [], Float32Array.of(words.scale));
  graph.constant('words.zero', 'uint8', [], Uint8Array.of(words.zeroPoint));
  graph.constant('positions', 'float32', [maxPositions, hiddenSize], positionTable(graph));
  graph.constant('zero', 'int64', [1], BigInt64Array.of(0n));
  graph.node('Gather', ['words', 'input_ids'], 'word_bytes');
  graph.node('DequantizeLinear', ['word_bytes', 'words.scale', 'words.zero'], 'word');
  graph.node('Shape', ['input_ids'], 'length', { start: 1 });
  graph.node('Slice', ['positions', 'zero', 'length', 'zero'], 'position');
  graph.node('Add', ['word', 'position'], 'embedded');
  return addLayerNorm(graph, 'embedded', `${model}embeddings/LayerNorm`, 'hidden');
}

/** Every token is of type 0, so its row is added to the positions once. */
function positionTable(graph: GraphBuilder): Float32Array {
  const tokenTypes = dequantize(graph.weight('unknown_1'));
  return dequantize(graph.weight('unknown_0')).map((value, index) => value + tokenTypes[index % hiddenSize]!);
}

function addLayers(graph: GraphBuilder, count: number): string {
  let hidden = addEmbeddings(graph);
  for (let layer = 0; layer < count; layer++) hidden = addLayer(graph, layer, hidden);
  return hidden;
}

function addLayer(graph: GraphBuilder, layer: number, input: string): string {
  const prefix = `${model}encoder/layer_._${layer}/`;
  const name = (part: string): string => `layer${layer}.${part}`;
  const attention = addAttention(graph, prefix, input, name('attention'));
  const mixed = addLinear(graph, attention, `${prefix}attention/output/dense`, name('mixed'));
  graph.node('Add', [mixed, input], name('mixed.sum'));
  const attended = addLayerNorm(graph, name('mixed.sum'), `${prefix}attention/output/LayerNorm`, name('attended'));
  const wide = addLinear(graph, attended, `${prefix}intermediate/dense`, name('wide'));
  graph.fused('Gelu', [wide], name('wide.gelu'));
  const narrow = addLinear(graph, name('wide.gelu'), `${prefix}output/dense`, name('narrow'));
  graph.node('Add', [narrow, attended], name('narrow.sum'));
  return addLayerNorm(graph, name('narrow.sum'), `${prefix}output/LayerNorm`, name('hidden'));
}

function addLayerNorm(graph: GraphBuilder, input: string, weights: string, output: string): string {
  const gain = dequantize(graph.weight(`${weights}/batchnorm/mul/ReadVariableOp`));
  const shift = dequantize(graph.weight(`${weights}/batchnorm/ReadVariableOp`));
  graph.constant(`${output}.gain`, 'float32', [hiddenSize], gain);
  graph.constant(`${output}.shift`, 'float32', [hiddenSize], shift);
  const epsilon = { float: layerNormEpsilon };
  return graph.node('LayerNormalization', [input, `${output}.gain`, `${output}.shift`], output, { epsilon });
}

/** Multi-head self-attention; query, key and value weights side by side in one matrix. */
function addAttention(graph: GraphBuilder, prefix: string, input: string, output: string): string {
  const parts = ['query', 'key', 'value'].map((part) => `${prefix}attention/self/${part}`);
  const { matrix, bias } = addWeights(graph, parts, output);
  const heads = { num_heads: headCount };
  if (graph.arithmetic === 'fp32') return graph.fused('Attention', [input, matrix, bias], output, heads);
  const { bytes, scale, zeroPoint } = graph.quantizeActivations(input);
  const inputs = [bytes, matrix, bias, scale, `${matrix}.scale`, '', zeroPoint, `${matrix}.zero`];
  return graph.fused('QAttention', inputs, output, heads);
}

function addLinear(graph: GraphBuilder, input: string, weights: string, output: string): string {
  const { matrix, bias } = addWeights(graph, [weights], output);
  if (graph.arithmetic === 'fp32') {
    graph.node('MatMul', [input, matrix], `${output}.product`);
    return graph.node('Add', [`${output}.product`, bias], output);
  }
  const { bytes, scale, zeroPoint } = graph.quantizeActivations(input);
  const inputs = [bytes, matrix, scale, `${matrix}.scale`, zeroPoint, `${matrix}.zero`, bias];
  return graph.fused('MatMulIntegerToFloat', inputs, output);
}

/** Matrices of the same input put side by side: [rows, sum of columns], each column with its own scale. */
function addWeights(graph: GraphBuilder, names: readonly string[], output: string): { matrix: string; bias: string } {
  const weights = names.map((name) => graph.weight(`${name}/Tensordot/ReadVariableOp`));
  const biases = names.flatMap((name) => [...dequantize(graph.weight(`${name}/BiasAdd/ReadVariableOp`))]);
  const matrix = `${output}.matrix`;
  const bias = graph.constant(`${output}.bias`, 'float32', [biases.length], Float32Array.from(biases));
  const shape = [weights[0]!.shape[0]!, biases.length];
  const columns = weights.map((weight) => weight.shape[1]!);
  if (graph.arithmetic === 'fp32') {
    const values = new Float32Array(shape[0]! * shape[1]!);
    putSideBySide(weights.map(dequantize), columns, values);
    graph.constant(matrix, 'float32', shape, values);
  } else {
    const bytes = new Uint8Array(shape[0]! * shape[1]!);
    putSideBySide(
      weights.map((weight) => weight.bytes),
      columns,
      bytes,
    );
    const perColumn = weights.flatMap((weight, index) => new Array<QuantizedWeight>(columns[index]!).fill(weight));
    addByteMatrix(graph, matrix, { shape, bytes, perColumn });
  }
  return { matrix, bias };
}

/** Signed bytes are the unsigned ones less 128, and so are their zero points: flipping the top bit does both. */
function addByteMatrix(
  graph: GraphBuilder,
  name: string,
  { shape, bytes, perColumn }: { shape: readonly number[]; bytes: Uint8Array; perColumn: readonly QuantizedWeight[] },
): void {
  const zeroPoints = Uint8Array.from(perColumn, (weight) => weight.zeroPoint);
  const signed = graph.arithmetic === 'u8s8';
  if (signed) [bytes, zeroPoints].forEach(flipTopBits);
  const elementType = signed ? 'int8' : 'uint8';
  graph.constant(name, elementType, shape, bytes);
  graph.constant(`${name}.zero`, elementType, [zeroPoints.length], zeroPoints);
  graph.constant(
    `${name}.scale`,
    'float32',
    [zeroPoints.length],
    Float32Array.from(perColumn, (weight) => weight.scale),
  );
}

function flipTopBits(bytes: Uint8Array): void {
  for (let index = 0; index < bytes.length; index++) bytes[index]! ^= 0x80;
}

function putSideBySide<Values extends Uint8Array | Float32Array>(
  matrices: readonly Values[],
  columns: readonly number[],
  target: Values,
): void {
  const width = columns.reduce((sum, count) => sum + count, 0);
  let left = 0;
  for (const [index, matrix] of matrices.entries()) {
    const count = columns[index]!;
    for (let from = 0, to = left; from < matrix.length; from += count, to += width) {
      target.set(matrix.subarray(from, from + count), to);
    }
    left += count;
  }
}
