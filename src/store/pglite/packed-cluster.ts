import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, constants } from 'node:zlib';
import { readMigrations } from '../migrate.ts';
import { initSettings } from './cluster-settings.ts';

/** A file of a cluster, or, without a length, a folder. Folders stand before what is in them. */
interface Entry {
  path: string;
  bytes?: number;
}

/** `npm install` in a clone and `npm run build` fill it. */
export const preparedFolder = fileURLToPath(new URL('prepared/', import.meta.url));

/**
 * Where the packed cluster is with which this code begins: initdb and all migrations have run. It is named after
 * all that went into it, so one of other code is never taken. It need not exist.
 */
export async function preparedClusterFile(): Promise<string> {
  const engine = findPackageJSON('@electric-sql/pglite', import.meta.url)!;
  const { version } = JSON.parse(await readFile(engine, 'utf8')) as { version: string };
  const migrations = (await readMigrations()).map(({ hash }) => hash);
  const hash = createHash('sha256').update(JSON.stringify([version, initSettings, migrations]));
  return join(preparedFolder, `cluster-${hash.digest('hex').slice(0, 16)}`);
}

/**
 * A closed cluster as one compressed file: the length of the list (32 bits, little-endian), the list of entries as JSON,
 * the bytes of the files in its order.
 */
export async function packCluster(folder: string): Promise<Buffer> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const entries: Entry[] = [];
  const contents: Buffer[] = [];
  for (const item of found) {
    const path = join(item.parentPath, item.name);
    const content = item.isFile() ? await readFile(path) : null;
    const name = path.slice(folder.length + 1).replaceAll('\\', '/');
    entries.push(content === null ? { path: name } : { path: name, bytes: content.length });
    if (content) contents.push(content);
  }
  const list = Buffer.from(JSON.stringify(entries.toSorted(foldersFirst)));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(list.length);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 };
  return promisify(brotliCompress)(Buffer.concat([length, list, ...contents]), { params });
}

/** `toSorted` is stable: files keep their order among each other, and a folder is shorter than what is in it. */
function foldersFirst(one: Entry, other: Entry): number {
  if (one.bytes !== undefined && other.bytes !== undefined) return 0;
  if (one.bytes === undefined && other.bytes === undefined) return one.path.length - other.path.length;
  return one.bytes === undefined ? -1 : 1;
}

/** More than a cluster takes; what is not used of it takes no memory. */
const mostBytes = 64 * 2 ** 20;

/** Makes `folder` of what `packCluster` made, for its owner only. False when there is no such file. */
export async function unpackCluster(file: string, folder: string): Promise<boolean> {
  const packed = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (packed === null) return false;
  // In one piece, which can be given back at once: thousands of small ones stay with the process.
  const bytes = await promisify(brotliDecompress)(packed, { chunkSize: mostBytes });
  let offset = 4 + bytes.readUInt32LE();
  const entries = JSON.parse(bytes.toString('utf8', 4, offset)) as Entry[];
  await mkdir(folder, { mode: 0o700 });
  for (const entry of entries) {
    const path = join(folder, entry.path);
    if (entry.bytes === undefined) await mkdir(path, { mode: 0o700 });
    else await writeFile(path, bytes.subarray(offset, (offset += entry.bytes)), { mode: 0o600 });
  }
  bytes.buffer.transfer(0);
  return true;
}
