import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { fetchPage, listWiki } from '../../connectors/github/wiki.ts';
import { answerWikis } from '../../fixtures/servers/github/github-wiki.ts';
import { createMemoryGit } from '../../fixtures/servers/github/memory-git.ts';
import type { FetchedDocument } from '../../src/connector/contract.ts';
import type { Fault, SourceRequest } from '../../src/connector-kit/serve-source.ts';
import { createGithubFixture } from './github-fixture.ts';

let fixture: Awaited<ReturnType<typeof createGithubFixture>> | undefined;
afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

const minute = 60_000;

async function start() {
  const made = await createGithubFixture({ content: ['wiki'] }, { selection: 'repository', git: createMemoryGit });
  fixture = made;
  const { repository, mirror, clock, server } = made;
  const prefix = `${repository.id}:wiki:`;
  const byPath = <Value>(all: Map<string, Value>) =>
    Object.fromEntries([...all].map(([id, value]) => [id.slice(prefix.length), value]));
  return {
    ...made,
    wiki: made.source.addWiki(repository),
    async sync(mode: 'full' | 'incremental' = 'incremental') {
      clock.advance(minute);
      expect(await mirror.sync({ mode })).toMatchObject({ status: 'completed', error: null });
    },
    /** A sync that does not go well: what is said about the wiki. */
    async problem(mode: 'full' | 'incremental' = 'incremental') {
      clock.advance(minute);
      let isOver = false;
      void mirror.sync({ mode }).finally(() => (isOver = true));
      // Requests are repeated after pauses.
      const isOverSoon = () => {
        clock.advance(2_000);
        return isOver;
      };
      await expect.poll(isOverSoon, { timeout: 30_000, interval: 5 }).toBe(true);
      const [partition] = await mirror.partitions();
      return [partition!['problem'], partition!['state_reason']].join(': ');
    },
    pages: async () => byPath(await mirror.texts()),
    documentIds: async () => byPath(await mirror.documentIds()),
    skipped: async () =>
      Object.fromEntries(
        (await mirror.items())
          .filter(({ state }) => state === 'skipped')
          .map(({ ext_id: id, error }) => [String(id).slice(prefix.length), error]),
      ),
    /** What a request of Git gets in place of its answer. */
    replace: (change: (request: SourceRequest) => Fault | undefined) =>
      server.traffic.intercept((request) => (request.path.includes('.wiki.git/') ? change(request) : undefined)),
  };
}

const refs = 'GET /acme/notes.wiki.git/info/refs';
const pack = 'POST /acme/notes.wiki.git/git-upload-pack';

