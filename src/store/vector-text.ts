const decimals = 6;
const scale = 10 ** decimals;
const codeOf = (character: string): number => character.charCodeAt(0);
const zero = codeOf('0');
const minus = codeOf('-');
const point = codeOf('.');
const comma = codeOf(',');
const open = codeOf('[');
const close = codeOf(']');
/** Sign, one digit, point, six digits, comma. */
const bytesPerNumber = 10;

let buffer = Buffer.allocUnsafe(512 * bytesPerNumber);

/**
 * A vector as pgvector reads it, with 6 decimals: more than a cosine can tell apart, and half the
 * bytes. Written digit by digit, because turning numbers into text one by one is what inserting
 * many vectors would otherwise mostly consist of.
 */
export function vectorText(vector: ArrayLike<number>): string {
  const needed = vector.length * bytesPerNumber + 2;
  if (buffer.length < needed) buffer = Buffer.allocUnsafe(needed);
  let end = 0;
  buffer[end++] = open;
  for (let index = 0; index < vector.length; index++) {
    const scaled = Math.round(vector[index]! * scale);
    if (!(Math.abs(scaled) < 10 * scale)) return longVectorText(vector);
    if (index > 0) buffer[end++] = comma;
    end = writeNumber(scaled, end);
  }
  buffer[end++] = close;
  return buffer.toString('latin1', 0, end);
}

/** `scaled` millionths as `-1.234567`; returns where to go on. */
function writeNumber(scaled: number, start: number): number {
  let end = start;
  if (scaled < 0) buffer[end++] = minus;
  let rest = Math.abs(scaled);
  const whole = Math.trunc(rest / scale);
  buffer[end] = zero + whole;
  buffer[end + 1] = point;
  rest -= whole * scale;
  for (let place = end + 1 + decimals; place > end + 1; place--) {
    const tenth = Math.trunc(rest / 10);
    buffer[place] = zero + rest - tenth * 10;
    rest = tenth;
  }
  return end + 2 + decimals;
}

/** For vectors that are not of unit length. */
function longVectorText(vector: ArrayLike<number>): string {
  return `[${Array.from(vector, (value) => Math.round(value * scale) / scale).join(',')}]`;
}
