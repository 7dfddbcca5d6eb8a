import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { call, found, storedFiles, storedTexts } from '../support/memory-of.ts';

/** The same daemon on the embedded store, on PostgreSQL with Redis, and on PostgreSQL alone. */
import { unlikeStores } from '../support/stores.ts';

describe.each(unlikeStores)('a mirrored folder on $name', (store) => {
  let daemon: Daemon;
  let folder: string;
  let closeStore: () => Promise<void>;
  const within = { timeout: 30_000, interval: 100 };

  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  const texts = () => storedTexts(daemon);
  const finds = async (q: string, path: string) => (await found(daemon, q))[0]?.filepath === path;

  beforeAll(async () => {
    folder = await temporaryFolder('memoryd-folder-');
    await put('keys.md', '# Keys\n\nRotate the signing key every 90 days.\n');
    await put('lunch.txt', 'The canteen serves soup on Thursdays.\n');
    await put('deep/er/plan.md', '# Plan\n\nWe move the warehouse to Rotterdam in May.\n');
    const opened = await store.open();
    closeStore = opened.close;
    daemon = await startDaemon({ args: [folder], env: opened.env });
  });
  afterAll(async () => {
    expect(await daemon?.stop()).toBe(0);
    await closeStore?.();
    await rm(folder, { recursive: true, force: true });
  });

  it('is searchable after the start', async () => {
    await expect.poll(async () => (await texts()).size, within).toBe(3);
    await expect.poll(() => finds('how often do we change the key for signatures?', 'keys.md'), within).toBe(true);
    await expect.poll(() => finds('relocation of the depot', 'deep/er/plan.md'), within).toBe(true);
  });

  it('is not connected to the same container twice', async () => {
    const twin = call(daemon, 'POST', '/v3/connections/folder', { metadata: { path: folder } });
    await expect(twin).rejects.toThrow(/answered 409: .*connected to sm_project_default already/);
  });

  it('is listed as often as the connector says, whatever it does where it cannot be watched', async () => {
    const [connection] = await call(daemon, 'POST', '/v3/connections/list');
    expect(connection).toMatchObject({ schedule: '5m', metadata: { pollEveryMs: 60_000 } });
  });

  it('shows an edited file within seconds', async () => {
    await put('lunch.txt', 'The canteen serves pancakes on Fridays.\n');
    await expect.poll(async () => (await texts()).get('lunch.txt'), within).toContain('pancakes');
    await expect
      .poll(async () => (await found(daemon, 'soup on Thursdays')).some((one) => one.chunk.includes('soup')), within)
      .toBe(false);
  });

  it('shows an added file', async () => {
    await put('new/visa.md', 'Visa applications take six weeks.\n');
    await expect.poll(() => finds('how long does a visa take', 'new/visa.md'), within).toBe(true);
  });

  it('keeps the document when a file is renamed or moved', async () => {
    const before = await storedFiles(daemon);
    await rename(join(folder, 'keys.md'), join(folder, 'key-rotation.md'));
    await rename(join(folder, 'deep/er'), join(folder, 'deeper'));
    await expect
      .poll(async () => [...(await texts()).keys()].sort(), within)
      .toEqual(['deeper/plan.md', 'key-rotation.md', 'lunch.txt', 'new/visa.md']);
    const after = await storedFiles(daemon);
    expect(after.get('key-rotation.md')!.id).toBe(before.get('keys.md')!.id);
    expect(after.get('deeper/plan.md')!.id).toBe(before.get('deep/er/plan.md')!.id);
  });

  it('forgets a deleted file', async () => {
    await rm(join(folder, 'lunch.txt'));
    await expect.poll(async () => (await texts()).has('lunch.txt'), within).toBe(false);
    expect((await found(daemon, 'pancakes on Fridays')).some((one) => one.chunk.includes('pancakes'))).toBe(false);
  });

  it('keeps everything when the folder disappears, and goes on when it is back', async () => {
    const before = await texts();
    await rename(folder, `${folder}-away`);
    await rename(`${folder}-away`, folder);
    await put('late.md', 'Added after the folder came back.\n');
    await expect.poll(async () => (await texts()).has('late.md'), within).toBe(true);
    for (const path of before.keys()) expect((await texts()).has(path)).toBe(true);
  });
});

it('never mirrors the data directory of the daemon, when that lies in the folder', async () => {
  const folder = await temporaryFolder('memoryd-folder-');
  await writeFile(join(folder, 'notes.md'), '# Notes\n\nThe kiln is fired on Mondays.\n');
  const daemon = await startDaemon({ args: [folder], dataDir: join(folder, 'state') });
  try {
    await expect.poll(async () => (await storedTexts(daemon)).size, { timeout: 30_000, interval: 100 }).toBe(1);
    const [connection] = await call(daemon, 'POST', '/v3/connections/list', {});
    // One page of the listing holds everything in the folder.
    const items = await call(daemon, 'GET', `/v3/connections/${connection.id}/items`);
    expect(items.items.map((item: { path: string }) => item.path)).toEqual(['notes.md']);
  } finally {
    await daemon.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
