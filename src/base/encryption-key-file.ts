import { link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { newEncryptionKey } from './encryption.ts';
import type { Logger } from './log.ts';

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
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${keys.join('\n')}\n`);
    // A key that is lost loses everything that was sealed with it.
    await file.sync();
  } finally {
    await file.close();
  }
  return path;
}
