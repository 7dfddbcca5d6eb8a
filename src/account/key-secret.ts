import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A new API key: `sm_{organizationId}_` and 256 random bits as 43 base64url characters. */
export function newKeySecret(organizationId: string): string {
  return `sm_${organizationId}_${randomBytes(32).toString('base64url')}`;
}

/** The hash that is stored instead of a key. Keys carry 256 random bits, so a plain hash cannot be searched. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex');
}

/** Compares two hashes of equal length in constant time. */
export function sameHash(left: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(left, 'hex'), Buffer.from(right, 'hex'));
}

/** The part of a key that is shown in lists: 8 characters, fewer of a short (configured) key. */
export function shownPrefix(secret: string): string {
  return secret.slice(0, Math.min(8, Math.floor(secret.length / 4)));
}
