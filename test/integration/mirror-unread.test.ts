import { afterEach, describe, expect, it } from 'vitest';
import { transient, type Page, type UnreadPart } from '../../src/connector/contract.ts';
import { createSyncRuns } from '../../src/connections/run-service.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { scriptedConnector } from '../support/scripted-connector.ts';

describe.each(engines)('parts that a listing cannot see, on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  /** A source of paths in pages of two, in which parts can be unread and one page can fail once. */
  async function open() {
    opened = await openTestDatabase(engine);
    const { database } = opened;
    const clock = createTestClock();
    const source = { paths: [] as string[], unread: [] as UnreadPart[], failsAt: -1 };
    const connector = scriptedConnector({
      list(_partition, from = 0): Page {
        if (from === source.failsAt) {
          source.failsAt = -1;
          throw transient('the source is away');
        }
        const refs = source.paths.slice(from, from + 2).map((path) => ({ id: path, rev: 'r1', path }));
        const unread = from === 0 ? source.unread : [];
        return from + 2 >= source.paths.length ? { refs, unread, done: true } : { refs, unread, next: from + 2 };
      },
    });
    const mirror = await createMirror({ database, clock, connector });
    const runs = createSyncRuns({ database, clock, wake: async () => {} });
    return {
      source,
      mirror,
      clock,
      problems: async () => (await runs.progress(mirror.id)).problems,
      ids: async () => [...(await mirror.texts()).keys()],
    };
  }

  it('keep what lies in them, and the rest is swept; the connection says which and why', async () => {
    const { source, mirror, problems, ids } = await open();
    const all = ['a/1', 'a/2', 'ab', 'b/1', 'b/2', 'c'];
    source.paths = all;
    await mirror.sync();
    source.paths = ['a/1', 'ab', 'c'];
    source.unread = [{ path: 'b', reason: 'EACCES' }];
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', itemsDeleted: 1, warnings: [{ code: 'incomplete_listing' }] });
    expect(await ids()).toEqual(['a/1', 'ab', 'b/1', 'b/2', 'c']);
    expect(await problems()).toMatchObject([
      { partition: 'all', state: 'paused', code: 'incomplete_listing', reason: expect.stringContaining('b (EACCES)') },
    ]);
    // A name that only begins alike is no part of it, a part may be one item, and what has come back is swept as well.
    source.paths = ['a/1', 'b/2', 'c'];
    source.unread = [{ path: 'a', reason: 'EIO' }];
    await mirror.sync();
    expect(await ids()).toEqual(['a/1', 'b/2', 'c']);
    source.unread = [];
    await mirror.sync();
    expect(await problems()).toEqual([]);
  });

  it('are remembered by a listing that is interrupted and goes on', async () => {
    const { source, mirror, ids, clock } = await open();
    source.paths = ['a', 'b', 'c', 'd/1', 'd/2'];
    await mirror.sync();
    source.paths = ['a', 'b', 'c'];
    source.unread = [{ path: 'd', reason: 'EACCES' }];
    source.failsAt = 2;
    expect(await mirror.sync()).toMatchObject({ status: 'failed' });
    source.unread = [];
    clock.advance(3_600_000);
    expect(await mirror.run()).toMatchObject({ status: 'completed', itemsDeleted: 0 });
    expect(await ids()).toEqual(['a', 'b', 'c', 'd/1', 'd/2']);
  });

  it('are as good as everything when they are too many', async () => {
    const { source, mirror, problems, ids } = await open();
    source.paths = ['a', 'b', 'c'];
    await mirror.sync();
    source.paths = ['a', 'b'];
    source.unread = Array.from({ length: 201 }, (_, index) => ({ path: `part-${index}`, reason: 'EACCES' }));
    await mirror.sync();
    expect(await ids()).toEqual(['a', 'b', 'c']);
    expect((await problems()).map(({ reason }) => reason).join()).toContain('More than 200 parts');
  });

  it('hold a dry run back from calling deleted what lies in them', async () => {
    const { source, mirror } = await open();
    source.paths = ['a', 'b/1', 'c'];
    await mirror.sync();
    source.paths = ['a'];
    source.unread = [{ path: 'b', reason: 'EACCES' }];
    const run = await mirror.sync({ mode: 'full', dryRun: true });
    expect(run.report).toMatchObject({ deleted: { count: 1, ids: ['c'] }, incomplete: null });
  });
});
