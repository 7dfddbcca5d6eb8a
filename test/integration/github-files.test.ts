import { afterEach, describe, expect, it } from 'vitest';
import type { Put } from '../../fixtures/servers/github/git-store.ts';
import { createGithubFixture } from './github-fixture.ts';

type Fixture = Awaited<ReturnType<typeof createGithubFixture>>;

let fixture: Fixture | undefined;
afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

async function start(options: Parameters<typeof createGithubFixture>[1] = {}, files: Record<string, Put> = {}) {
  const made = await createGithubFixture({ content: ['files'] }, { selection: 'repository', ...options });
  fixture = made;
  if (Object.keys(files).length > 0) made.git.commit(files);
  return made;
}

async function syncWell({ mirror }: Fixture, mode: 'full' | 'incremental' = 'incremental') {
  const run = await mirror.sync({ mode });
  expect(run).toMatchObject({ status: 'completed', error: null });
  return run;
}

const many = (count: number, text = 'text') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`notes/${index}.md`, `${text} ${index}\n`]));

describe('files of a repository', () => {
  it('costs one conditional request while nothing is pushed', async () => {
    const world = await start({}, many(3));
    await syncWell(world);
    world.takeRequests();
    await syncWell(world);
    expect(world.takeRequests()).toEqual([`GET /repositories/${world.repository.id}/commits`]);
    expect(world.server.traffic.recent().at(-1)!.headers['if-none-match']).toBeDefined();
  });

  it('backfills many files with five requests', async () => {
    const world = await start({}, many(1_000));
    await syncWell(world);
    expect(world.takeRequests().length).toBeLessThanOrEqual(5);
    expect(await world.files()).toEqual(world.expected());
  });

  it.each([1, 51, 150, 200])(
    'reads a push of %i files with two requests and at most one for each 50 files',
    async (count) => {
      const world = await start({}, many(200));
      await syncWell(world);
      world.takeRequests();
      world.git.commit(many(count, 'another text'));
      await syncWell(world);
      expect(world.takeRequests().length).toBeLessThanOrEqual(2 + Math.ceil(count / 50));
      expect(await world.files()).toEqual(world.expected());
    },
  );

  it('keeps the document of a renamed file', async () => {
    const world = await start({}, { 'a.md': 'the text of a file that is renamed', 'b.md': 'another' });
    await syncWell(world);
    const before = await world.mirror.documentIds();
    world.takeRequests();
    world.git.commit({ 'a.md': null, 'folder/c.md': 'the text of a file that is renamed' });
    await syncWell(world);
    const after = await world.mirror.documentIds();
    const idOf = (path: string) => `${world.repository.id}:file:${path}`;
    expect(after.get(idOf('folder/c.md'))).toBe(before.get(idOf('a.md')));
    expect(after.has(idOf('a.md'))).toBe(false);
    expect(world.takeRequests()).toHaveLength(3);
  });

  it('follows a force push and a base that is no longer there', async () => {
    const world = await start({}, { 'a.md': 'one', 'b.md': 'two' });
    const first = world.git.head('main')!;
    world.git.commit({ 'a.md': 'changed', 'c.md': 'three' });
    await syncWell(world);
    world.git.commit({ 'd.md': 'four' }, { from: first });
    await syncWell(world);
    expect(await world.files()).toEqual(world.expected());
  });

  it('reads a branch whose commits are older than the last sync when it is merged', async () => {
    const world = await start({}, { 'a.md': 'one' });
    const side = world.git.commit(
      { 'side.md': 'from an old branch' },
      { branch: 'side', from: world.git.head('main')! },
    );
    world.git.commit({ 'b.md': 'two' });
    await syncWell(world);
    world.git.commit({ 'side.md': 'from an old branch' }, { merge: side });
    await syncWell(world);
    expect(await world.files()).toEqual(world.expected());
  });

  it('does nothing for a push to another branch', async () => {
    const world = await start({}, many(10));
    await syncWell(world);
    world.takeRequests();
    world.git.commit({ 'x.md': 'elsewhere' }, { branch: 'other', from: world.git.head('main')! });
    await syncWell(world);
    expect(world.takeRequests()).toHaveLength(1);
  });

  it('keeps every document when the repository is renamed, and goes on under the new name', async () => {
    const world = await start({}, { 'a.md': 'one' });
    await syncWell(world);
    const before = await world.mirror.documentIds();
    world.source.rename(world.repository, 'others/journal');
    await syncWell(world);
    expect(await world.mirror.documentIds()).toEqual(before);
    world.git.commit({ 'b.md': 'two' });
    await syncWell(world);
    expect(await world.files()).toEqual(world.expected());
    world.source.rename(world.repository, 'third/paper');
    world.git.commit({ 'c.md': 'three' });
    await syncWell(world);
    const urls = (await world.mirror.rows()).map(({ url }) => url);
    expect(urls).toContainEqual(expect.stringMatching(/third\/paper\/blob\/main\/c.md$/));
  });

  it('follows the default branch to another one', async () => {
    const world = await start({}, { 'a.md': 'one', 'b.md': 'two' });
    await syncWell(world);
    world.git.commit({ 'a.md': 'one, later' }, { branch: 'trunk', from: world.git.head('main')! });
    world.git.commit({ 'c.md': 'only on main' });
    await syncWell(world);
    world.repository.defaultBranch = 'trunk';
    await syncWell(world);
    expect(await world.files()).toEqual(world.expected());
    const urls = (await world.mirror.rows()).map(({ url }) => url);
    expect(urls).toContainEqual(expect.stringMatching(/\/blob\/trunk\/a.md$/));
  });

  it('walks a tree that is cut off, folder by folder', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`f${index % 4}/g${index % 3}/${index}.md`, `text ${index}`]),
    );
    const world = await start({ treeLimit: 10 }, { ...files, 'top.md': 'top' });
    await syncWell(world);
    expect(await world.files()).toEqual(world.expected());
    world.git.commit({ 'f1/g1/1.md': null, 'f1/new.md': 'new' });
    await syncWell(world);
    expect(await world.files()).toEqual(world.expected());
  });

  it('lists links, submodules, LFS pointers, empty and binary files as skipped', async () => {
    const lfs = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n';
    const strange: Record<string, Put> = {
      'link.md': { mode: '120000', target: 'a.md' },
      module: { mode: '160000', target: '1'.repeat(40) },
      'large.md': lfs,
      'binary.md': Buffer.from([1, 0, 2]),
      'empty.md': '',
    };
    const world = await start({}, { 'a.md': 'one', ...strange });
    await syncWell(world);
    expect(await world.files()).toEqual({ 'a.md': 'one' });
    const states = async () =>
      (await world.mirror.items()).map((item) => [item['ext_id'].split(':file:')[1], item['state']]);
    const skipped = Object.keys(strange).map((path) => [path, 'skipped']);
    expect(await states()).toEqual(expect.arrayContaining(skipped));
    const again = Object.fromEntries(Object.entries(strange).map(([path, put]) => [`again/${path}`, put]));
    world.git.commit(again);
    await syncWell(world);
    expect(await world.files()).toEqual({ 'a.md': 'one' });
    expect(await states()).toEqual(expect.arrayContaining(skipped.map(([path, state]) => [`again/${path}`, state])));
  });

  it('reads from the archive only what Git really has', async () => {
    const attributes = 'secret.md export-ignore\nstamp.md export-subst\n';
    const world = await start(
      {},
      { ...many(250), '.gitattributes': attributes, 'secret.md': 's', 'stamp.md': '$Format:%H$' },
    );
    await syncWell(world);
    expect(await world.files()).toEqual(world.expected());
  });

  it('pauses and keeps everything when the repository is deleted or hidden', async () => {
    const world = await start({}, { 'a.md': 'one' });
    await syncWell(world);
    world.repository.isHidden = true;
    await world.mirror.sync();
    await world.mirror.sync({ mode: 'full' });
    expect(await world.files()).toEqual({ 'a.md': 'one' });
  });

  it('mirrors an empty repository as nothing, and what is pushed to it first', async () => {
    const world = await start();
    await syncWell(world);
    world.git.commit({ 'a.md': 'one' });
    await syncWell(world);
    expect(await world.files()).toEqual({ 'a.md': 'one' });
  });
});
