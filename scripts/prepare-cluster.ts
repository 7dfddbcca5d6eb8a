/** Packs the database with which a new data directory begins, so that the first start need not make it. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { silentLogger } from '../src/base/log.ts';
import { migrate } from '../src/store/migrate.ts';
import { openPglite } from '../src/store/pglite/open-pglite.ts';
import { packCluster, preparedClusterFile, preparedFolder } from '../src/store/pglite/packed-cluster.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'memoryd-prepare-'));
try {
  const database = await openPglite({ dataDir, log: silentLogger });
  await migrate(database, { log: silentLogger });
  await database.close();
  const file = await preparedClusterFile();
  const packed = await packCluster(join(dataDir, 'database'));
  await rm(preparedFolder, { recursive: true, force: true });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, packed);
  console.log(`The database of a first start: ${(packed.length / 1e6).toFixed(1)} MB.`);
} finally {
  await rm(dataDir, { recursive: true, force: true });
}
