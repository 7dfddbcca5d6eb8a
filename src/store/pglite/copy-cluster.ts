import { constants, createReadStream, createWriteStream } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Database, Queryable } from '../database.ts';
import { rawSql, sql } from '../sql.ts';

/** While it is `on` in the engine's session, maintenance makes no checkpoint (see `copyCluster`). */
export const copyingSetting = 'memoryd.copying';

/**
 * Copies the folder of an embedded cluster that is in use to a folder that does not exist. What was committed before
 * the call is in the copy; an engine that opens it recovers as after a crash.
 *
 * Tables and indexes are copied while requests change them, as PostgreSQL's own base backups do: from a checkpoint on,
 * the log holds every page that changes as a whole, and replaying it repairs what was copied half old, half new. So
 * the log has to begin at that checkpoint. Only what no log holds, or what is part of it, is copied in a pause.
 */
export async function copyCluster(database: Database, from: string, to: string): Promise<void> {
  if (await copyInUse(database, from, to)) return;
  await rm(to, { recursive: true, force: true });
  await database.transaction(async (tx) => {
    await tx.execute(rawSql('checkpoint'));
    const { folders, files } = await contentOf(from);
    await makeFolders(to, folders);
    for (const file of files) await copy(from, to, file);
  });
}

/** False when a checkpoint came between, as erasing and a restart of the engine make one. */
async function copyInUse(database: Database, from: string, to: string): Promise<boolean> {
  try {
    const begun = await begin(database, from);
    await makeFolders(to, begun.folders);
    const tables = new Set(begun.files.filter((file) => file.startsWith('base/')));
    for (const file of tables) await copy(from, to, file).catch(unlessGone);
    const fullLogs = await fullLogFiles(database, from);
    for (const file of fullLogs) await copy(from, to, file).catch(unlessGone);
    return await database.transaction(async (tx) => {
      if ((await lastCheckpoint(tx)) !== begun.checkpoint) return false;
      const { folders, files } = await contentOf(from);
      await makeFolders(to, folders);
      for (const file of files) if (!tables.has(file) && !fullLogs.has(file)) await copy(from, to, file);
      return true;
    });
  } finally {
    await database.execute(sql`select set_config(${copyingSetting}, 'off', false)`);
  }
}

interface Content {
  /** Relative to the cluster's folder, parts divided by `/`; folders stand before what is in them. */
  folders: string[];
  files: string[];
}

/**
 * A table or index made after this moment is not among the files: at `wal_level = minimal` the log need not hold its
 * content.
 */
function begin(database: Database, from: string): Promise<Content & { checkpoint: string }> {
  return database.transaction(async (tx) => {
    await tx.execute(sql`select set_config(${copyingSetting}, 'on', false)`);
    await tx.execute(rawSql('checkpoint'));
    return { checkpoint: await lastCheckpoint(tx), ...(await contentOf(from)) };
  });
}

async function lastCheckpoint(tx: Queryable): Promise<string> {
  const rows = await tx.query<{ place: string }>(
    rawSql('select checkpoint_lsn::text as place from pg_control_checkpoint()'),
  );
  return rows[0]!.place;
}

/** The files of the log that are written to their end. */
async function fullLogFiles(database: Database, from: string): Promise<Set<string>> {
  const rows = await database.query<{ current: string }>(
    rawSql('select pg_walfile_name(pg_current_wal_lsn()) as current'),
  );
  const names = await readdir(join(from, 'pg_wal'));
  return new Set(
    names.filter((name) => /^[\dA-F]{24}$/.test(name) && name < rows[0]!.current).map((name) => `pg_wal/${name}`),
  );
}

async function contentOf(folder: string): Promise<Content> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const pathsOf = (some: typeof entries) =>
    some.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll('\\', '/'));
  return {
    folders: pathsOf(entries.filter((entry) => entry.isDirectory())),
    files: pathsOf(entries.filter((entry) => entry.isFile())),
  };
}

async function makeFolders(to: string, folders: readonly string[]): Promise<void> {
  for (const folder of ['.', ...folders]) await mkdir(join(to, folder), { recursive: true, mode: 0o700 });
}

const bytesAtOnce = 1024 * 1024;

/**
 * Shares the blocks with the original where the file system can. Else the file is read to the end that it then has:
 * Node's own copy waits for ever for the rest of one that has become shorter meanwhile. Most of a thousand files are
 * small, and a stream for each would cost more than what it carries.
 */
async function copy(from: string, to: string, file: string): Promise<void> {
  const [source, target] = [join(from, file), join(to, file)];
  const { size } = await stat(source);
  if (size <= bytesAtOnce) return writeFile(target, await readFile(source), { mode: 0o600 });
  const isShared = await copyFile(source, target, constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  );
  if (isShared) return;
  await pipeline(
    createReadStream(source, { highWaterMark: bytesAtOnce }),
    createWriteStream(target, { mode: 0o600, highWaterMark: bytesAtOnce }),
  );
}

/** The engine deletes files of tables that are dropped or rewritten, and the log tells of it. */
function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
