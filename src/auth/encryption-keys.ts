import type { Clock } from '../base/clock.ts';
import {
  createEncryption,
  type Encryption,
  newEncryptionKey,
  ensureKeyFile,
  readKeyFile,
  writeKeyFile,
} from '../base/encryption.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import {
  hasSealedValues,
  eraseSealedValue,
  replaceSealedValue,
  sealedPlaces,
  sealedValuesNotUnder,
  type SealedPlace,
  type SealedValue,
} from '../store/sealed-values.ts';
import { sql } from '../store/sql.ts';
import { readSetting, writeSetting } from '../store/settings.ts';
import { setConnectionStatus } from '../store/connections.ts';
import { denyCredentials } from '../store/credentials.ts';
import { vaultPurpose } from './vault.ts';

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
async function openEncryptionAnyway(options: EncryptionKeyOptions): Promise<Encryption> {
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
async function writeRotated(database: Database, keyId: string, now: Date): Promise<void> {
  await writeSetting(database, settingName, { current: keyId, previous: [] } satisfies WrittenKeys, now);
}

export interface RotationReport {
  /** Id of the key that everything is sealed with now. */
  keyId: string;
  /** Secrets that were sealed anew. */
  resealed: number;
  /** Secrets that no key opens; erased. Their connections wait for a new authorization. */
  discarded: number;
}

export interface RotationOptions extends EncryptionKeyOptions {
  /** Erase what no key opens, instead of stopping there. */
  discardUnreadable: boolean;
}

const batchSize = 100;

/**
 * Seals every secret anew: under `encryptionKey`, or under a new key when memoryd keeps its key
 * itself. Can be stopped and begun again at any point: until the end both keys are needed and
 * known. Throws `encryption_key_mismatch` for a secret that no key opens.
 */
export async function rotateEncryption(options: RotationOptions): Promise<RotationReport> {
  const { database, dataDir, clock, log } = options;
  if (options.key === undefined) await addKey(dataDir, log);
  const encryption = await (options.discardUnreadable ? openEncryptionAnyway(options) : openEncryption(options));
  const report: RotationReport = { keyId: encryption.keyId, resealed: 0, discarded: 0 };
  for (const place of sealedPlaces) await resealPlace(options, { place, encryption, report });
  await writeRotated(database, encryption.keyId, clock.now());
  const [newest] = await readKeyFile(dataDir, log);
  if (options.key === undefined && newest !== undefined) await writeKeyFile(dataDir, [newest]);
  return report;
}

/** A new key before the old one. Two are there already when an earlier rotation did not come to its end. */
async function addKey(dataDir: string, log: Logger): Promise<void> {
  const keys = await readKeyFile(dataDir, log);
  if (keys.length === 1) await writeKeyFile(dataDir, [newEncryptionKey(), ...keys]);
}

interface Resealing {
  place: SealedPlace;
  encryption: Encryption;
  report: RotationReport;
}

async function resealPlace(options: RotationOptions, { place, encryption, report }: Resealing): Promise<void> {
  let after = '';
  for (;;) {
    const keyId = encryption.keyId;
    const values = await sealedValuesNotUnder(options.database, place, { keyId, after, limit: batchSize });
    for (const value of values) await reseal(options, { place, encryption, report }, value);
    const last = values.at(-1);
    if (!last) return;
    after = last.id;
  }
}

async function reseal(
  { database, discardUnreadable, clock }: RotationOptions,
  { place, encryption, report }: Resealing,
  { id, sealed }: SealedValue,
): Promise<void> {
  const purpose = vaultPurpose(place.name, id);
  let text: string;
  try {
    text = encryption.open(sealed, purpose);
  } catch (error) {
    if (!discardUnreadable || !MemorydError.is(error)) throw error;
    await eraseSealedValue(database, place, { id, from: sealed });
    report.discarded += 1;
    if (place.table === 'credentials') await endAuthorization(database, id, clock.now());
    return;
  }
  await replaceSealedValue(database, place, { id, from: sealed, to: encryption.seal(text, purpose) });
  report.resealed += 1;
}

async function endAuthorization(database: Database, connectionId: string, now: Date): Promise<void> {
  const reason = 'The key that its credentials were sealed with is lost. Connect again to go on.';
  await denyCredentials(database, connectionId, { reason, now });
  await setConnectionStatus(database, connectionId, { status: 'needs_reauth', reason, now });
}
