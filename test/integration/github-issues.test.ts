import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import github from '../../connectors/github/index.ts';
import type { GithubConfig } from '../../connectors/github/config.ts';
import { limitsOf } from '../../src/source/rate-limit/budgets.ts';
import type { Fault } from '../../src/connector-kit/serve-source.ts';
import { createGithubFixture } from './github-fixture.ts';

let fixture: Awaited<ReturnType<typeof createGithubFixture>> | undefined;
afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

async function start(config: GithubConfig) {
  const made = await createGithubFixture(config, { selection: 'repository' });
  fixture = made;
  const { source, repository, mirror } = made;
  return {
    ...made,
    issue: (title: string, body: string, isPull = false) => source.addIssue(repository, { title, body, isPull }),
    comment: (number: number, body: string, kind: 'comment' | 'review' | 'line' = 'comment') =>
      source.addComment(repository, number, body, kind),
    async sync(mode: 'full' | 'incremental' = 'incremental') {
      expect(await mirror.sync({ mode })).toMatchObject({ status: 'completed', error: null });
    },
    text: async (number: number) => (await mirror.texts()).get(`${repository.id}:issue:${number}`),
  };
}

describe('issues and pull requests', () => {
  it('makes one document of an issue, its comments and its reviews, also when a pull request is not merged', async () => {
    const world = await start({ content: ['issues'] });
    world.issue('A question', 'How does it work?');
    const pull = world.issue('A change', 'It mends it.', true);
    world.comment(1, 'Like this.');
    world.comment(pull.number, 'A review.', 'review');
    world.comment(pull.number, 'On a line.', 'line');
    await world.sync();
    expect(await world.text(1)).toMatch(/A question[^]*How does it work\?[^]*Like this\./);
    expect(await world.text(2)).toMatch(/A change[^]*It mends it\.[^]*A review\.[^]*On a line\./);
  });

  it('reads all of a long conversation', async () => {
    const world = await start({ content: ['issues'] });
    world.issue('One', 'body');
    for (let number = 1; number <= 201; number++) world.comment(1, `remark ${number}.`);
    await world.sync();
    for (const number of [1, 100, 101, 200, 201]) expect(await world.text(1)).toContain(`remark ${number}.`);
  });

  it('removes what was transferred, also where it has the same number in its new repository', async () => {
    const world = await start({ content: ['issues'] });
    world.issue('One', 'body');
    await world.sync();
    const { source, repository } = world;
    expect(source.transferIssue(repository, 1, source.addRepository('acme/others'))).toBe(1);
    const id = `${repository.id}:issue:1`;
    const partition = { id: `${repository.id}:issues` };
    const page = await world.withContext((ctx) => github.lookup!(ctx as never, partition, [id]));
    expect(page).toEqual({ refs: [], gone: [id] });
  });

  it('costs one conditional request while nothing happens', async () => {
    const world = await start({ content: ['issues'] });
    world.issue('One', 'text');
    await world.sync();
    await world.sync();
    world.takeRequests();
    await world.sync();
    expect(world.takeRequests()).toEqual([`GET /repositories/${world.repository.id}/issues`]);
  });

  it('loses none of many issues that changed in the same second', async () => {
    const world = await start({ content: ['issues'] });
    for (let number = 1; number <= 250; number++) world.issue(`Issue ${number}`, `body ${number}`);
    await world.sync();
    expect((await world.mirror.texts()).size).toBe(250);
    world.clock.advance(5_000);
    for (let number = 1; number <= 230; number++)
      world.source.editIssue(world.repository, number, { body: `again ${number}` });
    await world.sync();
    for (const number of [1, 100, 101, 200, 230]) expect(await world.text(number)).toContain(`again ${number}`);
  });

  it('sees all that changed one after another, and what changed again between two pages of it', async () => {
    const world = await start({ content: ['issues'] });
    const edit = (number: number, body: string) => {
      world.clock.advance(1_000);
      world.source.editIssue(world.repository, number, { body });
    };
    for (let number = 1; number <= 130; number++) world.issue(`Issue ${number}`, `body ${number}`);
    await world.sync();
    for (let number = 1; number <= 130; number++) edit(number, `again ${number}`);
    let pages = 0;
    world.server.traffic.intercept(({ path }) => {
      if (path.endsWith('/issues') && ++pages === 2) edit(7, 'and again');
    });
    await world.sync();
    expect(await world.text(7)).toContain('and again');
    for (const number of [1, 6, 31, 100, 101, 130]) expect(await world.text(number)).toContain(`again ${number}`);
  });

  it('sees an edit in the same second as the last sync', async () => {
    const world = await start({ content: ['issues'] });
    world.issue('One', 'first words');
    await world.sync();
    world.source.editIssue(world.repository, 1, { body: 'other words' });
    await world.sync();
    expect(await world.text(1)).toContain('other words');
  });

  it('sees a new comment at once and one that was only edited within the hour', async () => {
    const world = await start({ content: ['issues'] });
    world.issue('One', 'body');
    await world.sync();
    world.clock.advance(60_000);
    const { id } = world.comment(1, 'first words');
    await world.sync();
    expect(await world.text(1)).toContain('first words');
    world.clock.advance(61 * 60_000);
    world.source.editComment(world.repository, id, 'other words');
    await world.sync();
    expect(await world.text(1)).toContain('other words');
  });

  it('costs one conditional request after a comment was edited on an issue that changed last', async () => {
    const world = await start({ content: ['issues'] });
    world.issue('One', 'body');
    const { id } = world.comment(1, 'first words');
    await world.sync();
    world.clock.advance(2 * 60_000);
    world.source.editComment(world.repository, id, 'other words');
    world.clock.advance(61 * 60_000);
    await world.sync();
    expect(await world.text(1)).toContain('other words');
    for (let turn = 1; turn <= 2; turn++) {
      world.takeRequests();
      await world.sync();
      expect(world.takeRequests()).toEqual([`GET /repositories/${world.repository.id}/issues`]);
    }
  });

  it('removes a deleted issue when all are listed again, and at once when a hook says so', async () => {
    const world = await start({ content: ['issues'] });
    for (let number = 1; number <= 4; number++) world.issue(`Issue ${number}`, 'body');
    await world.sync();
    world.repository.issues.delete(2);
    await world.sync('full');
    expect(await world.text(2)).toBeUndefined();
    world.repository.issues.delete(3);
    const partition = { id: `${world.repository.id}:issues` };
    const page = await world.withContext((ctx) =>
      github.lookup!(ctx as never, partition, [`${world.repository.id}:issue:3`, `${world.repository.id}:issue:4`]),
    );
    expect(page.gone).toEqual([`${world.repository.id}:issue:3`]);
    expect(page.refs).toHaveLength(1);
  });

  it.each<[string, RegExp, Fault, string]>([
    [
      'of a repository that is no longer shown',
      /^\/repositories\/\d+(\/|$)/,
      { status: 404, json: {} },
      'source_missing',
    ],
    ['that GitHub answers with something else', /\/issues\/1$/, { status: 200, json: {} }, 'transient'],
  ])('takes no issue for deleted %s', async (_of, paths, fault, kind) => {
    const world = await start({ content: ['issues'] });
    world.issue('One', 'body');
    await world.sync();
    world.server.traffic.intercept(({ path }) => (paths.test(path) ? fault : undefined));
    const partition = { id: `${world.repository.id}:issues` };
    const looked = world.withContext((ctx) =>
      github.lookup!(ctx as never, partition, [`${world.repository.id}:issue:1`]),
    );
    await expect(looked).rejects.toMatchObject({ kind });
  });

  it('mirrors releases, what was edited in them, and not what was deleted', async () => {
    const world = await start({ content: ['releases'] });
    const first = world.source.addRelease(world.repository, { name: 'One', tag: 'v1', body: 'first notes' });
    const second = world.source.addRelease(world.repository, { name: 'Two', tag: 'v2', body: 'second notes' });
    await world.sync();
    first.body = 'edited notes';
    world.repository.releases.delete(second.id);
    await world.sync();
    expect([...(await world.mirror.texts()).values()]).toEqual([expect.stringContaining('edited notes')]);
  });
});

