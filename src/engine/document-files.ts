import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { extname } from 'node:path';
import { findFileName, readStoredFile, type StoredFile } from '../store/document-contents.ts';
import { firstOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Database } from '../store/database.ts';
import { ensureSetting } from '../store/settings.ts';

export type { StoredFile };

/** Links to the files of documents, which open without credentials for a day. */
export interface DocumentFiles {
  /** Path and query of the link. Null when the document has no stored file. */
  link(documentId: string): Promise<string | null>;
  /** The file behind a link. Throws `forbidden` for a link that is not ours or is over, `not_found` for a file that is gone. */
  open(key: string, query: { exp: string; sig: string }): Promise<StoredFile>;
}

const validMs = 24 * 60 * 60_000;
const secretSetting = 'file_link_secret';

/** The signing secret stands in the database, so that every process takes the links of all. */
export function createDocumentFiles({ database, clock }: { database: Database; clock: Clock }): DocumentFiles {
  let secret: Promise<string> | undefined;

  async function sign(key: string, exp: string): Promise<string> {
    secret ??= ensureSetting(database, secretSetting, randomBytes(32).toString('base64'), clock.now());
    // A failed query must not stay for ever.
    secret.catch(() => (secret = undefined));
    return createHmac('sha256', await secret)
      .update(`${key}\n${exp}`)
      .digest('hex');
  }

  return {
    async link(documentId) {
      const file = await findFileName(database, documentId);
      if (!file) return null;
      const key = `${documentId}${extensionOf(file.name)}`;
      const exp = String(Math.floor((clock.now().getTime() + validMs) / 1_000));
      return `/files/${key}?exp=${exp}&sig=${await sign(key, exp)}`;
    },
    async open(key, { exp, sig }) {
      if (!isEqual(sig, await sign(key, exp))) throw new MemorydError('forbidden', 'The link is not valid');
      if (Number(exp) * 1_000 < clock.now().getTime()) throw new MemorydError('forbidden', 'The link has expired');
      const file = await readStoredFile(database, firstOf(key.split('.', 1)));
      if (!file) throw new MemorydError('not_found', 'The file is gone');
      return file;
    },
  };
}

/** Only what needs no escaping, so that a browser sees the kind of file and nothing else. */
function extensionOf(name: string | null): string {
  const extension = extname(name ?? '').toLowerCase();
  return /^\.[a-z0-9]{1,8}$/.test(extension) ? extension : '';
}

function isEqual(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
