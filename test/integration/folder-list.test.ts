import { execFileSync } from 'node:child_process';
import { chmod, chown, link, mkdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import folder from '../../connectors/folder/index.ts';
import { listPage } from '../../connectors/folder/list.ts';
import { readEntries, readUntyped } from '../../connectors/folder/entries.ts';
import { toRef } from '../../connectors/folder/map.ts';
import { sized } from '../support/length.ts';
import { asNobody, createContext, createRoot, listAll, listPaths, writeTree } from './folder-fixture.ts';

let root: string;
let remove: () => Promise<void>;
beforeEach(async () => ({ root, remove } = await createRoot()));
afterEach(() => remove());

describe('pages', () => {
  const files = ['a-b/c.md', 'a.md', 'a/b/c.md', 'a/b.md', 'a/z.md', 'b.md', 'é.md', 'z/1.md', '😀.md', '\uff5e.md'];

  it('lists files in byte order of their whole paths', async () => {
    await writeTree(root, files);
    const { paths } = await listAll(createContext({ path: root }), root);
    const inByteOrder = files.toSorted((first, second) => Buffer.compare(Buffer.from(first), Buffer.from(second)));
    expect(paths).toEqual(inByteOrder);
  });

  it.each([1, 2, 3, 7])('answers the same in pages of %i, with and without the session', async (pageSize) => {
    await writeTree(root, files);
    const whole = await listAll(createContext({ path: root }), root);
    const kept = await listAll(createContext({ path: root }), root, { pageSize });
    const lost = createContext({ path: root });
    const resumed = await listAll(lost, root, { pageSize, between: lost.loseSessions });
    expect(kept.refs).toEqual(whole.refs);
    expect(resumed.refs).toEqual(whole.refs);
    expect(Math.max(...kept.pages.map((page) => page.refs.length))).toBe(pageSize);
  });

  it('repeats a page whose result was lost', async () => {
    await writeTree(root, files);
    const ctx = createContext({ path: root });
    const first = await listPage(ctx, { id: root }, undefined, 3);
    const second = await listPage(ctx, { id: root }, first.next, 3);
    expect(await listPage(ctx, { id: root }, first.next, 3)).toEqual(second);
    expect(await listPage(ctx, { id: root }, undefined, 3)).toEqual(first);
  });

  it('goes on behind a position whose file or folder is gone', async () => {
    await writeTree(root, ['a/1.md', 'a/2.md', 'b/1.md', 'c.md']);
    const ctx = createContext({ path: root });
    let isFirst = true;
    const { paths } = await listAll(ctx, root, {
      pageSize: 1,
      async between() {
        ctx.loseSessions();
        if (isFirst) await rm(join(root, 'a'), { recursive: true });
        isFirst = false;
      },
    });
    expect(paths).toEqual(['a/1.md', 'b/1.md', 'c.md']);
  });

  it('ends pages in bounded time where the rules leave out nearly everything', async () => {
    await writeTree(root, [...Array.from({ length: 90 }, (_, index) => `${index}.txt`), 'last.md']);
    const { paths, pages } = await listAll(createContext({ path: root, include: ['*.md'] }), root, { pageSize: 1 });
    expect(paths).toEqual(['last.md']);
    expect(pages.length).toBeGreaterThan(3);
  });

  it('reads a folder once while the session lives', async () => {
    await writeTree(root, ['1.md', '2.md', '3.md']);
    const late = () => writeFile(join(root, '4.md'), 'late');
    const kept = await listAll(createContext({ path: root }), root, { pageSize: 2, between: late });
    expect(kept.paths).toEqual(['1.md', '2.md', '3.md']);
    await rm(join(root, '4.md'));
    const lost = createContext({ path: root });
    const resumed = await listAll(lost, root, { pageSize: 2, between: () => late().then(lost.loseSessions) });
    expect(resumed.paths).toEqual(['1.md', '2.md', '3.md', '4.md']);
  });

  it('ends within a page when the run is aborted', async () => {
    await writeTree(root, files);
    const abort = new AbortController();
    const ctx = createContext({ path: root }, { signal: abort.signal });
    const page = await listAll(ctx, root, { pageSize: 2, between: () => abort.abort(new Error('stop')) }).catch(String);
    expect(page).toBe('Error: stop');
  });
});

describe('refs', () => {
  it('say what the file system says', async () => {
    await writeTree(root, { 'notes/a #1 ü%.md': 'four' });
    const { refs } = await listAll(createContext({ path: root }), root);
    expect(refs).toHaveLength(1);
    const id = join(root, 'notes/a #1 ü%.md');
    expect(refs[0]).toMatchObject({
      id,
      path: 'notes/a #1 ü%.md',
      title: 'a #1 ü%.md',
      size: 4,
      mimeType: 'text/markdown',
    });
    expect(new URL(refs[0]!.url!).pathname).toBe(pathToFileURL(id).pathname);
    expect(Date.parse(refs[0]!.updatedAt!)).toBeGreaterThan(Date.now() - 60_000);
  });

  it('keep the fingerprint over a move, change rev with an edit, and tell a reused inode apart', async () => {
    const list = async () => (await listAll(createContext({ path: root }), root)).refs[0]!;
    await writeTree(root, { 'a.md': 'one' });
    const before = await list();
    await mkdir(join(root, 'sub'));
    await rename(join(root, 'a.md'), join(root, 'sub/b.md'));
    const moved = await list();
    expect(moved.fingerprint).toBe(before.fingerprint);
    expect(moved.id).not.toBe(before.id);
    await writeFile(join(root, 'sub/b.md'), 'two');
    const edited = await list();
    expect(edited.rev).not.toBe(before.rev);
    expect(edited.fingerprint).toBe(before.fingerprint);
    await rm(join(root, 'sub/b.md'));
    await writeFile(join(root, 'c.md'), 'one');
    expect((await list()).fingerprint).not.toBe(before.fingerprint);
  });

  it('list hard links under each of their names', async () => {
    await writeTree(root, ['a.md']);
    await link(join(root, 'a.md'), join(root, 'b.md'));
    const { refs } = await listAll(createContext({ path: root }), root);
    expect(refs.map((ref) => ref.path)).toEqual(['a.md', 'b.md']);
    expect(refs[0]!.fingerprint).toBe(refs[1]!.fingerprint);
  });

  it('include files over the size limit: only their content is left out', async () => {
    await writeTree(root, { 'big.md': 'x'.repeat(100) });
    expect(await listPaths({ path: root, maxItemBytes: 10 })).toEqual(['big.md']);
  });
});

describe('rules', () => {
  const tree = [
    '.hidden.md',
    '.config/a.md',
    'a.md',
    'a.md~',
    'docs/b.md',
    'docs/c.txt',
    'docs/deep/d.md',
    'drafts',
    'x/drafts/e.md',
  ];
  const clutter = [
    '.memoryd/a',
    'node_modules/m/a.js',
    '.git/a',
    'Thumbs.db',
    '.DS_Store',
    '.#a.md',
    'a.swp',
    'film.part',
    '~$a.docx',
  ];

  it.each([
    ['nothing set', {}, ['a.md', 'docs/b.md', 'docs/c.txt', 'docs/deep/d.md', 'drafts', 'x/drafts/e.md']],
    ['include by name', { include: ['*.txt'] }, ['docs/c.txt']],
    ['include by folder', { include: ['docs'] }, ['docs/b.md', 'docs/c.txt', 'docs/deep/d.md']],
    ['include by path', { include: ['docs/*.md'] }, ['docs/b.md']],
    ['include from the root', { include: ['/*.md'] }, ['a.md']],
    ['include at any depth of a folder', { include: ['docs/**/*.md'] }, ['docs/b.md', 'docs/deep/d.md']],
    ['exclude by name', { exclude: ['*.md'] }, ['docs/c.txt', 'drafts']],
    [
      'exclude a folder at any depth',
      { exclude: ['drafts/'] },
      ['a.md', 'docs/b.md', 'docs/c.txt', 'docs/deep/d.md', 'drafts'],
    ],
    ['exclude by path', { exclude: ['docs/deep', 'x/**'] }, ['a.md', 'docs/b.md', 'docs/c.txt', 'drafts']],
    ['include what is in a folder', { include: ['drafts/', 'a.md/**'] }, ['x/drafts/e.md']],
    [
      'exclude what is in a folder of the root',
      { exclude: ['drafts/**', 'docs/**'] },
      ['a.md', 'drafts', 'x/drafts/e.md'],
    ],
    ['exclude wins', { include: ['docs'], exclude: ['*.md'] }, ['docs/c.txt']],
    [
      'hidden',
      { hidden: true, include: ['*.md'] },
      ['.config/a.md', '.hidden.md', 'a.md', 'docs/b.md', 'docs/deep/d.md', 'x/drafts/e.md'],
    ],
  ])('%s', async (_name, config, expected) => {
    await writeTree(root, [...tree, ...clutter]);
    expect(await listPaths({ path: root, ...config })).toEqual(expected);
  });

  it('that are hostile take no longer than others, and those that are none are refused by name', async () => {
    const name = 'a'.repeat(250);
    await writeTree(root, [name, `sub/${name}`]);
    const hostile = [`${'*a'.repeat(60)}b`, `${'**/a/'.repeat(40)}b`];
    expect(await listPaths({ path: root, exclude: hostile })).toHaveLength(2);
    expect(await listPaths({ path: root, include: [...hostile, 'sub/'] })).toEqual([`sub/${name}`]);
    await expect(listPaths({ path: root, exclude: ['{a'] })).rejects.toMatchObject({ kind: 'bad_config' });
    const checks = await folder.check(createContext({ path: root, include: ['[a'] }));
    const told = { name: 'patterns', status: 'failed', detail: 'The pattern [a has a [ without ].' };
    expect(checks).toContainEqual(expect.objectContaining(told));
  });

  it('leave out the usual clutter unless told otherwise, and the daemon’s own data always', async () => {
    await writeTree(root, clutter);
    expect(await listPaths({ path: root, hidden: true })).toEqual([]);
    const listed = await listPaths({ path: root, hidden: true, defaultExcludes: false });
    expect(new Set(listed)).toEqual(new Set(clutter.filter((path) => !path.startsWith('.memoryd'))));
  });
});

/** What Git does not ignore. */
function gitPaths(root: string): string[] {
  execFileSync('git', ['init', '-q'], { cwd: root });
  const output = execFileSync('git', ['-c', 'core.excludesFile=', 'ls-files', '-zo', '--exclude-standard'], {
    cwd: root,
  });
  const paths = output.toString().split('\0');
  return paths.filter((path) => path !== '' && !path.includes('.gitignore'));
}

describe('.gitignore', () => {
  const files = {
    '.gitignore': '\ufeff# top\r\n*.log\r\n/build\nlogs/\n!keep.log\nsecret\\ name.md\n  \n/\n',
    'a.log': '',
    'keep.log': '',
    'a.md': '',
    'build/x.md': '',
    'sub/build/y.md': '',
    'secret name.md': '',
    'logs/a.md': '',
    'sub/logs/a.md': '',
    'sub/logs/b.log': '',
    'sub/only/this.md': '',
    'only/this.md': '',
    'sub/.gitignore': '!logs/\n/only\n*.tmp2\n!/a.log\n\\#x.md\n \n',
    'sub/a.log': '',
    'sub/deep/a.log': '',
    'sub/b.tmp2': '',
    'sub/#x.md': '',
    'b.tmp2': '',
    'odd [x] *dir/.gitignore': 'x.md\n',
    'odd [x] *dir/x.md': '',
    'odd x dir/x.md': '',
  };

  it('is honoured in nested folders exactly as Git does', async () => {
    await writeTree(root, files);
    const git = gitPaths(root);
    expect(git).toContain('sub/logs/a.md');
    expect(new Set(await listPaths({ path: root, gitignore: true }))).toEqual(new Set(git));
  });

  it('means to Git what it means here, whatever stands in it', async () => {
    const names = ['a', 'b', 'a b', 'a*', 'a[b]', '{a,b}', '#a', '!b', 'ab', 'b '];
    const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
    const part = fc.constantFrom(
      ...names,
      '*',
      '**',
      'a?',
      '[ab]',
      '[!a]',
      '[^b]',
      '*b',
      '\\a',
      'a\\*',
      '\\#a',
      '\\!b',
      'b\\ ',
    );
    const line = fc
      .tuple(
        fc.constantFrom('', '', '!', '/'),
        fc.array(part, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('', '', '/', ' '),
      )
      .map(([before, parts, after]) => before + parts.join('/') + after);
    const lines = fc.array(line, { minLength: 1, maxLength: 4 }).map((each) => each.join('\n'));
    const patterns = fc.dictionary(fc.constantFrom('', 'a/', 'b/a/'), lines, { minKeys: 1 });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(path, { minLength: 1, maxLength: 12 }), patterns, async (paths, files) => {
        const tree = join(root, String(runs++));
        for (const each of [...paths, ...Object.keys(files).map((prefix) => `${prefix}.gitignore`)]) {
          const text = each.endsWith('.gitignore') ? files[each.slice(0, -'.gitignore'.length)]! : '';
          await writeTree(tree, { [each]: text }).catch(() => undefined);
        }
        const config = await listPaths({ path: tree, gitignore: true });
        expect(new Set(config)).toEqual(new Set(gitPaths(tree)));
      }),
      { numRuns: sized(30, 60) },
    );
  });

  it('cannot keep the listing busy, however hostile its patterns are', async () => {
    const name = 'a'.repeat(250);
    await writeTree(root, { '.gitignore': `${'*a'.repeat(60)}b\n${'**/a/'.repeat(40)}b\n`, [name]: '' });
    expect(await listPaths({ path: root, gitignore: true })).toEqual([name]);
  });

  it('is not looked at unless asked for', async () => {
    await writeTree(root, { '.gitignore': '*', 'a.md': '' });
    expect(await listPaths({ path: root })).toEqual(['a.md']);
    expect(await listPaths({ path: root, gitignore: true })).toEqual([]);
  });

  it('leaves its folder unread when it cannot be read, instead of showing what it hides', async () => {
    await writeTree(root, { 'a.md': '', 'sub/.gitignore': '*', 'sub/private.md': '' });
    await chmod(join(root, 'sub/.gitignore'), 0);
    const { paths, incomplete, unread } = await asNobody({ config: { path: root, gitignore: true }, verb: 'list' });
    expect(paths).toEqual(['a.md']);
    expect([incomplete, unread]).toEqual([undefined, [{ path: 'sub', reason: 'EACCES' }]]);
  });

  it('may be a pipe or a folder without harm', async () => {
    await writeTree(root, ['a.md', 'sub/.gitignore/b.md', 'sub/c.md']);
    execFileSync('mkfifo', [join(root, '.gitignore')]);
    expect(await listPaths({ path: root, gitignore: true })).toEqual(['a.md', 'sub/c.md']);
  });
});

