/** `node engine-statements-main.ts <data directory>`: runs statements on the embedded engine and prints the most memory, in MB, that it took. */
import { existsSync, readFileSync } from 'node:fs';
import { silentLogger } from '../../src/base/log.ts';
import { openPglite } from '../../src/store/pglite/open-pglite.ts';
import { sql } from '../../src/store/sql.ts';

const database = await openPglite({ dataDir: process.argv[2]!, log: silentLogger });
for (let count = 0; count < 3_000; count++) {
  await database.query(sql`
    select d.id, d.title, c.content from documents d join document_contents c on c.document_id = d.id
    where d.id = any(${['a', 'b']}::text[]) and d.deleted_at is null and d.revision > ${count} order by d.id limit 10`);
}
await database.close();
// On Linux the most memory of a process counts what its parent had when it started it; that of its status does not.
const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
// The unit is kilobytes on every system.
console.log(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? process.resourceUsage().maxRSS) / 1024);
