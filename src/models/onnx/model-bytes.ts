/** Element types of ONNX tensors that we write, with their numbers in onnx.proto's `TensorProto.DataType`. */
const elementTypes = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const;
export type ElementType = keyof typeof elementTypes;

export type Attribute = number | string | readonly number[] | { float: number };

export interface OnnxNode {
  type: string;
  /** Names of values; an empty name leaves an optional input out. */
  inputs: readonly string[];
  outputs: readonly string[];
  /** Empty for the standard operators, else `com.microsoft`. */
  domain?: string;
  attributes?: Record<string, Attribute>;
}

/** A constant of the graph. `data` is little-endian, row-major, `elementType` by `shape`. */
export interface OnnxTensor {
  name: string;
  elementType: ElementType;
  shape: readonly number[];
  data: Uint8Array;
}

/** An input or output; a dimension that varies is given by name. */
export interface OnnxValue {
  name: string;
  elementType: ElementType;
  shape: readonly (number | string)[];
}

export interface OnnxGraph {
  nodes: readonly OnnxNode[];
  constants: readonly OnnxTensor[];
  inputs: readonly OnnxValue[];
  outputs: readonly OnnxValue[];
}

const irVersion = 8;
const standardOperators = { domain: '', version: 17 };
const microsoftOperators = { domain: 'com.microsoft', version: 1 };
/** onnx.proto's `AttributeProto.AttributeType`. */
const attributeTypes = { float: 1, integer: 2, text: 3, integers: 7 } as const;

/** The bytes of an `.onnx` file. Field numbers are those of onnx.proto3. */
export function encodeModel(graph: OnnxGraph): Uint8Array {
  return encodeMessage((model) => {
    model.integer(1, irVersion);
    model.text(2, 'memoryd');
    model.message(7, (message) => writeGraph(message, graph));
    for (const operators of [standardOperators, microsoftOperators]) {
      model.message(8, (message) => {
        message.text(1, operators.domain);
        message.integer(2, operators.version);
      });
    }
  });
}

function writeGraph(message: MessageWriter, graph: OnnxGraph): void {
  for (const node of graph.nodes) message.message(1, (nested) => writeNode(nested, node));
  message.text(2, 'graph');
  for (const constant of graph.constants) message.message(5, (nested) => writeTensor(nested, constant));
  for (const input of graph.inputs) message.message(11, (nested) => writeValue(nested, input));
  for (const output of graph.outputs) message.message(12, (nested) => writeValue(nested, output));
}

function writeNode(message: MessageWriter, node: OnnxNode): void {
  for (const input of node.inputs) message.text(1, input);
  for (const output of node.outputs) message.text(2, output);
  message.text(4, node.type);
  if (node.domain) message.text(7, node.domain);
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    message.message(5, (nested) => writeAttribute(nested, name, value));
  }
}

function writeAttribute(message: MessageWriter, name: string, value: Attribute): void {
  message.text(1, name);
  if (typeof value === 'number') {
    message.integer(3, value);
    message.integer(20, attributeTypes.integer);
  } else if (typeof value === 'string') {
    message.text(4, value);
    message.integer(20, attributeTypes.text);
  } else if ('float' in value) {
    message.float(2, value.float);
    message.integer(20, attributeTypes.float);
  } else {
    for (const item of value) message.integer(8, item);
    message.integer(20, attributeTypes.integers);
  }
}

function writeTensor(message: MessageWriter, tensor: OnnxTensor): void {
  for (const length of tensor.shape) message.integer(1, length);
  message.integer(2, elementTypes[tensor.elementType]);
  message.text(8, tensor.name);
  message.bytes(9, tensor.data);
}

function writeValue(message: MessageWriter, value: OnnxValue): void {
  message.text(1, value.name);
  message.message(2, (type) =>
    type.message(1, (tensorType) => {
      tensorType.integer(1, elementTypes[value.elementType]);
      tensorType.message(2, (shape) => {
        for (const length of value.shape) {
          shape.message(1, (dimension) => {
            if (typeof length === 'number') dimension.integer(1, length);
            else dimension.text(2, length);
          });
        }
      });
    }),
  );
}

/**
 * Writes protobuf messages (wire format of protobuf.dev/programming-guides/encoding): just what an
 * ONNX model needs. Large byte fields are referenced, not copied, until `bytes()` joins the parts.
 */
interface MessageWriter {
  integer(field: number, value: number): void;
  float(field: number, value: number): void;
  text(field: number, value: string): void;
  bytes(field: number, value: Uint8Array): void;
  message(field: number, write: (nested: MessageWriter) => void): void;
}

const wireVarint = 0;
const wireLengthDelimited = 2;
const wireFixed32 = 5;

/** One encoded message. */
export function encodeMessage(write: (message: MessageWriter) => void): Uint8Array {
  const parts = collectParts(write);
  const encoded = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let offset = 0;
  for (const part of parts) {
    encoded.set(part, offset);
    offset += part.byteLength;
  }
  return encoded;
}

function collectParts(write: (message: MessageWriter) => void): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const lengthDelimited = (field: number, content: readonly Uint8Array[]): void => {
    const byteLength = content.reduce((sum, part) => sum + part.byteLength, 0);
    parts.push(tag(field, wireLengthDelimited), varint(byteLength), ...content);
  };
  write({
    integer: (field, value) => void parts.push(tag(field, wireVarint), varint(value)),
    float: (field, value) => void parts.push(tag(field, wireFixed32), new Uint8Array(Float32Array.of(value).buffer)),
    text: (field, value) => lengthDelimited(field, [Buffer.from(value, 'utf8')]),
    bytes: (field, value) => lengthDelimited(field, [value]),
    message: (field, nested) => lengthDelimited(field, collectParts(nested)),
  });
  return parts;
}

function tag(field: number, wireType: number): Uint8Array {
  return varint(field * 8 + wireType);
}

/** Negative numbers take ten bytes, as protobuf's `int64` does. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
