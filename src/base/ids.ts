import { randomFillSync } from 'node:crypto';

/** Base58 without 0, O, I and l, in ASCII order, so that encoded ids sort as their bytes do. */
const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const idLength = 22;
const idPattern = /^[1-9A-HJ-NP-Za-km-z]{22}$/;

const entropy = new Uint8Array(10 * 256);
let entropyOffset = entropy.length;

function nextEntropy(): Uint8Array {
  if (entropyOffset >= entropy.length) {
    randomFillSync(entropy);
    entropyOffset = 0;
  }
  entropyOffset += 10;
  return entropy.subarray(entropyOffset - 10, entropyOffset);
}

/**
 * A new id: a UUIDv7 (RFC 9562 section 5.7) as 22 base58 characters. Ids made later sort later
 * (to the millisecond), which keeps index inserts at the right edge of the tree.
 */
export function newId(now: Date): string {
  const random = nextEntropy();
  let high = BigInt(now.getTime()) << 16n;
  high |= 0x7000n | (BigInt(random[0]! & 0x0f) << 8n) | BigInt(random[1]!);
  let low = BigInt((random[2]! & 0x3f) | 0x80);
  for (let index = 3; index < 10; index++) low = (low << 8n) | BigInt(random[index]!);
  return encode((high << 64n) | low);
}

export function isId(value: string): boolean {
  return idPattern.test(value);
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
