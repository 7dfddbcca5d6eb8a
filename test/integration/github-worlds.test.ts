import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import github from '../../connectors/github/index.ts';
import type { FetchedDocument } from '../../src/connector/contract.ts';
import type { Fault, SourceRequest } from '../../src/connector-kit/serve-source.ts';
import { createMemoryGit } from '../../fixtures/servers/github/memory-git.ts';
import { createGithubFixture } from './github-fixture.ts';

type Fixture = Awaited<ReturnType<typeof createGithubFixture>>;

let world: Fixture;
/** What GitHub answers in place of what it has. */
let instead: (request: SourceRequest) => Fault | undefined;

const open = async (options: { treeLimit?: number } = {}) => {
  const served = { ...options, git: createMemoryGit, gate: (request: SourceRequest) => instead(request) };
  world = await createGithubFixture({ repositories: ['acme/notes'], content: ['files'] }, served);
};
const otherBlob = { content: '', encoding: 'utf-8', url: 'https://api.github.com/', sha: '0', size: 0, node_id: 'B' };
const notFound = { status: 404, json: { message: 'Not Found' } };
const path = (index: number) => `folder-${index % 9}/file-${index}.md`;
const files = (from: number, to: number, text: string | null) =>
  Object.fromEntries(Array.from({ length: to - from }, (_, index) => [path(from + index), text && `${text} ${index}`]));

/** Memory holds what the branch has, at once or when what failed for a while is tried again. */
async function expectMirror(): Promise<void> {
  expect(await world.files()).toEqual(world.expected());
}

async function recover(): Promise<void> {
  instead = () => undefined;
  world.clock.advance(26 * 3_600_000);
  await world.mirror.sync();
  world.clock.advance(26 * 3_600_000);
  await world.mirror.sync();
}