describe('deliveries of GitHub', () => {
  const secret = 'hook-secret';
  const deliver = (event: string, payload: object, key = secret) => {
    const body = Buffer.from(JSON.stringify(payload));
    const signature = `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
    const headers = { 'x-github-event': event, 'x-github-delivery': 'd-1', 'x-hub-signature-256': signature };
    return github.hooks!.receive({ method: 'POST', path: '/', query: {}, headers, body }, secret);
  };

  it('refuses a wrong signature', async () => {
    await expect(deliver('push', {}, 'another')).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it.each([
    ['push', { ref: 'refs/heads/main', repository: { id: 7, default_branch: 'main' } }, ['7:files@main', '7:files']],
    ['push', { ref: 'refs/heads/a/b', repository: { id: 7, default_branch: 'main' } }, ['7:files@a/b']],
    ['push', { ref: 'refs/tags/v1', repository: { id: 7, default_branch: 'main' } }, []],
    ['release', { repository: { id: 7 } }, ['7:releases']],
    ['issue_comment', { issue: { number: 3 }, repository: { id: 7 } }, ['7:issues']],
    ['ping', { zen: 'x' }, []],
  ])('understands %s %j', async (event, payload, partitions) => {
    const result = await deliver(event, payload);
    expect(result).toMatchObject({ deliveryId: 'd-1', hints: partitions.map((partition) => ({ partition })) });
  });
});

describe('limits', () => {
  const answer = (status: number, headers: Record<string, string>, body: object) => ({
    status,
    headers,
    text: () => JSON.stringify(body),
    json: () => body,
  });

  it('takes a secondary limit that names no time for one, and leaves the others to their headers', () => {
    const { classify } = github.spec;
    const secondary = { message: 'You have exceeded a secondary rate limit.' };
    expect(classify!(answer(403, {}, secondary))).toEqual({ kind: 'rate_limited' });
    expect(classify!(answer(403, { 'retry-after': '9' }, secondary))).toBeUndefined();
    expect(classify!(answer(403, {}, { message: 'Resource not accessible' }))).toBeUndefined();
    const points = { errors: [{ type: 'RATE_LIMITED' }] };
    const headers = { 'x-ratelimit-resource': 'graphql', 'x-ratelimit-reset': '1700000000' };
    expect(classify!(answer(200, headers, points))).toEqual({
      kind: 'rate_limited',
      retryAt: new Date(1_700_000_000_000),
    });
  });

  it('leaves a fifth of the quota to its owner', () => {
    expect(
      limitsOf(github.spec, {})
        .filter(({ reserve }) => reserve === 0.2)
        .map(({ match }) => match),
    ).toEqual(['GET */**', 'POST */**']);
  });
});

describe('choosing', () => {
  it('shows owners, their repositories and the branches of these', async () => {
    const world = await start({});
    world.git.commit({ 'a.md': 'one' });
    const read = (parent?: string) =>
      world.withContext(async (ctx) => (await github.resources!(ctx as never, parent)).resources);
    const [owner] = await read();
    expect(owner).toMatchObject({ selectable: false, hasChildren: true });
    expect(await read(owner!.id)).toMatchObject([{ id: String(world.repository.id), name: 'acme/notes' }]);
    expect(await read(String(world.repository.id))).toMatchObject([
      { id: `${world.repository.id}@main`, name: 'main' },
    ]);
  });
});
