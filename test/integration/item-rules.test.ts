import { afterEach, describe, expect, it } from 'vitest';
import pushConnector from '../../connectors/push/index.ts';
import { contentSettingsKey, writeSetting } from '../../src/store/settings.ts';
import { startTestApi } from '../support/api.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { rescope } from '../support/rescope.ts';
import { createScopedSource } from '../support/scoped-source.ts';

describe('includeItems and excludeItems', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open() {
    opened = await openTestDatabase();
    const clock = createTestClock();
    const source = createScopedSource();
    const { database } = opened;
    const mirror = await createMirror({ database, clock, connector: source.connector({ incremental: false }) });
    const rules = (value: object) => writeSetting(database, contentSettingsKey, value, clock.now());
    return { database, source, mirror, rules, ids: async () => [...(await mirror.texts()).keys()] };
  }

  it('hold before anything is read, and for what comes in from then on', async () => {
    const { source, mirror, rules, ids } = await open();
    for (const path of ['plan.md', 'draft.md', 'notes.txt']) source.put('s', path, { text: path, path });
    await mirror.sync();
    await rules({ shouldLLMFilter: true, includeItems: { patterns: ['*.md'] }, excludeItems: ['draft'] });
    source.requests.length = 0;
    for (const path of ['more.md', 'draft of more.md', 'more.txt']) source.put('s', path, { text: path, path });
    expect(await mirror.sync({ dryRun: true })).toMatchObject({
      report: { added: { ids: ['more.md'] }, updated: { count: 0 }, deleted: { count: 0 } },
    });
    expect(await mirror.sync({ mode: 'full' })).toMatchObject({ itemsAdded: 1, itemsDeleted: 0 });
    expect(source.fetches()).toEqual(['fetch more.md']);
    expect(await ids()).toEqual(['draft.md', 'more.md', 'notes.txt', 'plan.md']);
    expect((await mirror.items()).find(({ ext_id }) => ext_id === 'more.txt')).toMatchObject({
      state: 'skipped',
      error_class: 'filtered',
      error: 'The settings includeItems and excludeItems leave it out.',
    });
  });

  it('take out what has changed and is not wanted any more', async () => {
    const { source, mirror, rules, ids } = await open();
    for (const path of ['plan.md', 'notes.txt']) source.put('s', path, { text: path, path });
    await mirror.sync();
    await rules({ shouldLLMFilter: true, includeItems: { fileTypes: ['md'] } });
    for (const path of ['plan.md', 'notes.txt']) source.change('s', path, { text: `new ${path}` });
    expect(await mirror.sync({ dryRun: true })).toMatchObject({
      report: { added: { count: 0 }, updated: { ids: ['plan.md'] }, deleted: { ids: ['notes.txt'] } },
    });
    await mirror.sync();
    expect(await ids()).toEqual(['plan.md']);
  });

  it('let in what they kept out when they are lifted, and only then', async () => {
    const { database, source, mirror, rules, ids } = await open();
    const strict = { shouldLLMFilter: true, excludeItems: ['secret'] };
    await rules(strict);
    source.put('s', 'secret.md', { text: 'secret', path: 'secret.md' });
    await mirror.sync();
    // Other filters are judged anew, which must not let it in.
    await rescope(database, mirror.id, { filters: { exclude: ['*.txt'] } });
    await mirror.sync();
    expect(await ids()).toEqual([]);
    await rules({ ...strict, shouldLLMFilter: false });
    await mirror.sync();
    expect(await ids()).toEqual(['secret.md']);
  });
});

it('the settings hold for what is pushed, too', async () => {
  const test = await startTestApi({ connectors: { push: pushConnector } });
  const rules = { shouldLLMFilter: true, excludeItems: { titlePatterns: ['draft*'] } };
  expect((await test.call('PATCH', '/v3/settings', rules)).status).toBe(200);
  const { body } = await test.call('POST', '/v3/connections/push', { containerTag: 'pushed' });
  const upserts = ['Draft of it', 'The plan'].map((title) => ({ id: title, title, text: title }));
  await test.call('POST', `/v3/connections/${body.id}/push`, { upserts });
  const listed = await test.call('POST', '/v3/documents/list', { containerTag: 'pushed' });
  expect(listed.body.memories.map(({ title }: { title: string }) => title)).toEqual(['The plan']);
  await test.close();
});
