import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { badConfig } from '../connector/contract.ts';

/** A JSON Web Token signed with RS256 (RFC 7519, RFC 7518 section 3.3). Throws `BadConfig` for a key that is none. */
export function signJwt(
  claims: Record<string, unknown>,
  { privateKey, keyId }: { privateKey: string; keyId?: string },
): string {
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign('sha256', Buffer.from(text), readPrivateKey(privateKey)).toString('base64url')}`;
}

function readPrivateKey(text: string): KeyObject {
  try {
    // Keys that came through an environment variable or a JSON text have their line ends as two characters.
    const key = createPrivateKey(text.replaceAll(String.raw`\n`, '\n'));
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // What the parser says may quote the key.
  }
  throw badConfig(
    'The private key cannot be read.',
    'It must be an RSA key as PEM text, whole and without a passphrase.',
  );
}
