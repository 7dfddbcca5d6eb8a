import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { link, mkdir, open as openFile, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { valueOf } from './collections.ts';
import { MemorydError } from './errors.ts';
import type { Logger } from './log.ts';

/**
 * Secrets at rest: AES-256-GCM under one of a few keys. Every sealed text names its key, so that
 * keys can be replaced while texts of the old one are still there.
 */
export interface Encryption {
  /** Id of the key that seals. */
  readonly keyId: string;
  /** Ids of all keys that open; the sealing one is first. */
  readonly keyIds: readonly string[];
  /**
   * `v1.<key>.<nonce>.<ciphertext and tag>`, the last two as base64url. It opens only for the same
   * purpose, so that a text that is copied to another row is of no use there.
   */
  seal(text: string, purpose: string): string;
  /** Throws `encryption_key_mismatch` when no key opens it, or when it was changed or made for another purpose. */
  open(sealed: string, purpose: string): string;
}

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
/** NIST SP 800-38D section 8.2: random nonces of 96 bits serve for 2^32 texts under one key. */
const nonceBytes = 12;
const tagBytes = 16;
const version = 'v1';

/** The form that `readKey` accepts: 32 bytes as 64 hexadecimal digits, or as base64. */
export const encryptionKeyPattern = '^([0-9A-Fa-f]{64}|[A-Za-z0-9+/_-]{43}=?)$';

export function newEncryptionKey(): string {
  return randomBytes(keyBytes).toString('base64');
}

/** The first key seals, all open. Throws `config_invalid` for a text that is no key. */
export function createEncryption(keyTexts: readonly string[]): Encryption {
  const keys = new Map(keyTexts.map(readKey).map((key) => [idOf(key), key]));
  const keyIds = [...keys.keys()];
  const keyId = keyIds[0];
  if (keyId === undefined) throw new MemorydError('config_invalid', 'There is no encryption key.');
  return {
    keyId,
    keyIds,
    seal: (text, purpose) => seal(text, purpose, { id: keyId, key: valueOf(keys, keyId) }),
    open(sealed, purpose) {
      const id = keyIdOf(sealed);
      const key = id === null ? undefined : keys.get(id);
      if (id === null || !key) throw unreadable('it was sealed with a key that this memoryd does not have');
      return open(sealed, purpose, { id, key });
    },
  };
}

/** The id of the key that a sealed text names; null for any other text. */
export function keyIdOf(sealed: string): string | null {
  const [found, id] = sealed.split('.');
  return found === version && id ? id : null;
}

interface NamedKey {
  id: string;
  key: Buffer;
}

function seal(text: string, purpose: string, { id, key }: NamedKey): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(associated(id, purpose));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return [version, id, nonce.toString('base64url'), body.toString('base64url')].join('.');
}

function open(sealed: string, purpose: string, { id, key }: NamedKey): string {
  const [, , nonce = '', encoded = ''] = sealed.split('.');
  const body = Buffer.from(encoded, 'base64url');
  try {
    const decipher = createDecipheriv(algorithm, key, Buffer.from(nonce, 'base64url'), { authTagLength: tagBytes });
    decipher.setAAD(associated(id, purpose)).setAuthTag(body.subarray(-tagBytes));
    return Buffer.concat([decipher.update(body.subarray(0, -tagBytes)), decipher.final()]).toString('utf8');
  } catch (error) {
    throw unreadable('it was changed, or belongs to something else', error);
  }
}

function associated(id: string, purpose: string): Buffer {
  return Buffer.from(`${version} ${id} ${purpose}`);
}

function unreadable(why: string, cause?: unknown): MemorydError {
  return new MemorydError('encryption_key_mismatch', `A stored secret cannot be opened: ${why}.`, { cause });
}

/** Says which key it is without saying anything about it. */
function idOf(key: Buffer): string {
  return createHmac('sha256', key).update('memoryd encryption key id').digest('base64url').slice(0, 12);
}

function readKey(text: string): Buffer {
  const trimmed = text.trim();
  if (!new RegExp(encryptionKeyPattern).test(trimmed)) {
    throw new MemorydError('config_invalid', 'An encryption key is 32 bytes, as base64 or as 64 hexadecimal digits.');
  }
  return Buffer.from(trimmed, trimmed.length === 64 ? 'hex' : 'base64');
}

/**
 * The keys that memoryd made for itself, one a line: the first seals, the others only open what is
 * not yet sealed anew. Only its owner may read the file.
 */
export function encryptionKeyFile(dataDir: string): string {
  return join(dataDir, 'encryption.key');
}

/** None when there is no file. */
export async function readKeyFile(dataDir: string, log: Logger): Promise<string[]> {
  const path = encryptionKeyFile(dataDir);
  try {
    const text = await readFile(path, 'utf8');
    if (process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0) {
      log.warn({ file: path }, 'others on this machine may read the encryption key, make its mode 0600');
    }
    return text.split('\n').filter((line) => line.trim() !== '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The keys of the file, which is made with a new key when there is none. */
export async function ensureKeyFile(dataDir: string, log: Logger): Promise<string[]> {
  const found = await readKeyFile(dataDir, log);
  if (found.length > 0) return found;
  await mkdir(dataDir, { recursive: true });
  const temporary = await writeTemporary(dataDir, [newEncryptionKey()]);
  try {
    // Fails when another process was faster, whose key counts then.
    await link(temporary, encryptionKeyFile(dataDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  return readKeyFile(dataDir, log);
}

/** Replaces the keys, whole or not at all. */
export async function writeKeyFile(dataDir: string, keys: readonly string[]): Promise<void> {
  await rename(await writeTemporary(dataDir, keys), encryptionKeyFile(dataDir));
}

async function writeTemporary(dataDir: string, keys: readonly string[]): Promise<string> {
  const path = `${encryptionKeyFile(dataDir)}.${randomBytes(6).toString('hex')}`;
  const file = await openFile(path, 'wx', 0o600);
  try {
    await file.writeFile(`${keys.join('\n')}\n`);
    // A key that is lost loses everything that was sealed with it.
    await file.sync();
  } finally {
    await file.close();
  }
  return path;
}
