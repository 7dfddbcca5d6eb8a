/**
 * Writes protobuf messages (wire format of protobuf.dev/programming-guides/encoding): just what an
 * ONNX model needs. Large byte fields are referenced, not copied, until `bytes()` joins the parts.
 */
export interface MessageWriter {
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