describe('a wiki', () => {
  it('becomes a document for each page, whatever its markup, its folder and its letters', async () => {
    const world = await start();
    const texts = {
      'Home.md': '# Welcome',
      'Über-uns/Größe-und-Maß.markdown': 'Größe',
      'Install-it.asciidoc': '= Install',
      'Ask.rst': 'Ask\n===',
      'Notes.org': '* Notes',
      'Old.mediawiki': "== Old ==\n'''bold''' [[Home]]",
      'Fabric.textile': 'h1. Fabric',
      'Island.creole': '== Island',
      'Seeds.pod': '=head1 Seeds',
      'Ruby.rdoc': '= Ruby',
      '日本語-ページ.md': 'こんにちは',
    };
    const image = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    world.wiki.write({
      ...texts,
      '_Sidebar.md': 'menu',
      '_Footer.md': 'foot',
      'images/logo.png': image,
      'drawing.svg': '<svg/>',
      'Empty.md': '',
      'Link.md': { mode: '120000', target: 'Home.md' },
      'Fake.md': Buffer.from([1, 0, 2]),
      'Wide.md': Buffer.from('\ufeffGrüße', 'utf16le'),
    });
    await world.sync();
    // Text in another encoding is taken from it later.
    expect(await world.pages()).toEqual({ ...texts, 'Wide.md': null });
    expect(await world.skipped()).toEqual({
      '_Sidebar.md': expect.stringContaining('beside every page'),
      '_Footer.md': expect.stringContaining('beside every page'),
      'images/logo.png': expect.stringContaining('binary'),
      'drawing.svg': expect.stringContaining('no page'),
      'Empty.md': expect.stringContaining('empty'),
      'Link.md': expect.stringContaining('symbolic link'),
      'Fake.md': expect.stringContaining('binary'),
    });
    const rows = await world.mirror.rows();
    const row = rows.find(({ title }) => title === 'Größe und Maß')!;
    expect(row).toMatchObject({
      url: 'https://github.test/acme/notes/wiki/Gr%C3%B6%C3%9Fe-und-Ma%C3%9F',
      metadata: { type: 'github_wiki', repository: 'acme/notes', path: 'Über-uns/Größe-und-Maß.markdown' },
    });
  });

  it('costs one request while nothing is written, and three or four when something was', async () => {
    const world = await start();
    world.wiki.write({ 'Home.md': 'one', 'Other.md': 'other', 'Third.md': 'third' });
    await world.sync();
    expect(world.takeRequests()).toEqual([`GET /repositories/${world.repository.id}`, refs, pack, refs]);
    const before = await world.mirror.rows();
    await world.sync();
    expect(world.takeRequests()).toEqual([refs]);
    expect(await world.mirror.rows()).toEqual(before);
    world.wiki.write({ 'Home.md': 'two', 'Third.md': null, 'New.md': 'new' });
    await world.sync();
    expect(world.takeRequests()).toEqual([refs, `GET /repositories/${world.repository.id}`, pack, refs]);
    expect(await world.pages()).toEqual({ 'Home.md': 'two', 'Other.md': 'other', 'New.md': 'new' });
    await world.sync('full');
    expect(world.takeRequests().filter((line) => line === pack)).toHaveLength(1);
  });

  it('keeps the document of a renamed page, and shows its new name', async () => {
    const world = await start();
    world.wiki.write({ 'Home.md': 'home', 'Old-name.md': 'the text', 'Other.md': 'other' });
    await world.sync();
    const before = await world.documentIds();
    world.wiki.write({ 'Old-name.md': null, 'folder/New-name.md': 'the text' });
    await world.sync();
    const after = await world.documentIds();
    expect(after['folder/New-name.md']).toBe(before['Old-name.md']);
    expect(Object.keys(after)).toHaveLength(3);
    expect(
      (await world.mirror.rows()).map(({ title }) => String(title)).toSorted((a, b) => a.localeCompare(b)),
    ).toEqual(['Home', 'New name', 'Other']);
  });

  it('is what it is after a force push', async () => {
    const world = await start();
    const first = world.wiki.write({ 'Home.md': 'home', 'a.md': 'a', 'b.md': 'b' });
    world.wiki.write({ 'a.md': 'a, changed', 'c.md': 'c' });
    await world.sync();
    world.wiki.write({ 'd.md': 'd' }, first);
    await world.sync();
    expect(await world.pages()).toEqual({ 'Home.md': 'home', 'a.md': 'a', 'b.md': 'b', 'd.md': 'd' });
  });

  it('goes on as the same documents when the repository has another name', async () => {
    const world = await start();
    world.wiki.write({ 'Home.md': 'home', 'a.md': 'a' });
    await world.sync();
    const before = await world.documentIds();
    world.source.rename(world.repository, 'others/journal');
    world.wiki.write({ 'a.md': 'changed' });
    await world.sync();
    expect(await world.documentIds()).toEqual(before);
    expect(await world.pages()).toEqual({ 'Home.md': 'home', 'a.md': 'changed' });
  });

  it('is listed in slices of one commit, and from the start when it was written meanwhile', async () => {
    const world = await start();
    world.wiki.write({ 'a.md': 'a', 'b.md': 'b', 'c.md': 'c' });
    const partition = { id: `${world.repository.id}:wiki` };
    const first = await world.withContext((ctx) => listWiki(ctx, partition, undefined, 2));
    expect(first).toMatchObject({ refs: [{ path: 'a.md' }, { path: 'b.md' }], next: { start: 2 }, total: 3 });
    const second = await world.withContext((ctx) => listWiki(ctx, partition, first.next, 2));
    expect(second).toMatchObject({ refs: [{ path: 'c.md' }], done: true });
    world.wiki.write({ 'a.md': 'again' });
    await expect(world.withContext((ctx) => listWiki(ctx, partition, first.next, 2))).rejects.toMatchObject({
      kind: 'cursor_expired',
    });
  });
});

