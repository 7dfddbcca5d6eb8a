import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CheckResult } from 'memoryd/connector';
import type { FolderConfig } from '../../connectors/folder/config.ts';
import folder from '../../connectors/folder/index.ts';
import { isRemoteType } from '../../connectors/folder/watch.ts';
import { asNobody, createContext, createRoot, writeTree } from './folder-fixture.ts';

let root: string;
let remove: () => Promise<void>;
beforeEach(async () => ({ root, remove } = await createRoot()));
afterEach(() => remove());

const check = (config: Partial<FolderConfig> = {}) => folder.check(createContext({ path: root, ...config }));
const summary = (results: CheckResult[]) => results.map(({ name, status }) => `${name} ${status}`);

describe('check', () => {
  it('is ok for a folder with files', async () => {
    await writeTree(root, ['a.md', 'b.md']);
    const results = await check();
    expect(summary(results)).toEqual(['path ok', 'read ok', 'watch ok']);
    expect(results.map((result) => result.detail)).toEqual([root, '2 entries', 'Watched.']);
  });

  it('says how often the folder is listed when it is not to be watched', async () => {
    await writeTree(root, ['a.md']);
    const results = await check({ watch: false, pollEveryMs: 30_000 });
    expect(results[2]).toMatchObject({ status: 'ok', detail: 'Not watched; listed every 30 s.' });
  });

  it('fails for a folder that is missing, is a file, or is not given as an absolute path', async () => {
    await writeTree(root, ['file']);
    for (const path of [join(root, 'none'), join(root, 'file'), 'relative']) {
      const results = await check({ path });
      expect(summary(results)).toEqual(['path failed']);
      expect(results[0]!.remedy).toBeTruthy();
    }
  });

  it('fails without permission', async () => {
    await chmod(root, 0o711);
    const results = await asNobody({ config: { path: root }, verb: 'check' });
    expect(summary(results).slice(0, 2)).toEqual(['path ok', 'read failed']);
    expect(results[1].remedy).toContain('permission');
  });

  it('does not know about a folder that never held a file', async () => {
    const results = await check();
    expect(summary(results)).toEqual(['path ok', 'read unknown', 'watch ok']);
    expect(results[1]!.remedy).toContain('Mount');
    await writeTree(root, ['a.md']);
    await rm(join(root, 'a.md'));
    expect(summary(await check())).toEqual(['path ok', 'read ok', 'watch ok']);
  });

  it('does not know about watching when the system’s limit is reached, and watch polls then with one log line', async () => {
    await writeTree(root, ['a.md']);
    const { checks, hints, lines } = await asNobody({
      config: { path: root, pollEveryMs: 1_000 },
      verb: 'watch without files',
    });
    expect(checks[2]).toMatchObject({
      name: 'watch',
      status: 'unknown',
      remedy: expect.stringContaining('max_user_watches'),
    });
    const late = expect.stringContaining('listed every 1 s instead of watched');
    expect(hints).toEqual([
      { partition: root, late },
      { partition: root, late },
    ]);
    expect(lines).toEqual([
      { fields: { root, reason: expect.stringContaining('limit') }, message: 'folder is polled instead of watched' },
    ]);
  });
});

describe('partitions', () => {
  it('names the folder by its real path', async () => {
    expect(await folder.partitions(createContext({ path: `${root}/../root/` }))).toEqual([{ id: root, title: 'root' }]);
  });

  it('understands the home folder', async () => {
    const [partition] = await folder.partitions(createContext({ path: '~' }));
    expect(partition!.id).toMatch(/^\//);
    await expect(folder.partitions(createContext({ path: '~/no such folder' }))).rejects.toThrow('not there');
  });
});

it('network file systems are told by their number', () => {
  const [nfs, smb2, ext4] = [0x6969, 0xfe534d42, 0xef53];
  expect([nfs, smb2, ext4].map(isRemoteType)).toEqual([true, true, false]);
});
