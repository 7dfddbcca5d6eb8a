import type { Encryption } from '../base/encryption.ts';
import type { JsonObject } from '../connector/contract.ts';

/** The secrets of a row as one sealed text, which opens only for that row and part. */
export interface Vault {
  seal(part: VaultPart, id: string, value: object): string;
  /** Throws `encryption_key_mismatch`. */
  open(part: VaultPart, id: string, sealed: string): JsonObject;
}

export type VaultPart =
  'fields' | 'token' | 'pending authorization' | 'oauth client' | 'hook secret' | 'offered hook secret';

export function createVault(encryption: Encryption): Vault {
  return {
    seal: (part, id, value) => encryption.seal(JSON.stringify(value), vaultPurpose(part, id)),
    open: (part, id, sealed) => JSON.parse(encryption.open(sealed, vaultPurpose(part, id))) as JsonObject,
  };
}

/** The purpose that a row's text is sealed for. */
export function vaultPurpose(part: VaultPart, id: string): string {
  return `${part} of ${id}`;
}
