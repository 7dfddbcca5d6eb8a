import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hint } from 'memoryd/connector';
import type { FolderConfig } from '../../connectors/folder/config.ts';
import folder from '../../connectors/folder/index.ts';
import { watchFolder } from '../../connectors/folder/watch.ts';
import { watchFolders, watchRecursively, type WatchTree } from '../../connectors/folder/watch-tree.ts';
import { createContext, createRoot, writeTree, type TestContext } from './folder-fixture.ts';

let root: string;
let remove: () => Promise<void>;
beforeEach(async () => ({ root, remove } = await createRoot()));
afterEach(() => remove());

interface Running {
  ctx: TestContext;
  hints: Hint[];
  /** Waits for a hint that covers the path, by its id or as a whole, and forgets those so far. */
  hinted(path: string): Promise<'id' | 'whole'>;
  stop(): Promise<void>;
}

/** Watching as the daemon does it; ready when the first hint is there. */
async function start(config: Partial<FolderConfig> = {}, watchTree: WatchTree = watchFolders): Promise<Running> {
  const abort = new AbortController();
  const ctx = createContext({ path: root, pollEveryMs: 1_000, ...config }, { signal: abort.signal });
  const hints: Hint[] = [];
  const watching = watchFolder(ctx, (hint) => hints.push(hint), watchTree);
  const covers = (path: string) => (hint: Hint) => hint.ids === undefined || hint.ids.includes(join(root, path));
  const running: Running = {
    ctx,
    hints,
    async hinted(path) {
      await expect.poll(() => hints.some(covers(path)), { timeout: 5_000, interval: 20 }).toBe(true);
      const found = hints.find(covers(path))!;
      hints.length = 0;
      return found.ids === undefined ? 'whole' : 'id';
    },
    async stop() {
      abort.abort();
      await watching;
    },
  };
  await running.hinted('');
  return running;
}

