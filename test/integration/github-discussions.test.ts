import { afterEach, describe, expect, it } from 'vitest';
import github from '../../connectors/github/index.ts';
import type { Answer, SourceRequest } from '../../src/connector-kit/serve-source.ts';
import { answerDiscussions } from '../../fixtures/servers/github/github-discussions.ts';
import { createMemoryGit } from '../../fixtures/servers/github/memory-git.ts';
import { createGithubFixture } from './github-fixture.ts';

let fixture: Awaited<ReturnType<typeof createGithubFixture>> | undefined;
afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

const minute = 60_000;

async function start() {
  const state: { answer: ((request: SourceRequest) => Answer | undefined) | null } = { answer: null };
  const made = await createGithubFixture(
    { content: ['discussions'] },
    { selection: 'repository', git: createMemoryGit, gate: (request) => state.answer?.(request) },
  );
  fixture = made;
  const { repository, mirror, clock } = made;
  const partition = { id: `${repository.id}:discussions` };
  const idOf = (number: number) => `${repository.id}:discussion:${number}`;
  return {
    ...made,
    state,
    idOf,
    discussions: repository.discussions,
    /** Some time after what was done last, so that it cannot have been done in the same second. */
    async sync(mode: 'full' | 'incremental' = 'incremental') {
      clock.advance(minute);
      expect(await mirror.sync({ mode })).toMatchObject({ status: 'completed', error: null });
    },
    text: async (number: number) => (await mirror.texts()).get(idOf(number)),
    lookUp: (numbers: number[]) =>
      made.withContext((ctx) => github.lookup!(ctx as never, partition, numbers.map(idOf))),
  };
}

