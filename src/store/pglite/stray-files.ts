import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';

/**
 * Removes files of tables and indexes that no table has. An engine that was killed while it rewrote one leaves
 * the unfinished copy behind for ever, with what is erased later. Called before anybody uses the engine.
 */
export async function removeStrayFiles(client: pg.Client, clusterDir: string): Promise<void> {
  const { rows } = await client.query<{ folder: string; file: string }>(`
    select (select oid from pg_database where datname = current_database())::text as folder,
      pg_relation_filenode(oid)::text as file
    from pg_class where pg_relation_filenode(oid) is not null`);
  const known = new Set(rows.map(({ file }) => file));
  const folder = join(clusterDir, 'base', rows[0]!.folder);
  for (const name of await readdir(folder)) {
    // A main file or a part of it; names of other files (PG_VERSION, maps) are not numbers.
    const file = /^(\d+)(_\w+)?(\.\d+)?$/.exec(name)?.[1];
    if (file !== undefined && !known.has(file)) await rm(join(folder, name), { force: true });
  }
}
