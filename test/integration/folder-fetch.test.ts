import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  appendFileSync,
  closeSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { chmod, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ConnectorError, Fetched } from 'memoryd/connector';
import type { FolderConfig } from '../../connectors/folder/config.ts';
import folder from '../../connectors/folder/index.ts';
import { asNobody, createContext, createRoot, refOf, writeTree } from './folder-fixture.ts';
import { sized } from '../support/length.ts';

let root: string;
let remove: () => Promise<void>;
beforeEach(async () => ({ root, remove } = await createRoot()));
afterEach(() => remove());

const fetchPath = (path: string, config: Partial<FolderConfig> = {}) =>
  folder.fetch(createContext({ path: root, ...config }), { id: root }, { id: join(root, path), rev: '' });

function textOf(fetched: Fetched): string | undefined {
  return 'file' in fetched ? Buffer.from(fetched.file.bytes).toString() : undefined;
}

/** Runs something just before the file system is asked about a path for the given time, the first of which is 1. */
function beforeLook(path: string, count: number, act: () => void): void {
  const { lstat } = fs;
  const put = (look: typeof lstat) => {
    fs.lstat = look;
    syncBuiltinESMExports();
  };
  let looks = 0;
  put(
    Object.assign((...given: Parameters<typeof lstat>) => {
      if (given[0] === path && ++looks === count) act();
      return lstat(...given);
    }, lstat),
  );
  onTestFinished(() => put(lstat));
}

const kindOf = (call: Promise<unknown>) =>
  call.then(
    () => 'nothing thrown',
    (error: ConnectorError) => error.kind,
  );

describe('a file', () => {
  it('comes with its bytes, names, times and the revision of the listing', async () => {
    await writeTree(root, { 'notes/plan.md': '# Plan\n' });
    const ref = await refOf(root, 'notes/plan.md');
    const fetched = await fetchPath('notes/plan.md');
    expect(fetched).toMatchObject({
      file: { name: 'plan.md', mimeType: 'text/markdown' },
      path: 'notes/plan.md',
      url: ref.url,
      updatedAt: ref.updatedAt,
      rev: ref.rev,
    });
    expect(textOf(fetched)).toBe('# Plan\n');
    expect('createdAt' in fetched && Date.parse(fetched.createdAt)).toBeGreaterThan(0);
  });

  it('has no media type when its extension is unknown', async () => {
    await writeTree(root, { LICENSE: 'x', 'a.constructor': 'x' });
    for (const path of ['LICENSE', 'a.constructor']) {
      const fetched = await fetchPath(path);
      expect('file' in fetched && Object.keys(fetched.file)).toEqual(['bytes', 'name']);
    }
  });

  it('over the limit is skipped without being read', async () => {
    await writeTree(root, { 'big.md': 'x'.repeat(11), 'fits.md': 'x'.repeat(10) });
    const fetched = await fetchPath('big.md', { maxItemBytes: 10 });
    expect(fetched).toEqual({ skip: 'too_large', detail: 'It has 11 bytes; at most 10 are read (maxItemBytes).' });
    expect(textOf(await fetchPath('fits.md', { maxItemBytes: 10 }))).toHaveLength(10);
    execFileSync('truncate', ['-s', '1T', join(root, 'sparse.md')]);
    expect(await fetchPath('sparse.md')).toMatchObject({ skip: 'too_large' });
  });

  it('without content is skipped as empty', async () => {
    await writeTree(root, { 'empty.md': '' });
    expect(await fetchPath('empty.md')).toEqual({ skip: 'empty', detail: 'The file is empty.' });
  });

  it('with a time that no date can hold is fetched without one', async () => {
    await writeTree(root, ['a.md']);
    execFileSync('touch', ['-d', '@9000000000000', join(root, 'a.md')]);
    const seconds = statSync(join(root, 'a.md')).mtimeMs / 1_000;
    const fetched = await fetchPath('a.md');
    expect(textOf(fetched)).toBe('a.md');
    // Some file systems cannot hold such a time either, and clamp it.
    expect('updatedAt' in fetched).toBe(seconds < 8.64e12);
  });
});

describe('outside the rules', () => {
  it('is filtered as in the listing', async () => {
    await writeTree(root, ['.hidden/a.md', 'node_modules/a.md', 'drafts/a.md', 'a.txt', 'sub/.gitignore']);
    await writeTree(root, { 'sub/.gitignore': 'a.md', 'sub/a.md': 'x' });
    const config = { exclude: ['drafts'], include: ['*.md'], gitignore: true };
    for (const path of ['.hidden/a.md', 'node_modules/a.md', 'drafts/a.md', 'a.txt', 'sub/a.md']) {
      expect(await fetchPath(path, config), path).toEqual({ skip: 'filtered' });
    }
  });

  it('is filtered when the id is not a clean path inside the root', async () => {
    await writeTree(join(root, '..'), ['root-two/a.md', 'secret.md']);
    await writeTree(root, ['a.md']);
    const ctx = createContext({ path: root });
    for (const id of [
      `${root}/../secret.md`,
      `${root}-two/a.md`,
      '/etc/passwd',
      'a.md',
      root,
      `${root}/./a.md`,
      `${root}//a.md`,
    ]) {
      expect(await folder.fetch(ctx, { id: root }, { id, rev: '' }), id).toEqual({ skip: 'filtered' });
    }
  });
});

