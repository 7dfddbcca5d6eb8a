/** The program of `startPgliteProcess`: node pglite-process-main.ts <task> <dataDir> <origin as JSON> */
import { silentLogger } from '../../src/base/log.ts';
import type { Database } from '../../src/store/database.ts';
import { openPglite } from '../../src/store/pglite/open-pglite.ts';
import { sql } from '../../src/store/sql.ts';
import type { ClusterOrigin } from './pglite-process.ts';

const [task, dataDir, origin] = process.argv.slice(2) as [string, string, string];

async function write(database: Database): Promise<never> {
  await database.script(`
    create table if not exists pairs_a (n serial primary key, note text);
    create table if not exists pairs_b (n integer primary key, terms text[]);
    create index if not exists pairs_b_terms on pairs_b using gin (terms)`);
  for (;;) {
    const n = await database.transaction(async (tx) => {
      const rows = await tx.query<{ n: number }>(
        sql`insert into pairs_a (note) values (${'x'.repeat(2_000)}) returning n`,
      );
      await tx.execute(sql`insert into pairs_b values (${rows[0]!.n}, ${['term', `term${rows[0]!.n}`]}::text[])`);
      return rows[0]!.n;
    });
    console.log(`wrote ${n}`);
  }
}

const database = await openPglite({ dataDir, log: silentLogger, ...(JSON.parse(origin) as ClusterOrigin) });
console.log('open');
if (task === 'write') await write(database);
if (task === 'exit') {
  await database.script('create table if not exists rows (n integer); insert into rows values (1)');
  process.exit(0);
}
