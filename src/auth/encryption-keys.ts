import type { Clock } from '../base/clock.ts';
import { createEncryption, type Encryption } from '../base/encryption.ts';
import { ensureKeyFile, readKeyFile } from '../base/encryption-key-file.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { hasSealedValues } from '../store/sealed-values.ts';
import { sql } from '../store/sql.ts';
import { readSetting, writeSetting } from '../store/settings.ts';

export interface EncryptionKeyOptions {
  database: Database;
  /** `encryptionKey` of the configuration; absent: a key is made and kept in the data directory. */
  key: string | undefined;
  /** The key before it, while its texts are not all sealed anew. */
  previousKey: string | undefined;
  dataDir: string;
  clock: Clock;
  log: Logger;
}

/**
 * Opens the keys that this process seals with, and makes sure that they are those of the database:
 * two processes with different keys would make each other's credentials unreadable. Throws
 * `encryption_key_mismatch`.
 */
export async function openEncryption(options: EncryptionKeyOptions): Promise<Encryption> {
  return openKeys(options, false);
}

/** The same, whatever the database was written with: what these keys do not open is lost. */
export async function openEncryptionAnyway(options: EncryptionKeyOptions): Promise<Encryption> {
  return openKeys(options, true);
}

async function openKeys(options: EncryptionKeyOptions, insists: boolean): Promise<Encryption> {
  const { database, key, previousKey, dataDir, log } = options;
  // A key that was made here before one was configured still opens what was sealed with it.
  const made = key === undefined ? await ensureKeyFile(dataDir, log) : await readKeyFile(dataDir, log);
  const older = previousKey === undefined ? [] : [previousKey];
  const encryption = createEncryption(key === undefined ? [...made, ...older] : [key, ...older, ...made]);
  await database.transaction(async (tx) => {
    // Two processes that start on a new database must not both write their key.
    await tx.execute(sql`select pg_advisory_xact_lock(${advisoryLock})`);
    const written = await readSetting<WrittenKeys>(tx, settingName);
    const isFree = insists || (database.engine === 'pglite' && !(await hasSealedValues(tx)));
    const next = agreed(encryption, written, { isFree, log });
    if (next !== written) await writeSetting(tx, settingName, next, options.clock.now());
  });
  return encryption;
}

/** Ids of keys; `previous` ones are needed until everything is sealed anew. */
interface WrittenKeys {
  current: string;
  previous: string[];
}

const settingName = 'encryption';
/** Held while the written keys are compared and changed; any constant of ours serves. */
const advisoryLock = 7_301_846_220_515;

/** `isFree`: no other process and no secret needs the keys that were written. */
function agreed(
  { keyId, keyIds }: Encryption,
  written: WrittenKeys | null,
  { isFree, log }: { isFree: boolean; log: Logger },
): WrittenKeys {
  if (!written) return { current: keyId, previous: [] };
  const needed = [written.current, ...written.previous];
  if (!needed.every((id) => keyIds.includes(id))) {
    if (isFree) return { current: keyId, previous: [] };
    throw mismatch(written, keyIds);
  }
  if (written.current === keyId) return written;
  log.info({ keyId }, 'the encryption key has changed, run `memoryd encryption rotate` to reseal everything');
  return { current: keyId, previous: needed.filter((id) => id !== keyId) };
}

function mismatch({ current, previous }: WrittenKeys, keyIds: readonly string[]): MemorydError {
  const missing = [current, ...previous].filter((id) => !keyIds.includes(id));
  const message = keyIds.includes(current)
    ? `The change of the encryption key is not finished: the key before it (${missing.join(', ')}) is still needed.`
    : `This process has another encryption key (${keyIds[0]}) than the one that the database was written with (${current}).`;
  return new MemorydError('encryption_key_mismatch', message, {
    details: keyIds.includes(current)
      ? 'Set encryptionKeyPrevious to it, and run `memoryd encryption rotate`.'
      : 'All processes of one database need the same encryptionKey (MEMORYD_ENCRYPTION_KEY).',
  });
}

/** Says that everything is sealed with one key: the others are needed no more. */
export async function writeRotated(database: Database, keyId: string, now: Date): Promise<void> {
  await writeSetting(database, settingName, { current: keyId, previous: [] } satisfies WrittenKeys, now);
}