describe('symbolic links', () => {
  beforeEach(async () => {
    await writeTree(join(root, '..'), ['outside/secret.md']);
    await writeTree(root, ['real/a.md', 'real/sub/b.md', 'other/c.md']);
    await symlink(join(root, 'real'), join(root, 'link'));
    await symlink('real/a.md', join(root, 'file-link.md'));
    await symlink('..', join(root, 'real/sub/loop'));
    await symlink(root, join(root, 'other/root'));
    await symlink('self', join(root, 'self'));
    await symlink('nowhere', join(root, 'broken'));
    await symlink('../outside', join(root, 'escape'));
    await symlink('../outside/secret.md', join(root, 'escape.md'));
    await symlink('../other', join(root, 'real/other'));
  });

  it('are skipped by default', async () => {
    expect(await listPaths({ path: root })).toEqual(['other/c.md', 'real/a.md', 'real/sub/b.md']);
  });

  it('are followed inside the root: no loop, no escape, no link below a link', async () => {
    expect(await listPaths({ path: root, followSymlinks: true })).toEqual([
      'file-link.md',
      'link/a.md',
      'link/sub/b.md',
      'other/c.md',
      'real/a.md',
      'real/other/c.md',
      'real/sub/b.md',
    ]);
  });

  it('answer the same when the listing is resumed inside a linked folder', async () => {
    const ctx = createContext({ path: root, followSymlinks: true });
    const whole = await listAll(createContext({ path: root, followSymlinks: true }), root);
    const resumed = await listAll(ctx, root, { pageSize: 1, between: ctx.loseSessions });
    expect(resumed.refs).toEqual(whole.refs);
  });

  it('lead to the folder when the configured path is one', async () => {
    const ctx = createContext({ path: join(root, 'link') });
    expect(await folder.partitions(ctx)).toEqual([{ id: join(root, 'real'), title: 'real' }]);
  });
});