describe('discussions', () => {
  it('are one document each, with all that was said in the order of time, the answer marked', async () => {
    const world = await start();
    const asked = world.discussions.add('How?', 'How does it work?', { category: 'Q&A', labels: ['help'] });
    const first = world.discussions.comment(asked, 'Like this.');
    world.clock.advance(minute);
    world.discussions.comment(asked, 'Or like that.', null);
    world.clock.advance(minute);
    world.discussions.reply(asked, first, 'Are you sure?').isAnswer = true;
    world.discussions.add('Done', 'Nothing more.', { closed: true });
    await world.sync();
    expect(await world.text(1)).toMatch(
      /^# How\?\n\nHow does it work\?\n\n## someone, \S+\n\nLike this\.\n\n## ghost, \S+\n\nOr like that\.\n\n## replier \(answer, reply to someone\), \S+\n\nAre you sure\?$/,
    );
    const rows = await world.mirror.rows();
    expect(rows.map(({ metadata }) => metadata)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...{ type: 'github_discussion', repository: 'acme/notes', number: 1, state: 'open', category: 'Q&A' },
          ...{ answered: true, author: 'asker', labels: ['help'] },
        }),
        expect.objectContaining({ number: 2, state: 'closed', category: 'General', answered: false, labels: [] }),
      ]),
    );
    expect(rows.map(({ url }) => url)).toContain('https://github.test/acme/notes/discussions/1');
  });

  it('cost one query while nothing happens, one more when something does, and none is written again', async () => {
    const world = await start();
    for (let number = 1; number <= 30; number++) world.discussions.add(`Title ${number}`, 'body');
    await world.sync();
    world.takeRequests();
    const before = await world.mirror.rows();
    await world.sync();
    expect(world.takeRequests()).toEqual(['POST /graphql']);
    const remark = world.discussions.comment(world.discussions.all.get(7)!, 'something new');
    await world.sync();
    expect(world.takeRequests()).toEqual(['POST /graphql', 'POST /graphql']);
    expect(await world.text(7)).toContain('something new');
    await world.sync('full');
    world.discussions.reply(world.discussions.all.get(7)!, remark, 'a reply');
    world.discussions.edit(world.discussions.all.get(8)!, { title: 'Another title' });
    world.discussions.add('Title 31', 'body');
    await world.sync();
    expect([await world.text(7), await world.text(8), await world.text(31)]).toEqual([
      expect.stringContaining('a reply'),
      '# Another title\n\nbody',
      '# Title 31\n\nbody',
    ]);
    const touched = new Set([7, 8, 31].map((number) => `github:${world.idOf(number)}`));
    const others = (rows: Record<string, unknown>[]) => rows.filter((row) => !touched.has(row['custom_id'] as string));
    expect(others(await world.mirror.rows())).toEqual(others(before));
  });

  it('that changed in one second are all found, across the pages of the feed', async () => {
    const world = await start();
    for (let number = 1; number <= 130; number++) world.discussions.add(`Title ${number}`, 'body');
    await world.sync();
    expect((await world.mirror.texts()).size).toBe(130);
    for (const one of world.discussions.all.values()) world.discussions.edit(one, { body: `again ${one.number}` });
    await world.sync();
    const texts = [...(await world.mirror.texts()).values()];
    expect(texts.filter((text) => text.includes('again'))).toHaveLength(130);
  });

  it('that change twice in a second, before and after they were read, are read twice', async () => {
    const world = await start();
    const one = world.discussions.add('Title', 'first');
    expect(await world.mirror.sync()).toMatchObject({ status: 'completed' });
    one.body = 'second';
    await world.sync();
    expect(await world.text(1)).toContain('second');
  });

  it('that GitHub shows late are found, because each reading overlaps the one before', async () => {
    const world = await start();
    world.discussions.add('First', 'body');
    await world.sync();
    world.clock.advance(60 * minute);
    world.discussions.add('Newest', 'body');
    await world.sync();
    // It was begun five minutes before what was seen already, on a machine that was behind.
    world.discussions.add('Late', 'body').changedAt -= 5 * minute;
    await world.sync();
    expect((await world.mirror.texts()).size).toBe(3);
  });

  it('are whole however long they are', async () => {
    const world = await start();
    const long = world.discussions.add('Long', 'body');
    for (let number = 1; number <= 150; number++) world.discussions.comment(long, `comment <${number}>`);
    for (let number = 1; number <= 130; number++) world.discussions.reply(long, long.remarks[0]!, `reply <${number}>`);
    await world.sync();
    const text = (await world.text(1))!;
    expect(text.match(/comment <\d+>/g)).toHaveLength(150);
    expect(text.match(/reply <\d+>/g)).toHaveLength(130);
    world.discussions.reply(long, long.remarks[145]!, 'at the end');
    await world.sync();
    expect(await world.text(1)).toContain('at the end');
  });

  it('whose comments were edited or deleted without a sign are found by the daily listing, or by a hook', async () => {
    const world = await start();
    for (const title of ['One', 'Two', 'Three', 'Four']) {
      world.discussions.reply(world.discussions.add(title, 'body'), { replies: [] } as never, '');
      world.discussions.comment(world.discussions.all.get(world.discussions.all.size)!, 'a remark');
    }
    await world.sync();
    world.discussions.all.get(1)!.remarks[0]!.body = 'other words';
    world.discussions.all.get(2)!.remarks = [];
    world.discussions.all.delete(3);
    const page = await world.lookUp([1, 2, 3]);
    expect(page.gone).toEqual([world.idOf(3)]);
    expect(page.refs.map(({ document }) => document!.markdown)).toEqual([
      expect.stringContaining('other words'),
      '# Two\n\nbody',
    ]);
    await world.sync();
    expect(await world.text(1)).toContain('a remark');
    world.clock.advance(24 * 60 * minute);
    await world.sync();
    expect([await world.text(1), await world.text(2), await world.text(3)]).toEqual([
      expect.stringContaining('other words'),
      '# Two\n\nbody',
      undefined,
    ]);
    expect(page.refs[0]!.rev).toBe((await world.mirror.items()).find(({ ext_id: id }) => id === world.idOf(1))!['rev']);
  });

  it('that are switched off are nothing, without an error', async () => {
    const world = await start();
    world.discussions.isOn = false;
    await world.sync();
    await world.sync();
    expect((await world.mirror.texts()).size).toBe(0);
    world.discussions.isOn = true;
    world.discussions.add('Title', 'body');
    await world.sync();
    expect((await world.mirror.texts()).size).toBe(1);
  });

  it('go on as the same documents when the repository has another name', async () => {
    const world = await start();
    world.discussions.add('One', 'body');
    await world.sync();
    const before = await world.mirror.documentIds();
    world.source.rename(world.repository, 'others/journal');
    world.discussions.edit(world.discussions.all.get(1)!, { body: 'again' });
    await world.sync('full');
    expect(await world.mirror.documentIds()).toEqual(before);
    expect(await world.text(1)).toContain('again');
  });
});