describe('many wikis', () => {
  it('are read beside each other, whichever of them is held in memory', async () => {
    const world = await start();
    const wikis = Array.from({ length: 5 }, (_, index) => {
      const repository = index === 0 ? world.repository : world.source.addRepository(`acme/notes-${index}`);
      (repository.wiki ?? world.source.addWiki(repository)).write({ 'a.md': `a of ${index}`, 'b.md': `b of ${index}` });
      return { id: `${repository.id}:wiki` };
    });
    const texts = await world.withContext(async (ctx) => {
      const pages = [];
      for (const partition of wikis) pages.push({ partition, refs: (await listWiki(ctx, partition)).refs });
      const read = pages.flatMap(({ partition, refs }) => refs.map((ref) => fetchPage(ctx, partition, ref)));
      return (await Promise.all(read)).map((page) => Buffer.from((page as FetchedDocument).file!.bytes).toString());
    });
    expect(texts).toEqual(wikis.flatMap((_, index) => [`a of ${index}`, `b of ${index}`]));
    expect(world.takeRequests().filter((line) => line.startsWith('POST'))).toHaveLength(5);
  });
});

describe('no wiki', () => {
  it('is nothing, without an error, until its first page is written', async () => {
    const world = await start();
    const { wiki } = world.repository;
    world.repository.wiki = null;
    await world.sync();
    world.takeRequests();
    await world.sync();
    expect(world.takeRequests()).toEqual([refs]);
    world.repository.wiki = wiki;
    await world.sync();
    expect((await world.mirror.partitions())[0]).toMatchObject({ problem: null, state_reason: null });
    wiki!.write({ 'Home.md': 'home' });
    await world.sync();
    expect(await world.pages()).toEqual({ 'Home.md': 'home' });
  });

  it('where it was switched off removes its pages as a listing does that misses them', async () => {
    const world = await start();
    world.repository.hasWiki = false;
    world.wiki.write({ 'Home.md': 'home', 'a.md': 'a' });
    await world.sync();
    world.takeRequests();
    await world.sync();
    expect([world.takeRequests(), await world.pages()]).toEqual([[`GET /repositories/${world.repository.id}`], {}]);
    world.repository.hasWiki = true;
    await world.sync();
    expect(Object.keys(await world.pages())).toEqual(['Home.md', 'a.md']);
    world.repository.hasWiki = false;
    await world.sync();
    // All of it at once: that is held until another listing misses it as well.
    expect(Object.keys(await world.pages())).toEqual(['Home.md', 'a.md']);
    world.clock.advance(48 * 60 * minute);
    await world.sync('full');
    expect(await world.pages()).toEqual({});
  });
});

/** What a request of Git gets in place of its answer, and what is said about that. */
const faults: [string, (request: SourceRequest) => Fault | undefined, RegExp][] = [
  ['404', () => status(404), /^missing: .*switch the wiki off/],
  ['403', () => status(403), /^forbidden: .*Contents/],
  ['401', () => status(401), /^forbidden: .*Contents/],
  ['500', () => status(500), /^unavailable/],
  ['a reset', () => 'reset', /^unavailable/],
  ['a page for people', () => ({ headers: { 'content-type': 'text/html' }, body: '<html>secret words' }), /^unavail/],
  ['nothing', () => ({ body: '' }), /^unavailable/],
  ['a cut-off answer', () => ({ body: '001e# service=git-upload-pack\n0000' }), /^unavailable/],
  ['404 for the pack', onPack(status(404)), /^unavailable/],
  ['an empty pack', onPack({ body: '' }), /^unavailable/],
  ['a refusal for the pack', onPack({ body: '0014ERR secret words' }), /^unavailable/],
  ['a pack that is cut off', onPack('truncate'), /^unavailable/],
];