describe('an absent file', () => {
  it('is gone: a removed file, a folder or a special file in its place', async () => {
    await writeTree(root, ['a.md', 'folder.md/b.md', 'file']);
    execFileSync('mkfifo', [join(root, 'pipe.md')]);
    for (const path of ['none.md', 'none/a.md', 'file/a.md', 'folder.md', 'pipe.md']) {
      expect(await fetchPath(path), path).toEqual({ gone: true });
    }
  });

  it('is not gone while the root itself is missing or looks unmounted', async () => {
    expect(await kindOf(fetchPath('a.md'))).toBe('source_missing');
    await rm(root, { recursive: true });
    expect(await kindOf(fetchPath('a.md'))).toBe('source_missing');
  });

  it('is gone when the folder was emptied', async () => {
    await writeTree(root, ['a.md']);
    await rm(join(root, 'a.md'));
    expect(await fetchPath('a.md')).toEqual({ gone: true });
  });
});

/** Puts a link in the place of a folder and the folder back, as fast as it can. */
const swapForever = `
  const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
  const [place, target] = process.argv.slice(1);
  for (;;) {
    renameSync(place, place + '.aside');
    symlinkSync(target, place);
    unlinkSync(place);
    renameSync(place + '.aside', place);
  }`;

describe('links', () => {
  beforeEach(async () => {
    await writeTree(join(root, '..'), ['outside/a.md']);
    await writeTree(root, ['real/a.md', 'b.md']);
    await symlink('../outside', join(root, 'escape'));
    await symlink('../outside/a.md', join(root, 'escape.md'));
    await symlink('real', join(root, 'link'));
    await symlink('b.md', join(root, 'link.md'));
    await symlink('..', join(root, 'real/loop'));
  });

  it('are not there by default', async () => {
    for (const path of ['escape/a.md', 'escape.md', 'link/a.md', 'link.md']) {
      expect(await fetchPath(path), path).toEqual({ gone: true });
    }
  });

  it('are read inside the root when they are followed, and never outside', async () => {
    const config = { followSymlinks: true };
    expect(textOf(await fetchPath('link/a.md', config))).toBe('real/a.md');
    expect(textOf(await fetchPath('link.md', config))).toBe('b.md');
    for (const path of ['escape/a.md', 'escape.md', 'real/loop/b.md', 'link/loop/b.md']) {
      expect(await fetchPath(path, config), path).toEqual({ gone: true });
    }
  });

  it('that take the place of a folder again and again never lead out of the root', async () => {
    await writeTree(join(root, '..'), { 'outside/note.md': 'secret' });
    await writeTree(root, { 'swapped/note.md': 'public' });
    const swapper = spawn(process.execPath, ['-e', swapForever, join(root, 'swapped'), '../outside']);
    const seen = new Set<string>();
    for (let round = 0; round < sized(300, 2_000) || !seen.has('public'); round++) {
      const fetched = await fetchPath('swapped/note.md').catch((error: ConnectorError) => error.kind);
      seen.add(typeof fetched === 'string' ? fetched : (textOf(fetched) ?? 'gone'));
    }
    swapper.kill('SIGKILL');
    await once(swapper, 'close');
    expect([...seen].filter((outcome) => !['public', 'gone', 'transient'].includes(outcome))).toEqual([]);
  });

  it('that take the place of a folder before its file is looked at do not lead out of the root', async () => {
    await writeTree(join(root, '..'), { 'outside/note.md': 'secret' });
    await writeTree(root, { 'swapped/note.md': 'public' });
    beforeLook(join(root, 'swapped/note.md'), 1, () => {
      renameSync(join(root, 'swapped'), join(root, 'moved'));
      symlinkSync('../outside', join(root, 'swapped'));
    });
    expect(await fetchPath('swapped/note.md')).toEqual({ gone: true });
  });
});