describe('refusals and partial answers of GitHub', () => {
  const refusals: [string | undefined, object][] = [
    ['FORBIDDEN', { state: 'paused', problem: 'forbidden' }],
    ['INSUFFICIENT_SCOPES', { state: 'paused', problem: 'forbidden' }],
    ['NOT_FOUND', { state: 'paused', problem: 'missing' }],
    [undefined, { problem: 'unavailable' }],
    ['RATE_LIMITED', { problem: 'rate_limited' }],
    ['RATE_LIMIT', { problem: 'rate_limited' }],
  ];
  const damages: ((node: any) => unknown)[] = [
    (node) => (node.discussions.nodes[1] = null),
    (node) => (node.discussions.nodes[0].comments.nodes[0] = null),
    (node) => (node.discussions.nodes[0].comments.nodes = null),
    (node) => (node.discussions.pageInfo = { hasNextPage: true, endCursor: null }),
  ];
  const error = (type: string | undefined, path: (string | number)[] = ['node', 'discussions']) => ({
    ...(type === undefined ? {} : { type }),
    path,
    message: 'secret words',
  });

  it('removes nothing, is told without what it says, and is gone through when it has passed', async () => {
    const world = await start();
    for (const title of ['One', 'Two', 'Three']) world.discussions.add(title, 'body');
    await world.sync();
    const before = await world.mirror.rows();
    for (const [type, problem] of refusals) {
      const isHidden = type === 'NOT_FOUND';
      const data = { node: isHidden ? null : { hasDiscussionsEnabled: true, discussions: null } };
      world.state.answer = ({ path }) =>
        path === '/graphql' ? { json: { data, errors: [error(type, isHidden ? ['node'] : undefined)] } } : undefined;
      world.clock.advance(5 * minute);
      const run = await world.mirror.sync({ mode: 'full' });
      expect(JSON.stringify(run)).not.toContain('secret words');
      expect(await world.mirror.partitions()).toEqual([expect.objectContaining(problem)]);
      expect(await world.mirror.rows()).toEqual(before);
    }
    world.state.answer = null;
    world.discussions.edit(world.discussions.all.get(1)!, { body: 'later' });
    world.clock.advance(10 * minute);
    await world.sync();
    expect(await world.text(1)).toContain('later');
  });

  it('leaves something out of a listing is none: no document goes or loses anything', async () => {
    const world = await start();
    for (const title of ['One', 'Two', 'Three']) {
      world.discussions.comment(world.discussions.add(title, 'body'), 'a remark');
    }
    await world.sync();
    const before = await world.mirror.rows();
    for (const damage of damages) {
      world.state.answer = (request) => {
        if (request.path !== '/graphql' || !/CREATED_AT[^]*replies/.test(request.json().query)) return undefined;
        const { json } = answerDiscussions(world.source, request.json())!;
        damage((json as { data: { node: object } }).data.node);
        return { json };
      };
      world.clock.advance(5 * minute);
      await world.mirror.sync({ mode: 'full' });
      expect(await world.mirror.rows()).toEqual(before);
    }
  });

  it('leaves a discussion out that it was asked about: it is not taken for deleted', async () => {
    const world = await start();
    world.discussions.add('One', 'body');
    await world.sync();
    world.state.answer = ({ path }) =>
      path === '/graphql' ? { json: { data: { node: { hasDiscussionsEnabled: true, d0: null } } } } : undefined;
    await expect(world.lookUp([1])).rejects.toMatchObject({ kind: 'transient' });
  });

  it('keeps nothing else waiting: a discussion that it cannot show fails by itself, and is read when it can', async () => {
    const world = await start();
    for (let number = 1; number <= 30; number++) world.discussions.add(`Title ${number}`, 'body');
    await world.sync();
    const shows = (request: SourceRequest, title: string) =>
      request.path === '/graphql' && JSON.stringify(answerDiscussions(world.source, request.json())).includes(title);
    const failed = { json: { errors: [{ message: 'Something went wrong while executing your query.' }] } };
    const isWhole = (request: SourceRequest) => request.json()?.query.includes('replies');
    world.state.answer = (request) => (shows(request, 'Title 7"') && isWhole(request) ? failed : undefined);
    for (const number of [6, 7, 8]) world.discussions.edit(world.discussions.all.get(number)!, { body: 'edited' });
    world.discussions.add('Title 31', 'body');
    for (const mode of ['incremental', 'full'] as const) {
      if (mode === 'full') world.discussions.all.delete(30);
      await world.sync(mode);
      const items = await world.mirror.items();
      expect(items.filter(({ state }) => state !== 'done').map(({ ext_id: id }) => id)).toEqual([world.idOf(7)]);
      expect([await world.text(6), await world.text(7), await world.text(8), await world.text(31)]).toEqual([
        ...['# Title 6\n\nedited', '# Title 7\n\nbody', '# Title 8\n\nedited', '# Title 31\n\nbody'],
      ]);
    }
    expect((await world.mirror.texts()).size).toBe(30);
    world.state.answer = null;
    await world.sync();
    expect(await world.text(7)).toBe('# Title 7\n\nedited');
  });

  it('of more than a few discussions at once is its own trouble', async () => {
    const world = await start();
    for (let number = 1; number <= 9; number++) world.discussions.add(`Title ${number}`, 'body');
    await world.sync();
    const before = await world.mirror.rows();
    const failed = { json: { errors: [{ message: 'Something went wrong while executing your query.' }] } };
    world.state.answer = ({ path, json }) =>
      path === '/graphql' && json().query.includes('replies') ? failed : undefined;
    for (const one of world.discussions.all.values()) world.discussions.edit(one, { body: 'edited' });
    for (const mode of ['incremental', 'full'] as const) {
      world.clock.advance(5 * minute);
      await world.mirror.sync({ mode });
      expect(await world.mirror.partitions()).toEqual([expect.objectContaining({ problem: 'unavailable' })]);
      expect(await world.mirror.rows()).toEqual(before);
    }
  });

  it('is asked for in smaller pieces when it takes GitHub too long', async () => {
    const world = await start();
    for (let number = 1; number <= 12; number++) world.discussions.add(`Title ${number}`, 'body');
    world.state.answer = (request) =>
      request.path === '/graphql' && request.json().variables.first === 25
        ? { json: { errors: [{ message: 'Something went wrong while executing your query. This may be a timeout.' }] } }
        : undefined;
    await world.sync();
    expect((await world.mirror.texts()).size).toBe(12);
  });

  it('is not asked for when a fifth of the points is left: they stay with their owner', async () => {
    const world = await start();
    world.discussions.add('One', 'body');
    await world.sync();
    world.server.spend(1_000, 'graphql');
    world.clock.advance(minute);
    await world.mirror.sync();
    world.discussions.edit(world.discussions.all.get(1)!, { body: 'later' });
    world.takeRequests();
    world.clock.advance(minute);
    await world.mirror.sync();
    expect(world.takeRequests()).toEqual([]);
    expect(await world.mirror.partitions()).toEqual([expect.objectContaining({ problem: 'rate_limited' })]);
    world.server.spend(5_000, 'graphql');
    world.clock.advance(61 * minute);
    await world.sync();
    expect(await world.text(1)).toContain('later');
  });

  it('for a hidden repository is no deletion, whatever a hook says', async () => {
    const world = await start();
    world.discussions.add('One', 'body');
    await world.sync();
    world.repository.isHidden = true;
    await expect(world.lookUp([1])).rejects.toMatchObject({ kind: 'source_missing' });
  });
});
