import { execFileSync } from 'node:child_process';
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConnectorError } from 'memoryd/connector';
import type { FolderConfig } from '../../connectors/folder/config.ts';
import folder from '../../connectors/folder/index.ts';
import { asNobody, createContext, createRoot, listAll, writeTree } from './folder-fixture.ts';

let root: string;
let remove: () => Promise<void>;
beforeEach(async () => ({ root, remove } = await createRoot()));
afterEach(() => remove());

const at = (path: string) => join(root, path);

function lookUp(paths: string[], config: Partial<FolderConfig> = {}) {
  return folder.lookup!(createContext({ path: root, ...config }), { id: root }, paths.map(at));
}

it('answers the refs of the listing for what is there, and gone for the rest', async () => {
  await writeTree(root, ['a.md', 'b/c.md', 'b/d.md']);
  const { refs } = await listAll(createContext({ path: root }), root);
  const page = await lookUp(['b/c.md', 'none.md', 'none/a.md', 'a.md', 'a.md/b.md', 'b/d.md']);
  expect(page).toEqual({
    refs: [refs[1], refs[0], refs[2]],
    gone: ['none.md', 'none/a.md', 'a.md/b.md'].map(at),
    done: true,
  });
});

it('says gone of what the rules leave out and of what is no file', async () => {
  await writeTree(root, { '.hidden.md': '', 'drafts/a.md': '', 'b.md': '', '.gitignore': 'b.md' });
  await symlink('drafts/a.md', at('link.md'));
  execFileSync('mkfifo', [at('pipe.md')]);
  const paths = ['.hidden.md', 'drafts/a.md', 'b.md', 'link.md', 'pipe.md', 'drafts'];
  const page = await lookUp(paths, { exclude: ['drafts'], gitignore: true });
  expect(page).toEqual({ refs: [], gone: paths.map(at), done: true });
});

it('says gone of ids outside the root', async () => {
  await writeTree(root, ['a.md']);
  const ids = ['/etc/passwd', `${root}/../root/a.md`, `${root}x`];
  const page = await folder.lookup!(createContext({ path: root }), { id: root }, ids);
  expect(page).toEqual({ refs: [], gone: ids, done: true });
});

describe('a folder among the ids', () => {
  it('stands for the files below it', async () => {
    await writeTree(root, ['a/b/c.md', 'a/d.md', 'a/.hidden.md', 'e.md']);
    const page = await lookUp(['a', 'a/d.md']);
    expect(page.refs.map((ref) => ref.path)).toEqual(['a/b/c.md', 'a/d.md']);
    expect(page.gone).toEqual([at('a')]);
    expect(page.incomplete).toBeUndefined();
  });

  it('with too many files makes the answer incomplete', async () => {
    await writeTree(root, ['z.md', ...Array.from({ length: 1_001 }, (_, index) => `a/${index}.md`)]);
    const page = await lookUp(['a', 'z.md']);
    expect(page.incomplete).toContain('more than 1000 files');
    expect(page.refs).toHaveLength(1_001);
    expect(page.gone).toEqual([]);
  });

  it('may be a link that is followed, under the same rules as the listing', async () => {
    await writeTree(root, ['real/a.md', 'real/deep/b.md', 'other/c.md']);
    await symlink('../other', at('real/other'));
    await symlink('real', at('link'));
    const config = { followSymlinks: true };
    expect((await lookUp(['link'], config)).refs.map((ref) => ref.path)).toEqual(['link/a.md', 'link/deep/b.md']);
    expect((await lookUp(['link/deep/b.md', 'link/other/c.md'], config)).gone).toEqual([at('link/other/c.md')]);
    expect((await lookUp(['link', 'link/a.md'])).gone).toEqual(['link', 'link/a.md'].map(at));
  });
});

describe('without permission', () => {
  it('nothing is gone: the answer is incomplete', async () => {
    await writeTree(root, ['closed/a.md', 'b.md']);
    await chmod(at('closed'), 0);
    const ids = ['closed/a.md', 'b.md', 'none.md'].map(at);
    const page = await asNobody({ config: { path: root }, verb: 'lookup', ids });
    expect(page.refs.map((ref: { path: string }) => ref.path)).toEqual(['b.md']);
    expect(page.gone).toEqual([at('none.md')]);
    expect(page.incomplete).toContain('EACCES');
  });
});

describe('the root', () => {
  const kindOf = (call: Promise<unknown>) =>
    call.then(
      () => 'nothing thrown',
      (error: ConnectorError) => error.kind,
    );

  it('that is missing is source_missing, not everything gone', async () => {
    await rm(root, { recursive: true });
    expect(await kindOf(lookUp(['a.md']))).toBe('source_missing');
  });

  it('that looks unmounted is source_missing too', async () => {
    expect(await kindOf(lookUp(['a.md']))).toBe('source_missing');
    await writeFile(at('a.md'), 'x');
    await rm(at('a.md'));
    expect(await lookUp(['a.md'])).toEqual({ refs: [], gone: [at('a.md')], done: true });
  });

  it('that has become a link elsewhere vouches for nothing', async () => {
    await writeTree(root, ['a.md']);
    await rename(root, `${root}.moved`);
    await mkdir(`${root}.other`);
    await symlink(`${root}.other`, root);
    expect(await kindOf(lookUp(['a.md']))).toBe('transient');
  });
});