describe('a file that changes while it is read', () => {
  it('is read again until it stands still', async () => {
    await writeTree(root, { 'log.md': 'x'.repeat(5_000_000) });
    const path = join(root, 'log.md');
    let turns = 0;
    const writing = (async () => {
      for (; turns < 3; turns++) {
        appendFileSync(path, 'more');
        await nextTurn();
      }
    })();
    const fetched = await fetchPath('log.md');
    await writing;
    expect(textOf(fetched)).toHaveLength(5_000_012);
    expect('rev' in fetched && fetched.rev).toBe((await refOf(root, 'log.md')).rev);
  });

  it('is read again when it changes after its last byte was read', async () => {
    await writeTree(root, { 'note.md': 'old words' });
    const path = join(root, 'note.md');
    beforeLook(path, 2, () => writeFileSync(path, 'new words'));
    expect(textOf(await fetchPath('note.md'))).toBe('new words');
  });

  it('is left for later when it never stands still', async () => {
    await writeTree(root, { 'log.md': 'x'.repeat(1_000_000) });
    let isDone = false;
    const writing = (async () => {
      while (!isDone) {
        appendFileSync(join(root, 'log.md'), 'more');
        await nextTurn();
      }
    })();
    const kind = await kindOf(fetchPath('log.md'));
    isDone = true;
    await writing;
    expect(kind).toBe('transient');
  });

  it('waits for the next tick of a coarse clock, so that no later write can go unnoticed', async () => {
    const path = join(root, 'note.md');
    await writeFile(path, '[ ] task');
    const tick = new Date(1_700_000_000_000);
    await utimes(path, tick, tick);
    let hasWritten = false;
    const now = () => {
      if (!hasWritten)
        setTimeout(() => {
          writeFileSync(path, '[x] task');
          utimesSync(path, tick, tick);
        }, 50);
      hasWritten = true;
      return new Date(tick.getTime() + 1_700);
    };
    const fetching = folder.fetch(createContext({ path: root }, { now }), { id: root }, { id: path, rev: '' });
    expect(textOf(await fetching)).toBe('[x] task');
  });

  it('is whole when its writer pauses in the middle', async () => {
    const path = join(root, 'note.md');
    writeFileSync(path, 'a'.repeat(2_000));
    writeFileSync(path, 'b'.repeat(1_000), { flag: 'r+' });
    // The clock stands at the last write, so that the machine's load decides nothing.
    const now = () => new Date(Math.ceil(statSync(path).mtimeMs));
    setTimeout(() => {
      const file = openSync(path, 'r+');
      writeSync(file, 'b'.repeat(1_000), 1_000);
      closeSync(file);
    }, 100);
    const ref = { id: path, rev: '' };
    const fetched = await folder.fetch(createContext({ path: root }, { now }), { id: root }, ref);
    expect(textOf(fetched)).toBe('b'.repeat(2_000));
    expect('rev' in fetched && fetched.rev).toBe((await refOf(root, 'note.md')).rev);
  });

  it('is read between two writes when it is never quiet', async () => {
    const path = join(root, 'log.md');
    writeFileSync(path, 'begun\n');
    let looks = 0;
    const timers: NodeJS.Timeout[] = [];
    const now = () => {
      // While it is waited for to be quiet, and long after the short wait of the later attempts.
      timers.push(setTimeout(() => appendFileSync(path, 'more\n'), ++looks <= 4 ? 100 : 200));
      return new Date(Math.ceil(statSync(path).mtimeMs));
    };
    const ref = { id: path, rev: '' };
    const fetched = await folder.fetch(createContext({ path: root }, { now }), { id: root }, ref);
    timers.forEach(clearTimeout);
    expect(textOf(fetched)).toMatch(/^begun\n(more\n){4}/);
    expect(looks).toBeGreaterThan(4);
  });

  it('ends when the run is aborted', async () => {
    await writeTree(root, ['a.md']);
    const signal = AbortSignal.abort(new Error('stop'));
    const fetching = folder.fetch(
      createContext({ path: root }, { signal }),
      { id: root },
      { id: join(root, 'a.md'), rev: '' },
    );
    await expect(fetching).rejects.toThrow('stop');
  });
});

describe('without permission', () => {
  it('a file is forbidden, and so is one in a closed folder: never gone', async () => {
    await writeTree(root, ['closed.md', 'folder/a.md']);
    await chmod(join(root, 'closed.md'), 0);
    await chmod(join(root, 'folder'), 0);
    for (const path of ['closed.md', 'folder/a.md']) {
      const result = await asNobody({ config: { path: root }, verb: 'fetch', ids: [join(root, path)] });
      expect(result.error, path).toMatchObject({ kind: 'forbidden', remedy: expect.stringContaining('permission') });
    }
  });
});

it('does not wait for the writer of a pipe that takes the place of a file', async () => {
  await writeTree(root, ['a.md']);
  const path = join(root, 'a.md');
  const pipe = join(root, '..', 'pipe');
  execFileSync('mkfifo', [pipe]);
  let isDone = false;
  const swapping = (async () => {
    for (let turn = 0; !isDone; turn++) {
      rmSync(path);
      if (turn % 2 === 0) linkSync(pipe, path);
      else writeFileSync(path, 'a.md');
      await nextTurn();
    }
  })();
  const seen = new Set<unknown>();
  for (let round = 0; round < sized(20, 50); round++) {
    seen.add(
      await fetchPath('a.md').then(
        (fetched) => textOf(fetched) ?? 'gone',
        (error: ConnectorError) => error.kind,
      ),
    );
  }
  isDone = true;
  await swapping;
  expect([...seen].filter((outcome) => !['a.md', 'gone', 'transient'].includes(String(outcome)))).toEqual([]);
});

it('follows a moved folder only by its new id', async () => {
  await writeTree(root, ['a/x.md']);
  const before = await refOf(root, 'a/x.md');
  await mkdir(join(root, 'b'));
  await rename(join(root, 'a'), join(root, 'b/a'));
  expect(await folder.fetch(createContext({ path: root }), { id: root }, before)).toEqual({ gone: true });
  const fetched = await fetchPath('b/a/x.md');
  expect('rev' in fetched && fetched.rev).toBe(before.rev);
});
