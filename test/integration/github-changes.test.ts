import { afterEach, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { goodToken, startGithubApi } from './github-api-fixture.ts';

let world: Awaited<ReturnType<typeof startGithubApi>> | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function start(config: object, prepare: (made: Awaited<ReturnType<typeof startGithubApi>>) => void) {
  const made = await startGithubApi();
  world = made;
  prepare(made);
  const { id } = await made.create({ token: goodToken, ...config });
  const sync = async (mode: 'full' | 'incremental' = 'incremental') =>
    expect(await made.sync(id, mode)).toMatchObject({ run: 'completed', error: null });
  await sync();
  return {
    ...made,
    sync,
    /** Texts by the end of the id: a path, or a number. */
    async texts(): Promise<Record<string, string>> {
      const rows = await made.database.query<{ customId: string; raw: string }>(sql`
        select d.custom_id as "customId", c.raw from documents d join document_contents c on c.document_id = d.id
        where d.connection_id = ${id} and d.deleted_at is null order by d.custom_id`);
      return Object.fromEntries(rows.map(({ customId, raw }) => [customId.replace(/^github:\d+:\w+[:@]/, ''), raw]));
    },
    documentIds: async () =>
      (
        await made.database.query<{ id: string }>(
          sql`select id from documents where connection_id = ${id} and deleted_at is null order by id`,
        )
      ).map((row) => row.id),
  };
}

const issues = { content: ['issues'] };

describe('issues', () => {
  it('that were transferred leave the repository, and come with the one that they went to', async () => {
    const made = await start({ ...issues, repositories: ['acme/notes', 'acme/other'] }, ({ source, repository }) => {
      source.addRepository('acme/other');
      for (const title of ['First', 'Second', 'Third', 'Fourth']) source.addIssue(repository, { title, body: 'text' });
    });
    const [, other] = [...made.source.repositories.values()];
    made.clock.advance(60_000);
    made.source.transferIssue(made.repository, 2, other!);
    await made.sync();
    await made.sync('full');
    expect(Object.values(await made.texts()).filter((text) => text.includes('# Second'))).toHaveLength(1);
    expect(await made.documentIds()).toHaveLength(4);
  });

  it('whose comment was deleted lose it with the next full listing', async () => {
    let comment = 0;
    const made = await start(issues, ({ source, repository }) => {
      source.addIssue(repository, { title: 'Title', body: 'body' });
      comment = source.addComment(repository, 1, 'a remark').id;
    });
    expect((await made.texts())['1']).toContain('a remark');
    made.source.deleteComment(made.repository, comment);
    await made.sync('full');
    expect((await made.texts())['1']).not.toContain('a remark');
  });

  it('that GitHub shows late are found, because each reading overlaps the one before', async () => {
    const made = await start(issues, ({ source, repository }) => {
      source.addIssue(repository, { title: 'First', body: 'text' });
    });
    made.clock.advance(60 * 60_000);
    made.source.addIssue(made.repository, { title: 'Newest', body: 'text' });
    await made.sync();
    // It was made five minutes before what was seen already, on a machine that was behind.
    const late = made.source.addIssue(made.repository, { title: 'Late', body: 'text' });
    late.changedAt -= 5 * 60_000;
    await made.sync();
    expect(Object.keys(await made.texts())).toHaveLength(3);
  });
});

describe('files', () => {
  it('in UTF-16 are documents, although Git takes them for binary', async () => {
    const text = Buffer.from('\ufeffGrüße', 'utf16le');
    const made = await start({}, ({ git }) => void git.commit({ 'a.txt': text, 'b.md': Buffer.from([1, 0, 2]) }));
    expect(Object.keys(await made.texts())).toEqual(['a.txt']);
  });

  it('of a branch that was rebased are those of the branch', async () => {
    const made = await start({}, ({ git }) => void git.commit({ 'a.md': 'one', 'gone.md': 'gone' }));
    const base = made.git.head('main')!;
    made.git.commit({ 'b.md': 'mine', 'gone.md': null });
    await made.sync();
    const upstream = made.git.commit({ 'a.md': 'one, upstream', 'gone.md': null }, { from: base });
    made.git.commit({ 'b.md': 'mine, rebased' }, { from: upstream });
    await made.sync();
    expect(await made.texts()).toEqual({ 'a.md': 'one, upstream', 'b.md': 'mine, rebased' });
  });

  it('of a force push whose old commits are gone are not read again when they are the same', async () => {
    const made = await start({}, ({ git }) => void git.commit({ 'a.md': 'one', 'b.md': 'two' }));
    const before = await made.documentIds();
    const requests = made.server.traffic.count();
    made.git.rewrite();
    await made.sync();
    expect(await made.documentIds()).toEqual(before);
    const paths = made.server.traffic.recent().slice(requests - made.server.traffic.count());
    expect(paths.some(({ path }) => path === '/graphql' || path.includes('/blobs/'))).toBe(false);
  });

  it('of a named branch are those of that branch, whatever is pushed to others', async () => {
    const made = await start({ repositories: ['acme/notes@work/next'] }, ({ git }) => {
      const base = git.commit({ 'a.md': 'main' });
      git.commit({ 'a.md': 'next' }, { branch: 'work/next', from: base });
    });
    made.git.commit({ 'b.md': 'on main' });
    await made.sync();
    expect(await made.texts()).toEqual({ 'work/next:a.md': 'next' });
    made.git.commit({ 'c.md': 'on next' }, { branch: 'work/next' });
    await made.sync();
    expect(await made.texts()).toEqual({ 'work/next:a.md': 'next', 'work/next:c.md': 'on next' });
  });

  it('of two branches of one repository are beside each other, and its issues are there once', async () => {
    const content = ['files', 'issues'];
    const made = await start(
      { content, repositories: ['acme/notes', 'acme/notes@dev'] },
      ({ git, source, repository }) => {
        git.commit({ 'a.md': 'dev' }, { branch: 'dev', from: git.commit({ 'a.md': 'main' }) });
        source.addIssue(repository, { title: 'Title', body: 'body' });
      },
    );
    expect(await made.documentIds()).toHaveLength(3);
  });

  it('of a repository that was transferred and renamed go on as the same documents', async () => {
    const made = await start({}, ({ git }) => void git.commit({ 'a.md': 'one' }));
    const before = await made.documentIds();
    made.source.rename(made.repository, 'others/journal');
    made.git.commit({ 'b.md': 'two' });
    await made.sync();
    expect(await made.documentIds()).toEqual(expect.arrayContaining(before));
    expect(await made.texts()).toEqual({ 'a.md': 'one', 'b.md': 'two' });
  });
});
