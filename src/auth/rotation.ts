import { newEncryptionKey, type Encryption } from '../base/encryption.ts';
import { readKeyFile, writeKeyFile } from '../base/encryption-key-file.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { setConnectionStatus } from '../store/connections.ts';
import { denyCredentials } from '../store/credentials.ts';
import type { Database } from '../store/database.ts';
import {
  eraseSealedValue,
  replaceSealedValue,
  sealedPlaces,
  sealedValuesNotUnder,
  type SealedPlace,
  type SealedValue,
} from '../store/sealed-values.ts';
import { vaultPurpose } from './vault.ts';
import { openEncryption, openEncryptionAnyway, writeRotated, type EncryptionKeyOptions } from './encryption-keys.ts';

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
