import { hash } from 'node:crypto';

const maxLength = 255;

/**
 * The customId of an item's document: `provider:id`, so that reconnecting the same source finds the
 * same documents. Ids that are too long or hold control characters end in a hash of the whole id.
 */
export function customIdOf(provider: string, extId: string): string {
  const plain = `${provider}:${extId}`;
  if (plain.length <= maxLength && !/[\u0000-\u001f\u007f]/.test(plain)) return plain;
  const digest = hash('sha256', extId, 'hex').slice(0, 32);
  const readable = plain.replace(/[\u0000-\u001f\u007f]/g, '_').slice(0, maxLength - digest.length - 1);
  return `${readable.toWellFormed()}#${digest}`;
}
