import { afterEach, describe, expect, it } from 'vitest';
import type { Answer, SourceRequest } from '../../src/connector-kit/serve-source.ts';
import { startGithubApi } from './github-api-fixture.ts';

const minute = 60_000;
/** Shorter pauses are waited out inside of a run. */
const waitedOutMs = 6_000;
let world: Awaited<ReturnType<typeof startGithubApi>> | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

/** A connection that was synced once; from then on `state.answer` may stand in place of GitHub. */
async function start() {
  const state: { answer: ((request: SourceRequest) => Answer | undefined) | null } = { answer: null };
  const made = await startGithubApi({ serve: { gate: (request) => state.answer?.(request) } });
  world = made;
  made.git.commit({ 'a.md': 'one' });
  const { id } = await made.create();
  await made.sync(id);
  return {
    ...made,
    state,
    sync: () => made.sync(id),
    documents: () => made.documents(id),
    /** Requests that reach GitHub while this runs. */
    async requestsOf(run: () => Promise<unknown>) {
      const before = made.server.traffic.count();
      await run();
      return made.server.traffic.count() - before;
    },
  };
}

type World = Awaited<ReturnType<typeof start>>;
const secondary = { message: 'You have exceeded a secondary rate limit. Please wait a few minutes.' };

/** Nothing is sent before the time, and everything is there after it. */
async function expectPause(made: World, answer: (made: World) => Answer, pauseMs: number) {
  made.state.answer = () => answer(made);
  const at = made.clock.now().getTime();
  const limited = await made.sync();
  expect(limited).toMatchObject({ run: 'failed', errorCode: 'rate_limited', status: 'active' });
  expect(limited.nextSyncAt!.getTime()).toBeGreaterThanOrEqual(at + pauseMs);
  made.clock.advance(pauseMs - waitedOutMs);
  expect(await made.requestsOf(() => made.sync())).toBe(0);
  made.state.answer = null;
  made.clock.advance(waitedOutMs + 1_000);
  made.git.commit({ 'b.md': 'two' });
  expect(await made.sync()).toMatchObject({ run: 'completed' });
  expect(await made.documents()).toBe(2);
}

describe('limits of GitHub', () => {
  it('of the hour: nothing is asked until they are reset', async () => {
    const answer = ({ clock }: World): Answer => ({
      status: 403,
      headers: {
        'x-ratelimit-remaining': '0',
        'x-ratelimit-limit': '5000',
        'x-ratelimit-reset': String(clock.now().getTime() / 1_000 + 1_800),
      },
      json: { message: 'API rate limit exceeded for user ID 1.' },
    });
    await expectPause(await start(), answer, 30 * minute);
  });

  it.each([403, 429])('that name a time with status %i: nothing is asked before it', async (status) => {
    const answer = (): Answer => ({ status, headers: { 'retry-after': '90' }, json: secondary });
    await expectPause(await start(), answer, 90_000);
  });

  it.each([403, 429])('that name no time with status %i: a minute, and twice as long the next time', async (status) => {
    const made = await start();
    made.state.answer = () => ({ status, json: secondary });
    for (const pauseMs of [minute, 2 * minute, 4 * minute]) {
      const at = made.clock.now().getTime();
      expect(await made.sync()).toMatchObject({ errorCode: 'rate_limited' });
      made.clock.advance(pauseMs - waitedOutMs);
      expect(await made.requestsOf(() => made.sync())).toBe(0);
      made.clock.advance(at + pauseMs + 1_000 - made.clock.now().getTime());
    }
    made.state.answer = null;
    expect(await made.sync()).toMatchObject({ run: 'completed' });
  });

  it('of GraphQL, which come with status 200: nothing is lost', async () => {
    const made = await start();
    made.git.commit({ 'b.md': 'two' });
    made.state.answer = ({ path }) =>
      path === '/graphql'
        ? {
            headers: {
              'x-ratelimit-resource': 'graphql',
              'x-ratelimit-remaining': '0',
              'x-ratelimit-reset': String(made.clock.now().getTime() / 1_000 + 600),
            },
            json: { errors: [{ type: 'RATE_LIMITED', message: 'API rate limit exceeded' }] },
          }
        : undefined;
    expect(await made.sync()).toMatchObject({ errorCode: 'rate_limited' });
    made.state.answer = null;
    made.clock.advance(11 * minute);
    expect(await made.sync()).toMatchObject({ run: 'completed' });
    expect(await made.documents()).toBe(2);
  });

  it('are used up to four fifths: the rest of the quota stays with its owner', async () => {
    const made = await start();
    made.server.spend(1_001);
    expect(await made.requestsOf(() => made.sync())).toBeGreaterThan(0);
    made.git.commit({ 'b.md': 'two' });
    made.server.spend(1_000);
    await made.sync();
    const asked = await made.requestsOf(() => made.sync());
    expect([asked, (await made.sync()).errorCode]).toEqual([0, 'rate_limited']);
    made.server.spend(5_000);
    made.clock.advance(61 * minute);
    expect(await made.sync()).toMatchObject({ run: 'completed' });
    expect(await made.documents()).toBe(2);
  });
});

describe('a repository that GitHub has closed', () => {
  it('for legal reasons keeps its documents, and the reason is told', async () => {
    const made = await start();
    made.state.answer = ({ path }) =>
      path.endsWith('/commits') ? { status: 451, json: { message: 'No' } } : undefined;
    const run = await made.sync();
    expect(run).toMatchObject({ run: 'failed', status: 'active', error: expect.stringContaining('legal reasons') });
    expect(await made.documents()).toBe(1);
  });

  it('shows no commit: it is missing, and not empty', async () => {
    const made = await start();
    made.state.answer = ({ path }) => (path.endsWith('/commits') ? { json: [] } : undefined);
    expect((await made.sync()).error).toContain('GitHub shows no commit of the branch.');
    expect(await made.documents()).toBe(1);
  });
});