describe('files of a repository', () => {
  beforeEach(() => void (instead = () => undefined));
  afterEach(() => world.close());

  it('of a push that changes more files than a comparison shows are all right', async () => {
    await open();
    world.git.commit(files(0, 420, 'old'));
    await world.mirror.sync();
    world.git.commit({ ...files(0, 340, 'new'), ...files(400, 420, null), ...files(500, 520, 'added') });
    await world.mirror.sync();
    await expectMirror();
  });

  it('of a push that changes just as many files as a comparison shows are all right', async () => {
    await open();
    world.git.commit(files(0, 330, 'old'));
    await world.mirror.sync();
    world.git.commit({ ...files(0, 280, 'new'), ...files(280, 300, null) });
    await world.mirror.sync();
    await expectMirror();
  });

  it('of a force push that takes back a removal, a rename and an edit are those of the branch', async () => {
    await open();
    const base = world.git.commit(files(0, 12, 'old'));
    world.git.commit({ [path(3)]: null, [path(4)]: 'edited', 'renamed.md': 'old 5', [path(5)]: null });
    await world.mirror.sync();
    await expectMirror();
    world.git.commit({ 'other.md': 'other' }, { from: base });
    await world.mirror.sync();
    await expectMirror();
  });

  it('of a tree that is cut off are all right after a push that is too large to be compared', async () => {
    await open({ treeLimit: 60 });
    world.git.commit(files(0, 330, 'old'));
    await world.mirror.sync();
    await expectMirror();
    world.git.commit({ ...files(0, 310, 'new'), ...files(320, 330, null) });
    await world.mirror.sync({ mode: 'full' });
    await expectMirror();
  });

  it.each([
    { what: 'grows beyond', from: 330, to: 430 },
    { what: 'shrinks below', from: 430, to: 330 },
  ])('of a tree that $what what GitHub shows at once, by a large push, are all right', async ({ from, to }) => {
    await open({ treeLimit: 400 });
    world.git.commit(files(0, from, 'old'));
    await world.mirror.sync();
    world.git.commit({ ...files(0, 310, 'new'), ...files(310, from, null), ...files(330, to, 'added') });
    expect(await world.mirror.sync()).toMatchObject({ status: 'completed', itemsDeleted: from < to ? 20 : 0 });
    world.clock.advance(11 * 60_000);
    await world.mirror.sync({ mode: 'full' });
    await expectMirror();
  });

  it.each([
    ['a tree', /\/git\/trees\//],
    ['a comparison', /\/compare\//],
    ['the newest commit', /\/commits$/],
  ])('are kept while GitHub answers 404 for %s', async (_, hidden) => {
    await open();
    world.git.commit(files(0, 9, 'old'));
    await world.mirror.sync();
    const before = await world.files();
    world.git.commit({ [path(1)]: 'new', [path(2)]: null });
    instead = ({ path: asked }) => (hidden.test(asked) ? notFound : undefined);
    for (const mode of ['incremental', 'full'] as const) {
      await world.mirror.sync({ mode });
      const held = await world.files();
      for (const name of Object.keys(world.expected())) expect(held).toHaveProperty([name]);
      world.clock.advance(3_600_000);
    }
    expect(Object.keys(await world.files()).length).toBeGreaterThanOrEqual(Object.keys(before).length - 1);
    await recover();
    await expectMirror();
  });

  it('of which GitHub lists one and answers 404 for its content are kept', async () => {
    await open();
    world.git.commit(files(0, 5, 'old'));
    await world.mirror.sync();
    world.git.commit({ [path(1)]: 'new' });
    instead = ({ path: asked }) => {
      if (asked === '/graphql') return { json: { data: { repository: { object: {} } } } };
      return /\/git\/blobs\//.test(asked) ? notFound : undefined;
    };
    await world.mirror.sync();
    expect(Object.keys(await world.files())).toHaveLength(5);
    await recover();
    await expectMirror();
  });

  it('in another encoding than UTF-8 are read as they are', async () => {
    await open();
    const latin = Buffer.from('Grüße aus Köln, wo es regnet', 'latin1');
    world.git.commit({ 'a.md': latin });
    const partition = { id: `${world.repository.id}:files` };
    await world.withContext(async (ctx) => {
      const { refs } = await github.list(ctx, partition);
      // GraphQL shows such a text with other letters.
      for await (const [id] of github.fetchMany!(ctx, partition, refs)) expect(id).toBeUndefined();
      const one = (await github.fetch(ctx, partition, refs[0]!)) as FetchedDocument;
      expect(Buffer.from(one.file!.bytes)).toEqual(latin);
    });
  });

  it('are read as they were listed, whatever was pushed since, and never as something else', async () => {
    await open();
    world.git.commit(files(0, 20, 'old'));
    const partition = { id: `${world.repository.id}:files` };
    const { refs } = await world.withContext((ctx) => github.list(ctx, partition));
    world.git.commit(files(0, 20, 'new'));
    const together = await world.withContext(async (ctx) => {
      const found = [];
      for await (const [, fetched] of github.fetchMany!(ctx, partition, refs)) found.push(fetched);
      return found;
    });
    // Those are left to be read one by one, by their hashes.
    expect(together).toEqual([]);
    const fetchOne = () => world.withContext((ctx) => github.fetch(ctx, partition, refs[0]!));
    const one = (await fetchOne()) as FetchedDocument;
    expect(Buffer.from(one.file!.bytes).toString()).toBe('old 0');
    instead = ({ path: asked }) => (/\/git\/blobs\//.test(asked) ? { status: 200, json: otherBlob } : undefined);
    await expect(fetchOne()).rejects.toMatchObject({ kind: 'transient' });
  });

  it.each([
    { shows: 'only a part', reason: 'more entries' },
    { shows: 'nothing', reason: 'does not show' },
  ])(
    'in a folder of which GitHub shows $shows are kept, and what lies elsewhere is swept',
    async ({ shows, reason }) => {
      await open({ treeLimit: 20 });
      const big = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`big/${index}.md`, `big ${index}`]));
      world.git.commit({ ...big, 'small/1.md': 'one', 'small/2.md': 'two' });
      await world.mirror.sync();
      await expectMirror();
      world.git.commit({ 'big/29.md': null, 'small/2.md': null });
      const { sha } = world.git.tree(world.git.head('main')!, false).find((entry) => entry.path === 'big')!;
      const tree = world.git.tree(sha, false).slice(0, 5);
      instead = ({ path: asked, query }) => {
        if (asked.includes('/compare/')) return notFound;
        const isFolder = asked.endsWith(`/git/trees/${sha}`);
        if (isFolder && shows === 'nothing') return notFound;
        const isCut = isFolder && query['recursive'] === undefined;
        return isCut ? { status: 200, json: { sha, tree, truncated: true } } : undefined;
      };
      await world.mirror.sync();
      expect(Object.keys(await world.files()).sort()).toEqual([...Object.keys(big), 'small/1.md'].sort());
      const [partition] = await world.mirror.partitions();
      expect(partition).toMatchObject({ unread: [{ path: 'big', reason: expect.stringContaining(reason) }] });
      await recover();
      await world.mirror.sync({ mode: 'full' });
      await expectMirror();
    },
  );

  it('of a repository whose root GitHub shows only in part are all kept', async () => {
    await open({ treeLimit: 20 });
    world.git.commit(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}.md`, `text ${index}`])));
    await world.mirror.sync();
    world.git.commit({ '3.md': null });
    const tree = world.git.tree(world.git.head('main')!, false).slice(0, 27);
    instead = ({ path: asked, query }) => {
      if (asked.includes('/compare/')) return notFound;
      const isCut = asked.includes('/git/trees/') && query['recursive'] === undefined;
      return isCut ? { status: 200, json: { sha: 'any', tree, truncated: true } } : undefined;
    };
    await world.mirror.sync();
    expect(Object.keys(await world.files())).toHaveLength(30);
    await recover();
    await world.mirror.sync({ mode: 'full' });
    await expectMirror();
  });

  it('that a force push takes away are held like those that a listing misses', async () => {
    await open();
    const base = world.git.commit({ 'a.md': 'a' });
    world.git.commit(files(0, 60, 'old'));
    await world.mirror.sync();
    world.git.commit({ 'b.md': 'b' }, { from: base });
    await world.mirror.sync();
    expect(Object.keys(await world.files())).toHaveLength(62);
    expect((await world.mirror.partitions())[0]).toMatchObject({ held_sweep: { count: 60, of: 61 } });
    world.clock.advance(11 * 60_000);
    await world.mirror.sync({ mode: 'full' });
    await expectMirror();
  });

  it('are read to the end after a secondary limit in the middle of a listing', async () => {
    await open({ treeLimit: 20 });
    world.git.commit(files(0, 60, 'old'));
    let trees = 0;
    instead = ({ path: asked }) => {
      if (!/\/git\/trees\//.test(asked) || ++trees !== 4) return undefined;
      return { status: 403, json: { message: 'You have exceeded a secondary rate limit.' } };
    };
    await world.mirror.sync();
    await recover();
    await expectMirror();
  });
});
