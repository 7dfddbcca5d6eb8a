import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import folder from '../../connectors/folder/index.ts';
import { createSyncRuns } from '../../src/connections/run-service.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createRoot, writeTree } from './folder-fixture.ts';

/** Root may read everything, so that modes count only for another user. */
async function asNobody<Result>(run: () => Promise<Result>): Promise<Result> {
  if (process.getuid?.() !== 0) return run();
  process.seteuid!(65_534);
  try {
    return await run();
  } finally {
    process.seteuid!(0);
  }
}

it('a subfolder without permission is kept, the rest is mirrored and swept, until it can be read again', async () => {
  const { root, remove } = await createRoot();
  const { database, close } = await openTestDatabase();
  const clock = createTestClock();
  try {
    await writeTree(root, { 'closed/a.md': 'a', 'closed/b.md': 'b', 'open/c.md': 'c', 'open/d.md': 'd', 'e.md': 'e' });
    const mirror = await createMirror({ database, clock, connector: folder, config: { path: root } });
    const runs = createSyncRuns({ database, clock, wake: async () => {} });
    const sync = async () => {
      clock.advance(60_000);
      expect(await asNobody(() => mirror.sync({ mode: 'full' }))).toMatchObject({ status: 'completed' });
      return new Map([...(await mirror.texts())].map(([id, text]) => [id.slice(root.length + 1), text]));
    };
    const reasons = async () => (await runs.progress(mirror.id)).problems.map(({ reason }) => reason);
    expect((await sync()).size).toBe(5);

    await rm(join(root, 'closed/b.md'));
    await writeTree(root, { 'closed/a.md': 'a, edited' });
    await chmod(join(root, 'closed'), 0);
    await rm(join(root, 'open/d.md'));
    await writeTree(root, { 'e.md': 'e, edited', 'f.md': 'f' });
    expect(Object.fromEntries(await sync())).toEqual({
      ...{ 'closed/a.md': 'a', 'closed/b.md': 'b' },
      ...{ 'open/c.md': 'c', 'e.md': 'e, edited', 'f.md': 'f' },
    });
    expect(await reasons()).toEqual([expect.stringContaining('closed (EACCES)')]);

    await chmod(join(root, 'closed'), 0o755);
    expect(Object.fromEntries(await sync())).toEqual({
      ...{ 'closed/a.md': 'a, edited', 'open/c.md': 'c', 'e.md': 'e, edited', 'f.md': 'f' },
    });
    expect(await reasons()).toEqual([]);
  } finally {
    await chmod(join(root, 'closed'), 0o755);
    await close();
    await remove();
  }
});
