import { randomFillSync } from 'node:crypto';

/** Base58 without 0, O, I and l, in ASCII order, so that encoded ids sort as their bytes do. */
const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const idLength = 22;

const entropy = new Uint8Array(8 * 256);
let entropyOffset = entropy.length;
let lastTime = 0;
let counter = 0;

function nextEntropy(): Uint8Array {
  if (entropyOffset >= entropy.length) {
    randomFillSync(entropy);
    entropyOffset = 0;
  }
  entropyOffset += 8;
  return entropy.subarray(entropyOffset - 8, entropyOffset);
}

/**
 * A new id: a UUIDv7 (RFC 9562 section 5.7, with the 12-bit counter of section 6.2) as 22 base58
 * characters. Ids that this process makes later sort later, which also keeps index inserts at the
 * right edge of the tree.
 */
export function newId(now: Date): string {
  const random = nextEntropy();
  tick(now.getTime());
  const high = (BigInt(lastTime) << 16n) | 0x7000n | BigInt(counter);
  let low = BigInt((random[0]! & 0x3f) | 0x80);
  for (let index = 1; index < 8; index++) low = (low << 8n) | BigInt(random[index]!);
  return encode((high << 64n) | low);
}

/** Counts within a millisecond; a full counter, or a clock that went back, borrows from the next one. */
function tick(time: number): void {
  if (time > lastTime) {
    lastTime = time;
    counter = 0;
  } else if (counter < 0xfff) {
    counter += 1;
  } else {
    lastTime += 1;
    counter = 0;
  }
}

function encode(value: bigint): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < idLength; index++) {
    text = alphabet[Number(rest % 58n)]! + text;
    rest /= 58n;
  }
  return text;
}
