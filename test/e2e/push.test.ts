import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { call, found } from '../support/memory-of.ts';
import { unlikeStores } from '../support/stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const launcher = join(import.meta.dirname, '../../bin/memoryd.js');
const within = { timeout: 30_000, interval: 100 };

describe.each(unlikeStores)('a push connection on $name', (store) => {
  let daemon: Daemon;
  let folder: string;
  let id: string;
  let closeStore: () => Promise<void>;
  let env: Record<string, string>;

  beforeAll(async () => {
    folder = await temporaryFolder('memoryd-push-');
    const opened = await store.open();
    closeStore = opened.close;
    env = { ...opened.env, MEMORYD_API_KEY: 'sm_test_push-key-0123456789' };
    daemon = await startDaemon({ env });
    id = (await memoryd('connect', 'push', '--tag', 'tickets')).stdout.trim();
  });
  afterAll(async () => {
    expect(await daemon?.stop()).toBe(0);
    await closeStore?.();
    // Started again on its data, it leaves them.
    if (daemon) await rm(daemon.dataDir, { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  });

  const finds = async (q: string) => (await found(daemon, q)).map((one) => one.chunk).join('\n');

  async function memoryd(...args: string[]) {
    const options = {
      cwd: folder,
      env: { PATH: process.env['PATH'], MEMORYD_URL: daemon.url, MEMORYD_API_KEY: daemon.key },
    };
    return promisify(execFile)(process.execPath, [launcher, ...args], options);
  }

  async function write(name: string, items: object[]) {
    await writeFile(join(folder, name), items.map((item) => `${JSON.stringify(item)}\n`).join(''));
  }

  const tickets = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      id: `t${index}`,
      title: `Ticket ${index}`,
      text: `Ticket ${index} is about printers.`,
    }));

  it('makes what is pushed searchable, and forgets what is deleted', async () => {
    const item = { id: 'greenhouse', title: 'Greenhouse', text: 'The tomatoes are watered at dawn.' };
    await call(daemon, 'POST', `/v3/connections/${id}/push`, { upserts: [item] });
    await expect.poll(() => finds('when do tomatoes get water?'), within).toContain('at dawn');
    await call(daemon, 'POST', `/v3/connections/${id}/push`, {
      upserts: [{ ...item, text: 'The tomatoes are watered at dusk.' }],
    });
    await expect.poll(() => finds('when do tomatoes get water?'), within).toContain('at dusk');
    await call(daemon, 'POST', `/v3/connections/${id}/push`, { deletes: ['greenhouse'] });
    expect(await finds('when do tomatoes get water?')).not.toContain('tomatoes');
  });

  it('takes files from the command line', async () => {
    await write('all.jsonl', tickets(25));
    const first = await memoryd('push', id, 'all.jsonl', '--snapshot', '--batch', '10');
    expect(first.stderr).toContain('25 new, 0 changed, 0 unchanged, 0 removed.');
    await write('all.jsonl', tickets(24));
    const second = await memoryd('push', id, 'all.jsonl', '--snapshot', '--batch', '10');
    expect(second.stderr).toContain('0 new, 0 changed, 24 unchanged, 1 removed.');
    expect((await call(daemon, 'GET', `/v3/connections/${id}`)).documentCount).toBe(24);
  });

  it('loses nothing when the daemon is killed between two pages, and goes on with the snapshot', async () => {
    const push = (body: object) => call(daemon, 'POST', `/v3/connections/${id}/push`, body);
    const [first, second] = [tickets(30).slice(0, 15), tickets(30).slice(15, 28)];
    await push({ deliveryId: 's:1', snapshot: { id: 's', page: 1 }, upserts: first });
    await daemon.kill();
    daemon = await startDaemon({ env, dataDir: daemon.dataDir });
    expect((await call(daemon, 'GET', `/v3/connections/${id}`)).documentCount).toBe(24);
    const state = await call(daemon, 'GET', `/v3/connections/${id}/push`);
    expect(state.snapshot).toMatchObject({ id: 's', state: 'open', nextPage: 2 });
    expect(await push({ deliveryId: 's:1', snapshot: { id: 's', page: 1 }, upserts: first })).toMatchObject({
      replayed: true,
    });
    const last = await push({
      deliveryId: 's:2',
      snapshot: { id: 's', page: 2 },
      upserts: second,
      completeSnapshot: true,
    });
    expect(last.snapshot).toMatchObject({ state: 'completed' });
    expect((await call(daemon, 'GET', `/v3/connections/${id}`)).documentCount).toBe(28);
  });
});