describe('names and kinds', () => {
  it('skips pipes and sockets without opening them', async () => {
    await writeTree(root, ['a.md']);
    execFileSync('mkfifo', [join(root, 'pipe')]);
    const server = createServer().listen(join(root, 'socket'));
    expect(await listPaths({ path: root })).toEqual(['a.md']);
    server.close();
  });

  it('escapes names that are not UTF-8, one id each, and reads them back', async () => {
    const names = [
      'a\xff.md',
      'a\xfe.md',
      'ok.md',
      '\xc3\xbc.md',
      'cut\xe2\x82',
      '\xef\x9e\x80',
      '\xef\xbf\xbd',
      '\xff/in\xff.md',
    ];
    for (const name of names) {
      if (name.includes('/')) await mkdir(Buffer.from(`${root}/${name.split('/')[0]}`, 'latin1'));
      await writeFile(Buffer.from(`${root}/${name}`, 'latin1'), Buffer.from(name, 'latin1'));
    }
    const ctx = createContext({ path: root });
    const { refs, paths } = await listAll(ctx, root, { pageSize: 1, between: ctx.loseSessions });
    expect(new Set(paths).size).toBe(names.length);
    expect(paths).toContain('ü.md');
    expect(paths.every((path) => path!.isWellFormed())).toBe(true);
    const contents = await Promise.all(refs.map((ref) => folder.fetch(ctx, { id: root }, ref)));
    const read = contents.map((fetched) =>
      'file' in fetched ? Buffer.from(fetched.file.bytes).toString('latin1') : '',
    );
    expect(read.toSorted()).toEqual(names.toSorted());
    const ids = refs.map((ref) => ref.id);
    expect((await folder.lookup!(ctx, { id: root }, ids)).refs.map((ref) => ref.id)).toEqual(ids);
  });

  it('reads folders the same on file systems that tell no kinds', async () => {
    await writeTree(root, ['ü.md', 'a/b.md', 'c.md']);
    await symlink('a', join(root, 'link'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    const sorted = (entries: { names: string[]; links: string[] }) => [entries.names.sort(), entries.links.sort()];
    const expected = [['\xc3\xbc.md', 'a/', 'c.md'].sort(), ['link']];
    expect(sorted(await readEntries(root))).toEqual(expected);
    expect(sorted(await readUntyped(root))).toEqual(expected);
    const failing = () =>
      Promise.reject(Object.assign(new Error('a kind could not be told'), { code: 'ENOENT', errno: -2 }));
    expect(sorted(await readEntries(root, false, failing))).toEqual(expected);
    expect(await readEntries(join(root, 'link'))).toEqual({ names: [], links: [] });
    expect(await readEntries(join(root, 'link'), true)).toEqual({ names: ['b.md'], links: [] });
  });
});

it('lists files whose names begin or end with what others trim', async () => {
  const names = [' a', 'a ', 'a. ', 'a.', '\ta'];
  await writeTree(root, names);
  expect(new Set(await listPaths({ path: root, include: ['**'] }))).toEqual(new Set(names));
});

it('does not take two files that were born at the same time for one', () => {
  const facts = { kind: 'file', bytes: 1, modifiedMs: 1, changedMs: 1, bornMs: 0, device: 1 } as const;
  const [one, same, other] = [7, 7, 8].map((inode) => toRef('/r', 'a.md', 'a.md', { ...facts, inode }).fingerprint);
  expect(same).toBe(one);
  expect(other).not.toBe(one);
});

describe('unreadable files and folders', () => {
  it('is told apart when it is a folder: the listing shows what lies outside it', async () => {
    await writeTree(root, ['a.md', 'closed/b.md', 'd.md', 'e.md']);
    await chmod(join(root, 'closed'), 0);
    const { paths, incomplete, unread } = await asNobody({ config: { path: root }, verb: 'list' });
    expect(paths).toEqual(['a.md', 'd.md', 'e.md']);
    expect([incomplete, unread]).toEqual([undefined, [{ path: 'closed', reason: 'EACCES' }]]);
  });

  it('keeps the mark in the cursor when the session is lost', async () => {
    await writeTree(root, ['a.md', 'b.md']);
    const { pages } = await listAll(createContext({ path: root }), root, { pageSize: 1 });
    const cursor = { ...pages[0]!.next!, incomplete: 'a (EIO)' };
    const page = await folder.list(createContext({ path: root }), { id: root }, cursor);
    expect(page).toMatchObject({ done: true, incomplete: 'a (EIO)' });
  });

  it('is everything when it is the root that may be read but not entered', async () => {
    await writeTree(root, ['a.md', 'b/c.md']);
    await chmod(root, 0o744);
    const { paths, incomplete, unread } = await asNobody({ config: { path: root }, verb: 'list' });
    expect(paths).toEqual([]);
    expect([incomplete, unread]).toEqual([expect.stringContaining('. (EACCES)'), []]);
  });

  it('is told apart when it is a link whose target may not be looked at', async () => {
    await writeTree(root, ['a.md', 'closed/inner/b.md']);
    await symlink(join(root, 'closed/inner'), join(root, 'link'));
    await chmod(join(root, 'closed'), 0);
    const { paths, incomplete, unread } = await asNobody({
      config: { path: root, followSymlinks: true },
      verb: 'list',
    });
    expect(paths).toEqual(['a.md']);
    const reason = 'EACCES';
    expect([incomplete, unread]).toEqual([
      undefined,
      expect.arrayContaining([
        { path: 'closed', reason },
        { path: 'link', reason },
      ]),
    ]);
  });

  it('is one part when it is a folder that may be read but not entered', async () => {
    await writeTree(root, ['half/b.md', 'half/c.md']);
    await chmod(join(root, 'half'), 0o744);
    const { paths, incomplete, unread } = await asNobody({ config: { path: root }, verb: 'list' });
    expect(paths).toEqual([]);
    expect([incomplete, unread]).toEqual([undefined, [{ path: 'half', reason: 'EACCES' }]]);
  });

  it('has another rev when its permissions change, and when it is written with the same size and time', async () => {
    await writeTree(root, { 'a.md': 'first' });
    const revOf = async () => (await listAll(createContext({ path: root }), root)).refs[0]!.rev;
    const file = join(root, 'a.md');
    const first = await revOf();
    await chmod(file, 0o600);
    const second = await revOf();
    const { atime, mtime } = await stat(file);
    await writeFile(file, 'other');
    await utimes(file, atime, mtime);
    const third = await revOf();
    expect(new Set([first, second, third]).size).toBe(3);
    expect(await revOf()).toBe(third);
  });

  it('lists files without read permission', async () => {
    await writeTree(root, ['a.md', 'closed.md']);
    await chmod(join(root, 'closed.md'), 0);
    const { paths, incomplete } = await asNobody({ config: { path: root }, verb: 'list' });
    expect(paths).toEqual(['a.md', 'closed.md']);
    expect(incomplete).toBeUndefined();
  });

  it('takes a folder that vanishes during the listing for gone', async () => {
    await writeTree(root, ['a/1.md', 'b/1.md', 'c/1.md']);
    const between = () => rm(join(root, 'b'), { recursive: true, force: true });
    const listing = await listAll(createContext({ path: root }), root, { pageSize: 1, between });
    expect(listing.paths).toEqual(['a/1.md', 'c/1.md']);
    expect(listing.incomplete).toBeUndefined();
  });
});

describe('the root', () => {
  const kindOf = (call: Promise<unknown>) =>
    call.then(
      () => 'nothing thrown',
      (error: { kind: string }) => error.kind,
    );

  it('that is missing, a file or closed is an error, never an empty listing', async () => {
    await writeTree(root, ['file']);
    const missing = join(root, 'missing');
    expect(await kindOf(folder.partitions(createContext({ path: missing })))).toBe('source_missing');
    expect(await kindOf(folder.list(createContext({ path: missing }), { id: missing }))).toBe('source_missing');
    expect(await kindOf(folder.partitions(createContext({ path: join(root, 'file') })))).toBe('source_missing');
    expect(await kindOf(folder.partitions(createContext({ path: 'notes' })))).toBe('bad_config');
    await chmod(root, 0);
    const { error } = await asNobody({ config: { path: root }, verb: 'list' });
    expect(error).toMatchObject({ kind: 'forbidden', remedy: expect.stringContaining('permission') });
    await chmod(root, 0o711);
    expect((await asNobody({ config: { path: root }, verb: 'list' })).error.kind).toBe('forbidden');
  });

  it('that never held a file counts as a disk that is not mounted', async () => {
    const listing = await listAll(createContext({ path: root }), root);
    expect(listing.refs).toEqual([]);
    expect(listing.incomplete).toContain('mounted');
  });

  it('that was emptied is a complete, empty listing', async () => {
    await writeTree(root, ['a.md']);
    await rm(join(root, 'a.md'));
    const listing = await listAll(createContext({ path: root }), root);
    expect(listing.pages).toEqual([{ refs: [], done: true }]);
  });

  it('that is replaced between two pages ends the listing as incomplete', async () => {
    await writeTree(root, ['a.md', 'b.md', 'c.md']);
    const ctx = createContext({ path: root });
    const listing = await listAll(ctx, root, {
      pageSize: 1,
      async between(page) {
        if (page.done) return;
        await rename(root, `${root}.unmounted`);
        await mkdir(root);
      },
    });
    expect(listing.paths).toEqual(['a.md']);
    expect(listing.incomplete).toContain('Another folder or disk');
  });

  it('that is replaced while a page is read shows nothing, and nothing as gone', async () => {
    await writeTree(root, ['a.md']);
    const ctx = createContext({ path: root });
    async function session<Value>(_key: string, make: () => Promise<Value>): Promise<Value> {
      await rename(root, `${root}.unmounted`);
      await writeTree(root, ['b.md']);
      return make();
    }
    expect(await kindOf(folder.list({ ...ctx, session }, { id: root }))).toBe('transient');
  });

  it('that goes away between two pages is source_missing', async () => {
    await writeTree(root, ['a.md', 'b.md']);
    const between = () => rm(root, { recursive: true });
    const listing = listAll(createContext({ path: root }), root, { pageSize: 1, between });
    expect(await kindOf(listing)).toBe('source_missing');
  });

  it('that has moved behind a link is not read under its old name', async () => {
    await writeTree(root, ['a.md']);
    await rename(root, `${root}.moved`);
    await symlink(`${root}.moved`, root);
    expect(await kindOf(listAll(createContext({ path: root }), root))).toBe('transient');
  });
});

it('is deterministic for an owner other than the daemon’s user', async () => {
  await writeTree(root, ['a.md', 'b/c.md']);
  if (process.getuid?.() === 0) await chown(join(root, 'a.md'), 65_534, 65_534);
  const mine = await listAll(createContext({ path: root }), root);
  const theirs = await asNobody({ config: { path: root }, verb: 'list' });
  expect(theirs.refs).toEqual(JSON.parse(JSON.stringify(mine.refs)));
});
