import { afterEach, describe, expect, it } from 'vitest';
import { badConfig, cursorExpired, transient, type Ref } from '../../src/connector/contract.ts';
import type { RunSettings } from '../../src/sync/run.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { pageOf, scriptedConnector, type Script } from '../support/scripted-connector.ts';

const circle: Record<string, unknown> = {};
circle['self'] = circle;

const throwing = (thrown: unknown) => () => {
  throw thrown as Error;
};

describe.each(engines)('a bad connector on %s', (engine) => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  /** A partition `bad` with what the test says, beside a partition `good` with two items. */
  async function open(bad: Script, settings: Partial<RunSettings> = {}) {
    opened = await openTestDatabase(engine);
    const clock = createTestClock();
    const verb = (name: 'list' | 'fetch', fine: (argument: any) => unknown) => ({
      [name]: (partition: { id: string }, argument: unknown, context: any) =>
        partition.id === 'bad' && bad[name] ? bad[name](partition, argument, context) : fine(argument),
    });
    const connector = scriptedConnector({
      partitions: () => [{ id: 'bad' }, { id: 'good' }],
      ...verb('list', () => pageOf('good-1', 'good-2')),
      ...verb('fetch', (ref: Ref) => ({ text: ref.id })),
    });
    const mirror = await createMirror({
      database: opened.database,
      clock,
      connector,
      settings: { claimSize: 100, ...settings },
    });
    return { mirror, clock, connector };
  }

  const good = ['good-1', 'good-2'];
  const mirrored = async (mirror: Awaited<ReturnType<typeof open>>['mirror']) => [...(await mirror.texts()).keys()];

  it.each([
    ['throws a text', throwing('down'), /failed unexpectedly \(a thrown string in list\)/],
    ['throws nothing', throwing(undefined), /failed unexpectedly/],
    ['throws null', throwing(null), /a thrown null/],
    ['throws an object', throwing({ message: 'down' }), /a thrown object/],
    ['throws a programming error', () => (undefined as any).refs, /TypeError in list/],
    ['answers nothing', () => undefined, /list answered undefined instead of a page/],
    ['answers refs that are none', () => ({ refs: 'all' }), /no list of refs/],
    ['has a cursor that is a circle', () => ({ refs: [], next: circle }), /not JSON/],
    ['has a cursor that is a map', () => ({ refs: [], next: new Map() }), /not JSON/],
    ['has a cursor with a big integer', () => ({ refs: [], next: { at: 1n } }), /not JSON/],
    ['has a cursor that is too large', () => ({ refs: [], next: 'x'.repeat(70_000) }), /at most 65536 are kept/],
    ['leads back to the same place', () => ({ refs: [{ id: 'a', rev: '1' }], next: 'here' }), /would never end/],
    [
      'never shows anything new',
      (_: unknown, from: number | undefined) => ({ refs: [{ id: 'a', rev: '1' }], next: (from ?? 0) + 1 }),
      /without anything new/,
    ],
  ])('whose listing %s is reported, and nobody else is affected', async (_, list, message) => {
    const { mirror } = await open({ list: list as () => unknown });
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', warnings: [{ partitionId: 'bad' }] });
    expect(run.warnings[0]!.message).toMatch(message);
    const texts = await mirrored(mirror);
    expect(texts.filter((id) => id.startsWith('good'))).toEqual(good);
    const [bad] = await mirror.partitions();
    expect(bad!.parked_until).not.toBeNull();
    expect(bad!.last_listed_at).toBeNull();
  });

  it.each([
    ['nothing', undefined],
    ['a text', 'content'],
    ['a document without content', { title: 'x' }],
    ['bytes that are none', { file: { bytes: [1, 2] } }],
  ])('whose fetch answers %s fails for that item alone', async (_, answer) => {
    const { mirror } = await open({
      list: () => pageOf('a', 'b'),
      fetch: (_partition, ref: Ref) => (ref.id === 'a' ? answer : { text: 'fine' }),
    });
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', itemsAdded: 3, itemsFailed: 1 });
    expect(run.failures).toMatchObject([{ customId: 'scripted:a', error: expect.stringContaining('fetch answered') }]);
  });

  it('that throws whatever it likes from fetch fails for that item alone', async () => {
    const thrown = ['text', undefined, null, { a: 1 }, new TypeError('x'), Symbol('s')];
    const ids = thrown.map((_, index) => `item-${index}`);
    const { mirror } = await open({
      list: () => pageOf(...ids, 'fine'),
      fetch(_partition, ref: Ref) {
        if (ref.id === 'fine') return { text: 'fine' };
        throw thrown[ids.indexOf(ref.id)] as Error;
      },
    });
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsAdded: 3, itemsFailed: 6 });
    expect(await mirrored(mirror)).toEqual(['fine', ...good]);
  });

  it('that returns an item twice, in a page and over pages, is reported; the item is mirrored once', async () => {
    const { mirror } = await open({
      list: (_, from) =>
        from === undefined
          ? {
              refs: [
                { id: 'a', rev: '1' },
                { id: 'a', rev: '2' },
              ],
              next: 1,
            }
          : {
              refs: [
                { id: 'a', rev: '2' },
                { id: 'b', rev: '1' },
              ],
              done: true,
            },
    });
    const run = await mirror.sync();
    expect(run.warnings).toMatchObject([{ partitionId: 'bad', code: 'repeated_items' }]);
    expect(run.warnings[0]!.message).toContain('showed 4 items, and 2 of them more than once');
    expect(await mirrored(mirror)).toEqual(['a', 'b', ...good]);
  });

  it('that gives a huge page is written in parts', async () => {
    const refs = Array.from({ length: 10_500 }, (_, index) => ({ id: `item-${index}`, rev: '1', kind: 'container' }));
    const { mirror } = await open({ list: () => ({ refs, done: true }) }, { pageRows: 1_000 });
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', itemsSeen: 10_502, warnings: [{ code: 'large_page' }] });
    expect(await mirror.items()).toHaveLength(10_502);
  });

  it('that has ids of 10,000 characters is mirrored all the same', async () => {
    const ids = ['x', 'y'].map((end) => `https://example.com/${'é'.repeat(9_980)}${end}`);
    let listed = ids;
    const asked: string[] = [];
    const { mirror } = await open({
      list: () => pageOf(...listed),
      fetch(_, ref: Ref) {
        asked.push(ref.id);
        return { text: ref.id.slice(-1) };
      },
    });
    await mirror.sync();
    expect(new Set(asked)).toEqual(new Set(ids));
    expect(new Set((await mirror.texts()).values())).toEqual(new Set(['x', 'y', ...good]));
    listed = ids.slice(1);
    await mirror.sync();
    expect(new Set((await mirror.texts()).values())).toEqual(new Set(['y', ...good]));
    expect(asked).toHaveLength(2);
  });

  it('whose items are not valid is reported, and nothing is removed because of them', async () => {
    let refs: unknown[] = ['a', 'b'].map((id) => ({ id, rev: '1' }));
    const { mirror } = await open({ list: () => ({ refs, done: true }) });
    await mirror.sync();
    refs = [
      { id: 'a' },
      { rev: '1' },
      5,
      { id: '', rev: '1' },
      { id: 'c', rev: '1', size: 'big', metadata: 'none', updatedAt: 'soon' },
    ];
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', itemsDeleted: 0 });
    expect(run.warnings.map((warning) => warning.code).toSorted()).toEqual(['incomplete_listing', 'invalid_items']);
    expect(run.warnings[0]!.message).toContain('"a" has no rev (4 in one page)');
    expect(await mirrored(mirror)).toEqual(['a', 'b', 'c', ...good]);
  });

  it('whose revs always change is told so', async () => {
    let listing = 0;
    const ids = Array.from({ length: 25 }, (_, index) => `item-${index}`);
    const { mirror, connector } = await open({
      list: () => ({ refs: ids.map((id) => ({ id, rev: `${listing++}` })), done: true }),
    });
    expect((await mirror.sync()).warnings).toEqual([]);
    connector.calls.length = 0;
    const run = await mirror.sync();
    expect(run).toMatchObject({ status: 'completed', warnings: [{ code: 'unstable_revisions', partitionId: 'bad' }] });
    expect(connector.calls.filter((call) => call === 'fetch bad')).toHaveLength(25);
  });

  it('whose content the database cannot take loses only that', async () => {
    const { mirror } = await open({
      list: () => ({
        refs: [
          { id: 'a', rev: '1\u0000', title: 'A\u0000B', path: '\ud800' },
          { id: 'b', rev: '1' },
        ],
        done: true,
      }),
      fetch: () => ({
        text: 'one\u0000two',
        title: 'x\ud800',
        updatedAt: 'never',
        createdAt: '9',
        metadata: { 'a\u0000': 1, b: Number.NaN },
      }),
    });
    expect(await mirror.sync()).toMatchObject({ status: 'completed', itemsFailed: 0 });
    expect((await mirror.texts()).get('a')).toBe('onetwo');
  });

  const cutInHalf = `${'x'.repeat(499)}🦊 and more`;
  it.each([
    ['a NUL', 'a\0b'],
    ['half of a surrogate pair', 'a\ud83d'],
    ['a character where they are cut', cutInHalf],
    ['a character where warnings are cut', `${'x'.repeat(999)}🦊 and more`],
    ['more than fits', 'x'.repeat(100_000)],
  ])('whose words hold %s is reported all the same', async (_, words) => {
    const failing = await open({ list: throwing(transient(words)) });
    const failed = await failing.mirror.sync();
    expect(failed).toMatchObject({ status: 'completed', warnings: [{ partitionId: 'bad' }] });
    expect(failed.warnings[0]!.message.length).toBeLessThanOrEqual(1_000);
    await opened.close();
    const partial = { refs: [{ id: 'a', rev: '1' }], done: true, incomplete: words };
    const incomplete = await open({ list: () => partial, fetch: throwing(badConfig(words)) });
    expect(['completed', 'failed']).toContain((await incomplete.mirror.sync()).status);
    await opened.close();
    opened = await openTestDatabase(engine);
    const clock = createTestClock();
    const refusing = scriptedConnector({ partitions: throwing(badConfig(words)) });
    const mirror = await createMirror({ database: opened.database, clock, connector: refusing });
    expect((await mirror.sync()).status).toBe('failed');
  });

  it('whose listing forgets where it was is listed from the start, and given up after some times', async () => {
    let forgets = 2;
    const { mirror, connector } = await open({
      list(_, from) {
        if (from === undefined) return { ...pageOf('a'), done: false, next: 1 };
        if (forgets-- > 0) throw cursorExpired('which listing?');
        return pageOf('b');
      },
    });
    expect(await mirror.sync()).toMatchObject({ status: 'completed', warnings: [] });
    expect(await mirrored(mirror)).toEqual(['a', 'b', ...good]);
    forgets = Infinity;
    connector.calls.length = 0;
    expect(await mirror.sync()).toMatchObject({ warnings: [{ partitionId: 'bad', code: 'partition_parked' }] });
    expect(connector.calls.filter((call) => call === 'list bad')).toHaveLength(8);
  });

  it('that never answers has failed after a while', async () => {
    const { mirror, clock } = await open({ list: () => new Promise(() => {}) }, { verbTimeoutMs: 60_000 });
    let over = false;
    const running = mirror.sync().finally(() => (over = true));
    const look = () => {
      clock.advance(1_000);
      return over;
    };
    await expect.poll(look, { timeout: 30_000 }).toBe(true);
    const run = await running;
    expect(run).toMatchObject({ status: 'completed', warnings: [{ partitionId: 'bad' }] });
    expect(run.warnings[0]!.message).toContain('did not answer within 60 seconds (list)');
    expect(await mirrored(mirror)).toEqual(good);
  });

  it.each([
    ['no list', () => 'one'],
    ['one without id', () => [{ title: 'x' }]],
    ['an error', throwing('no')],
  ])('whose partitions are %s ends its own run', async (_, partitions) => {
    opened = await openTestDatabase(engine);
    const connector = scriptedConnector({ partitions });
    const mirror = await createMirror({ database: opened.database, clock: createTestClock(), connector });
    const run = await mirror.sync();
    expect(run.status).toBe('failed');
    expect(run.error).toMatch(/partitions/);
  });
});
