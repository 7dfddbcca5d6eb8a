import { link, mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Fetched, Ref } from 'memoryd/connector';
import type { FolderConfig } from '../../connectors/folder/config.ts';
import { diskThreadOf, type DiskThread } from '../../connectors/folder/disk-thread.ts';
import { readFacts } from '../../connectors/folder/facts.ts';
import folder from '../../connectors/folder/index.ts';
import { createContext, createRoot, listAll, writeTree, type TestContext } from './folder-fixture.ts';

let root: string;
let remove: () => Promise<void>;
let threads: DiskThread[] = [];
beforeEach(async () => ({ root, remove } = await createRoot()));
afterEach(async () => {
  await Promise.all(threads.map((thread) => thread.close()));
  threads = [];
  await remove();
});

async function readyThread(ctx: TestContext): Promise<DiskThread> {
  const thread = await diskThreadOf(ctx);
  threads.push(thread);
  await expect.poll(() => thread.isReady, { timeout: 30_000 }).toBe(true);
  return thread;
}

/** Files that were written long enough ago to be read at once. */
async function writeOldTree(files: Record<string, string>): Promise<void> {
  await writeTree(root, files);
  for (const path of Object.keys(files)) await utimes(join(root, path), 1_700_000_000.5, 1_700_000_000.5);
}

const manyFiles = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`group/note ${index}.md`, `note ${index} — ä`]));

async function fetchMany(ctx: TestContext, paths: readonly string[]): Promise<Map<string, Fetched>> {
  const refs = paths.map((path): Ref => ({ id: join(root, path), rev: '' }));
  const fetched = new Map<string, Fetched>();
  for await (const [id, one] of folder.fetchMany!(ctx, { id: root }, refs)) fetched.set(id.slice(root.length + 1), one);
  return fetched;
}

/** Until so many come at once: while the disk is slow to answer, the rest is left to be read one by one. */
async function fetchTogether(ctx: TestContext, paths: readonly string[], count: number) {
  let fetched = await fetchMany(ctx, paths);
  await expect
    .poll(async () => (fetched.size < count ? (fetched = await fetchMany(ctx, paths)) : fetched).size)
    .toBe(count);
  return fetched;
}

const fetchOne = (config: FolderConfig, path: string) =>
  folder.fetch(createContext(config), { id: root }, { id: join(root, path), rev: '' });

describe('many files', () => {
  it('come as each would by itself', async () => {
    const files = manyFiles(40);
    await writeOldTree(files);
    const ctx = createContext({ path: root });
    await readyThread(ctx);
    const fetched = await fetchTogether(ctx, Object.keys(files), 40);
    expect([...fetched.keys()]).toEqual(Object.keys(files));
    for (const [path, document] of fetched) expect(document).toEqual(await fetchOne({ path: root }, path));
  });

  it('leave out whatever there is something to say about', async () => {
    const plain = manyFiles(32);
    await writeOldTree({
      ...plain,
      'empty.md': '',
      'large.md': 'x'.repeat(200),
      'left-out.md': 'x',
      'real/in.md': 'x',
    });
    await symlink(join(root, 'group/note 1.md'), join(root, 'link.md'));
    await symlink(join(root, 'real'), join(root, 'linked'));
    await mkdir(join(root, 'folder.md'));
    const ctx = createContext({ path: root, maxItemBytes: 100, exclude: ['left-out.md'], followSymlinks: true });
    await readyThread(ctx);
    const odd = [
      'empty.md',
      'large.md',
      'left-out.md',
      'link.md',
      'linked/in.md',
      'folder.md',
      'gone.md',
      '../root/x.md',
    ];
    const fetched = await fetchTogether(ctx, [...odd, ...Object.keys(plain)], 32);
    expect([...fetched.keys()]).toEqual(Object.keys(plain));
  });

  it('leave out a file that is still being written, or may be without a trace', async () => {
    const plain = manyFiles(32);
    await writeOldTree(plain);
    let now = 1_700_000_000_745;
    const ctx = createContext({ path: root }, { now: () => new Date(now) });
    await readyThread(ctx);
    expect((await fetchMany(ctx, Object.keys(plain))).size).toBe(0);
    now += 5;
    expect((await fetchTogether(ctx, Object.keys(plain), 32)).size).toBe(32);
    await utimes(join(root, 'group/note 0.md'), 1_700_000_000, 1_700_000_000);
    expect([...(await fetchMany(ctx, Object.keys(plain))).keys()]).not.toContain('group/note 0.md');
  });

  it('of one that has several names come under the name that was asked for', async () => {
    const plain = manyFiles(32);
    await writeOldTree(plain);
    await link(join(root, 'group/note 0.md'), join(root, 'second name.md'));
    const ctx = createContext({ path: root });
    await readyThread(ctx);
    const fetched = await fetchTogether(ctx, ['second name.md', ...Object.keys(plain)], 33);
    expect(fetched.get('second name.md')).toEqual(await fetchOne({ path: root }, 'second name.md'));
  });

  it('are read one by one while there is no thread, and when there are few', async () => {
    const files = manyFiles(40);
    await writeOldTree(files);
    const ctx = createContext({ path: root });
    const thread = await readyThread(ctx);
    expect((await fetchMany(ctx, Object.keys(files).slice(0, 3))).size).toBe(0);
    await thread.close();
    expect((await fetchMany(ctx, Object.keys(files))).size).toBe(0);
  });
});

describe('the thread', () => {
  it('answers as the main thread does, and nothing about what it cannot look at', async () => {
    await writeTree(root, ['a.md']);
    const thread = await readyThread(createContext({ path: root }));
    const paths = [join(root, 'a.md'), join(root, 'gone.md'), root];
    const facts = await thread.look(paths, new AbortController().signal);
    expect(facts).toEqual([await readFacts(paths[0]!), undefined, await readFacts(root)]);
  });

  it('stops waiting when the run is stopped, and has no answers after it has ended', async () => {
    const thread = await readyThread(createContext({ path: root }));
    const stop = new AbortController();
    const paths = Array.from({ length: 5_000 }, () => root);
    const looking = thread.look(paths, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(looking).rejects.toThrow('stopped');
    await expect(thread.look([root], stop.signal)).rejects.toThrow('stopped');
    await thread.close();
    expect(await thread.look([root], new AbortController().signal)).toEqual([undefined]);
  });

  it('gives a listing the same refs', async () => {
    const files = manyFiles(1_200);
    await writeTree(root, files);
    await writeFile(join(root, 'umlaut ü.md'), 'x');
    const without = await listAll(createContext({ path: root }), root, { pageSize: 200 });
    const ctx = createContext({ path: root });
    await readyThread(ctx);
    const listed = await listAll(ctx, root, { pageSize: 400 });
    expect(listed.refs).toEqual(without.refs);
    expect(listed.refs.length).toBe(1_201);
  });
});