/** Folders that the system watches for this process (proc(5), fdinfo). */
function watchers(): number {
  const descriptors = readdirSync('/proc/self/fdinfo').map((name) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${name}`, 'utf8');
    } catch {
      return '';
    }
  });
  return descriptors.join('\n').split('\ninotify wd:').length - 1;
}

describe.each([
  ['one watcher per folder', watchFolders],
  ['one watcher for the tree', watchRecursively],
])('%s', (_name, watchTree) => {
  it('hints at files that are made, changed and removed', async () => {
    await writeTree(root, ['sub/old.md']);
    const running = await start({}, watchTree);
    await writeFile(join(root, 'new.md'), 'new');
    expect(await running.hinted('new.md')).toBe('id');
    await writeFile(join(root, 'sub/old.md'), 'changed');
    expect(await running.hinted('sub/old.md')).toBe('id');
    await unlink(join(root, 'sub/old.md'));
    await running.hinted('sub/old.md');
    await running.stop();
  });

  it('hints at the final path when an editor saves by renaming', async () => {
    await writeTree(root, ['note.md']);
    const running = await start({}, watchTree);
    await writeFile(join(root, '.note.md.swp'), 'saved');
    await rename(join(root, '.note.md.swp'), join(root, 'note.md'));
    expect(await running.hinted('note.md')).toBe('id');
    await running.stop();
  });

  it('hints at the whole when a folder is made, moved or removed', async () => {
    await writeTree(root, ['a/b/c.md']);
    await writeTree(join(root, '..'), ['outside/deep/x.md']);
    const running = await start({}, watchTree);
    await rename(join(root, 'a'), join(root, 'moved'));
    expect(await running.hinted('moved/b/c.md')).toBe('whole');
    await rename(join(root, '../outside'), join(root, 'inside'));
    expect(await running.hinted('inside/deep/x.md')).toBe('whole');
    await rename(join(root, 'moved'), join(root, '../gone'));
    expect(await running.hinted('moved/b/c.md')).toBe('whole');
    await running.stop();
  });

  it('stops at once when the signal aborts, and leaves nothing open', async () => {
    await writeTree(root, ['a/b/c/d.md', 'e/f.md']);
    const before = watchers();
    const running = await start({}, watchTree);
    expect(watchers()).toBeGreaterThan(before);
    await running.stop();
    await expect.poll(watchers).toBe(before);
    await writeFile(join(root, 'late.md'), 'late');
    expect(running.hints).toEqual([]);
  });
});

describe('folders that come and go', () => {
  it('stay watched below a folder that was made in one go, moved in, or renamed', async () => {
    await writeTree(root, ['old/sub/a.md']);
    await writeTree(join(root, '..'), ['outside/deep/x.md']);
    const running = await start();
    await mkdir(join(root, 'new/one/two'), { recursive: true });
    await rename(join(root, '../outside'), join(root, 'inside'));
    await rename(join(root, 'old'), join(root, 'renamed'));
    for (const path of ['new/one/two/a.md', 'inside/deep/x.md', 'renamed/sub/a.md']) {
      // The first hint may still be about the folder itself: write until the file is named.
      await expect
        .poll(async () => (await writeFile(join(root, path), 'x'), running.hinted(path)), { timeout: 5_000 })
        .toBe('id');
    }
    await running.stop();
  });

  it('are watched under the new name only, when another takes the old one', async () => {
    await writeTree(root, ['a/x.md', 'b/x.md']);
    const running = await start();
    await rename(join(root, 'a'), join(root, 'c'));
    await rename(join(root, 'b'), join(root, 'a'));
    await running.hinted('a/x.md');
    await expect
      .poll(async () => (await writeFile(join(root, 'c/x.md'), 'x'), running.hinted('c/x.md')), { timeout: 5_000 })
      .toBe('id');
    await writeFile(join(root, 'a/x.md'), 'x');
    await running.hinted('a/x.md');
    await writeFile(join(root, 'a/x.md'), 'y');
    await running.hinted('a/x.md');
    await writeFile(join(root, 'c/x.md'), 'z');
    await expect.poll(() => running.hints.flatMap((hint) => hint.ids ?? ['whole'])).toEqual([join(root, 'c/x.md')]);
    await running.stop();
  });
});

describe('the rules', () => {
  it('hold for hints too', async () => {
    await writeTree(root, ['node_modules/m/a.js', '.hidden/a.md', 'drafts/a.md', 'notes/a.md']);
    const running = await start({ exclude: ['drafts'] });
    for (const path of [
      'node_modules/m/a.js',
      'node_modules/new/b.js',
      '.hidden/a.md',
      'drafts/a.md',
      'a.md~',
      'notes/a.md',
    ]) {
      await writeTree(root, [path]);
    }
    await running.hinted('notes/a.md');
    await writeFile(join(root, 'notes/a.md'), 'again');
    await running.hinted('notes/a.md');
    await writeFile(join(root, 'drafts/a.md'), 'again');
    await writeFile(join(root, 'notes/a.md'), 'and again');
    await expect.poll(() => running.hints).toEqual([{ partition: root, ids: [join(root, 'notes/a.md')] }]);
    await running.stop();
  });

  it('are read anew when a .gitignore changes', async () => {
    await writeTree(root, { '.gitignore': 'build/\n', 'build/a.md': '', 'b.md': '' });
    const running = await start({ gitignore: true });
    await writeFile(join(root, '.gitignore'), '\n');
    expect(await running.hinted('build/a.md')).toBe('whole');
    await writeFile(join(root, 'build/a.md'), 'x');
    expect(await running.hinted('build/a.md')).toBe('id');
    await running.stop();
  });
});

describe('much at once', () => {
  it('is hinted as a whole when the files are too many to name', async () => {
    const running = await start();
    for (let index = 0; index < 1_500; index++) writeFileSync(join(root, `${index}.md`), 'x');
    await expect.poll(() => running.hints.some((hint) => hint.ids === undefined)).toBe(true);
    await running.stop();
  });

  it('is hinted as a whole when the system may have dropped events, and folders made meanwhile are watched', async () => {
    await writeTree(root, ['a.md', 'b.md']);
    const running = await start();
    const time = new Date();
    for (let round = 0; round < 3_000; round++) {
      for (const name of ['a.md', 'b.md']) utimesSync(join(root, name), time, time);
      if (round === 2_900) mkdirSync(join(root, 'made'));
    }
    expect(await running.hinted('a.md')).toBe('whole');
    await expect
      .poll(async () => (await writeFile(join(root, 'made/c.md'), 'x'), running.hinted('made/c.md')), {
        timeout: 5_000,
      })
      .toBe('id');
    await running.stop();
  });
});

describe('the root', () => {
  it('may go away and come back', async () => {
    await writeTree(root, ['a.md']);
    const running = await start();
    await rename(root, `${root}.away`);
    expect(await running.hinted('a.md')).toBe('whole');
    await rename(`${root}.away`, root);
    expect(await running.hinted('a.md')).toBe('whole');
    await expect
      .poll(async () => (await writeFile(join(root, 'a.md'), 'x'), running.hinted('a.md')), { timeout: 5_000 })
      .toBe('id');
    expect(running.ctx.lines).toEqual([]);
    await running.stop();
  });

  it('may be missing at the start', async () => {
    await rm(root, { recursive: true });
    const starting = start();
    await mkdir(root);
    await writeTree(root, ['a.md']);
    const running = await starting;
    await writeFile(join(root, 'b.md'), 'x');
    await running.hinted('b.md');
    await running.stop();
  });

  it('is polled when it is not to be watched', async () => {
    const running = await start({ watch: false });
    expect(watchers()).toBe(0);
    expect(await running.hinted('anything')).toBe('whole');
    await running.stop();
  });

  it('is polled when the system watches no more folders; each hint says so, until it does again', async () => {
    let isFull = true;
    // The limit of the system is one for all users; here it is reached by the second folder.
    const limited: WatchTree = (...given) => {
      const tree = watchFolders(...given);
      const renew = async (path: string) => {
        await tree.renew(path);
        if (isFull) throw Object.assign(new Error('no space'), { errno: -28, code: 'ENOSPC' });
      };
      return { ...tree, renew };
    };
    await writeTree(root, ['sub/a.md']);
    const abort = new AbortController();
    const hints: Hint[] = [];
    const ctx = createContext({ path: root, pollEveryMs: 10 }, { signal: abort.signal });
    const watching = watchFolder(ctx, (hint) => hints.push(hint), limited);
    await expect.poll(() => hints.filter(({ late }) => late !== undefined).length).toBeGreaterThan(1);
    expect(hints.at(-1)).toEqual({ partition: root, late: expect.stringMatching(/watched folders.*sysctl/) });
    expect(ctx.lines[0]!.message).toBe('folder is polled instead of watched');
    isFull = false;
    await expect.poll(() => hints.at(-1)).toEqual({ partition: root });
    await writeFile(join(root, 'sub/a.md'), 'x');
    await expect.poll(() => hints.at(-1)?.ids).toEqual([join(root, 'sub/a.md')]);
    abort.abort();
    await watching;
  });
});

it('hints at the files behind links that are followed', async () => {
  await writeTree(root, ['a.md']);
  const running = await start({ followSymlinks: true });
  await symlink('a.md', join(root, 'link.md'));
  expect(await running.hinted('link.md')).toBe('id');
  await running.stop();
});

it('is what the connector offers', async () => {
  const abort = new AbortController();
  const hints: Hint[] = [];
  const watching = folder.watch!(createContext({ path: root }, { signal: abort.signal }), (hint) => hints.push(hint));
  await expect.poll(() => hints).toEqual([{ partition: root }]);
  abort.abort();
  await watching;
});