function status(code: number): Fault {
  return { status: code, body: 'secret words' };
}

function onPack(fault: Fault) {
  return ({ method }: SourceRequest) => (method === 'POST' ? fault : undefined);
}

describe('other answers in place of a wiki', () => {
  it('leaves a listing that nobody looked before incomplete', async () => {
    const world = await start();
    world.replace(() => status(404));
    const partition = { id: `${world.repository.id}:wiki` };
    const page = await world.withContext((ctx) => listWiki(ctx, partition));
    expect(page).toMatchObject({ refs: [], done: true, incomplete: 'GitHub shows no wiki.' });
  });

  it('removes nothing, is told without what it says, and is gone through when it has passed', async () => {
    const world = await start();
    world.wiki.write({ 'Home.md': 'home', 'a.md': 'a', 'b.md': 'b' });
    await world.sync();
    const before = await world.mirror.rows();
    world.wiki.write({ 'a.md': 'changed', 'b.md': null });
    for (const [name, fault, said] of faults) {
      world.replace(fault);
      for (const mode of ['incremental', 'full'] as const) {
        const problem = await world.problem(mode);
        expect(`${name}: ${problem}`).not.toMatch(/secret words|github-token|Basic/);
        expect(problem, name).toMatch(said);
        expect(await world.mirror.rows(), name).toEqual(before);
      }
    }
    world.server.traffic.intercept(null);
    await world.sync();
    expect(await world.pages()).toEqual({ 'Home.md': 'home', 'a.md': 'changed' });
  });

  it('is too large: nothing is removed, the reason is told, and it is not asked for again', async () => {
    const world = await start();
    world.wiki.write({ 'Home.md': 'home', 'a.md': 'a', 'b.md': 'b' });
    await world.sync();
    const before = await world.mirror.rows();
    world.wiki.write({ 'a.md': 'changed', 'b.md': null });
    const large = { headers: { 'content-length': String(100 * 1024 ** 2 + 1) }, body: 'PACK' };
    world.replace(onPack(large));
    world.clock.advance(minute);
    const run = await world.mirror.sync();
    expect(JSON.stringify(run)).toContain('larger than 100 MiB');
    expect(await world.mirror.rows()).toEqual(before);
    world.takeRequests();
    await world.sync();
    expect(world.takeRequests()).toEqual([refs]);
  });

  it('is all of it or nothing, wherever it was cut off', async () => {
    const world = await start();
    world.wiki.write({ 'Home.md': 'home', 'a.md': 'a'.repeat(3_000), 'image.md': randomBytes(9_000).toString('hex') });
    const partition = { id: `${world.repository.id}:wiki` };
    const answers = new Map<string, Uint8Array>();
    let cut: [method: string, length: number] = ['', 0];
    world.replace((request) => {
      const { method } = request;
      if (!answers.has(method)) answers.set(method, answerWikis(world.source, () => true, request)!.body as Uint8Array);
      const body = answers.get(method)!;
      return { body: method === cut[0] ? body.subarray(0, cut[1]) : body };
    });
    const read = () =>
      world.withContext(async (ctx) => {
        const { refs } = await listWiki(ctx, partition);
        const pages = await Promise.all(refs.map((ref) => fetchPage(ctx, partition, ref)));
        return pages.map((page) => Buffer.from((page as FetchedDocument).file!.bytes).toString());
      });
    const whole = await read();
    expect(whole).toHaveLength(3);
    const outcomes: unknown[] = [];
    for (const [method, { length }] of [...answers]) {
      const lengths = [
        ...Array.from({ length: 16 }, (_, step) => Math.floor((length * step) / 16)),
        length - 5,
        length - 1,
      ];
      for (const end of lengths) {
        cut = [method, end];
        outcomes.push(await read().catch((error: { kind: string }) => error.kind));
      }
    }
    expect(outcomes.filter((one) => one === 'transient').length).toBeGreaterThan(25);
    for (const one of outcomes) if (one !== 'transient') expect(one).toEqual(whole);
  });
});
