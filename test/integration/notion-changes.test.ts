import { afterEach, describe, expect, it } from 'vitest';
import { idFor, type Workspace } from '../../fixtures/servers/notion/workspace.ts';
import { createNotionFixture, type NotionFixture, type NotionFixtureOptions } from './notion-fixture.ts';

let fixture: NotionFixture;
afterEach(() => fixture.close());

const minute = 60_000;
const day = 86_400_000;

const longAgo = Date.parse('2026-02-01T10:00:00.000Z');
/** Of a page that is not hot. */
const old = { createdAt: longAgo, edits: [longAgo] };

/** Pages that were all edited long ago, so that none is hot. */
function oldPages(workspace: Workspace, count: number, given: object = {}): void {
  for (let index = 1; index <= count; index++) {
    workspace.addPage(`page ${index}`, {
      text: `Text ${index}.`,
      createdAt: longAgo + index * 20 * minute,
      edits: [longAgo + index * 20 * minute],
      ...given,
    });
  }
}

async function opened(options: NotionFixtureOptions = {}) {
  fixture = await createNotionFixture(options);
  return fixture;
}

const textsIn = async () => Object.fromEntries(await fixture.mirror.texts());
const warningsOf = (run: { warnings?: unknown }) => JSON.stringify(run.warnings ?? []);

describe('changes that Notion does not show in its times', () => {
  it('finds a second edit within the same minute, by reading a hot page once more when it is quiet', async () => {
    const { clock, workspace, mirror } = await opened({ fill: (all) => oldPages(all, 2) });
    await mirror.sync();
    clock.advance(3 * minute - (clock.now().getTime() % minute));
    workspace.edit(idFor('page 1'), { text: 'First edit.' });
    await mirror.sync();
    expect((await textsIn())[idFor('page 1')]).toBe('First edit.');
    clock.advance(5_000);
    workspace.edit(idFor('page 1'), { text: 'Second edit, the same minute.' });
    await mirror.sync();
    clock.advance(3 * minute);
    fixture.takeRequests();
    await mirror.sync();
    expect((await textsIn())[idFor('page 1')]).toBe('Second edit, the same minute.');
    expect(fixture.takeRequests().filter((line) => line.endsWith('/markdown'))).toHaveLength(1);
    await mirror.sync();
    expect(fixture.takeRequests().filter((line) => line.endsWith('/markdown'))).toEqual([]);
  });

  it('finds an edit that moved no time within fifty days, by reading some pages again each day', async () => {
    const { clock, workspace, mirror } = await opened({ fill: (all) => oldPages(all, 40) });
    await mirror.sync();
    for (const page of workspace.pages.values()) workspace.change(page.id, { text: `${page.text} By a program.` });
    await mirror.sync();
    expect(Object.values(await textsIn()).filter((text) => text.includes('program'))).toEqual([]);
    let most = 0;
    for (let days = 0; days < 51; days++) {
      clock.advance(day + minute);
      fixture.takeRequests();
      await mirror.sync();
      most = Math.max(most, fixture.takeRequests().filter((line) => line.endsWith('/markdown')).length);
    }
    expect(Object.values(await textsIn()).filter((text) => text.includes('program'))).toHaveLength(40);
    // By chance some turns meet; all at once would be no turns.
    expect(most).toBeLessThanOrEqual(6);
  }, 120_000);

  it('finds an edit behind more newer ones than a page of the search shows, also when reading was interrupted', async () => {
    const { clock, workspace, mirror, server } = await opened({ fill: (all) => oldPages(all, 250) });
    await mirror.sync();
    workspace.edit(idFor('page 1'), { text: 'Edited first.' });
    clock.advance(30 * minute);
    for (let index = 2; index <= 230; index++) workspace.edit(idFor(`page ${index}`), { text: 'Edited later.' });
    let searches = 0;
    server.traffic.intercept(({ path }) => (path === '/v1/search' && ++searches > 1 ? { status: 500 } : undefined));
    await mirror.sync();
    server.traffic.intercept(null);
    clock.advance(day / 2);
    workspace.edit(idFor('page 240'), { text: 'Edited last.' });
    // The first goes on where the reading ended, below what is newer now.
    for (let count = 1; count <= 2; count++) await mirror.sync();
    const texts = await textsIn();
    expect(texts).toMatchObject({ [idFor('page 1')]: 'Edited first.', [idFor('page 240')]: 'Edited last.' });
    expect(Object.values(texts).filter((text) => text === 'Edited later.')).toHaveLength(229);
  });

  it('finds an edit that the search shows some minutes late', async () => {
    const { clock, workspace, mirror } = await opened({ fill: (all) => oldPages(all, 3) });
    await mirror.sync();
    workspace.searchLagMs = 5 * minute;
    workspace.edit(idFor('page 1'), { text: 'Shown late.' });
    clock.advance(minute);
    workspace.searchLagMs = 0;
    workspace.edit(idFor('page 2'), { text: 'Shown at once.' });
    workspace.searchLagMs = 5 * minute;
    await mirror.sync();
    clock.advance(5 * minute);
    await mirror.sync();
    expect(await textsIn()).toMatchObject({
      [idFor('page 1')]: 'Shown late.',
      [idFor('page 2')]: 'Shown at once.',
    });
  });
});

describe('pages that the search leaves out', () => {
  it('loads the rows of a database and parents that it omits, and shows nothing twice', async () => {
    const { workspace, mirror } = await opened({
      fill(all) {
        const source = all.addSource('Tasks');
        oldPages(all, 3, { parent: { type: 'source', id: source.id } });
        all.addPage('parent', { text: 'A parent.' });
        all.addPage('child', { text: 'A child.', parent: { type: 'page', id: idFor('parent') } });
        all.omitted.add(idFor('page 2')).add(idFor('parent'));
        all.repeated.add(idFor('child'));
      },
    });
    const run = await mirror.sync();
    expect(run.status).toBe('completed');
    expect(Object.values(await textsIn()).toSorted()).toEqual([
      'A child.',
      'A parent.',
      'Text 1.',
      'Text 2.',
      'Text 3.',
    ]);
    expect(warningsOf(run)).not.toContain('repeated_items');
    expect(workspace.pages.size).toBe(5);
  });

  it.each(['Markdown', 'blocks'])(
    'finds pages that only the %s of another page shows, and what lies in them',
    async (by) => {
      const tag = (name: string) =>
        `<page url="https://app.notion.com/p/${idFor(name).replaceAll('-', '')}">${name}</page>`;
      const below = (name: string) => ({ parent: { type: 'page', id: idFor(name) } as const });
      const { mirror, takeRequests } = await opened({
        fill(all) {
          oldPages(all, 2);
          all.addPage('top', { text: `The top. ${tag('middle')} ${tag('not shared')}`, ...old });
          all.addPage('middle', { text: `In the middle. ${tag('bottom')}`, ...below('top'), ...old });
          all.addPage('bottom', { text: 'At the bottom.', ...below('middle'), ...old });
          for (const name of ['middle', 'bottom']) all.omitted.add(idFor(name));
          if (by === 'blocks') for (const name of ['top', 'middle']) all.withoutMarkdown.add(idFor(name));
        },
      });
      for (let round = 0; round < 3; round++) await mirror.sync();
      expect(Object.keys(await textsIn())).toEqual(expect.arrayContaining(['middle', 'bottom'].map(idFor)));
      takeRequests();
      await mirror.sync();
      expect(takeRequests()).toEqual(['POST /v1/search', 'POST /v1/search']);
    },
  );

  it('never removes a page because the search does not show it', async () => {
    const { clock, workspace, mirror } = await opened({ fill: (all) => oldPages(all, 5) });
    await mirror.sync();
    for (let index = 1; index <= 4; index++) workspace.omitted.add(idFor(`page ${index}`));
    clock.advance(day + minute);
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(5);
  });

  it('reads each data source of a database that has several', async () => {
    await opened({
      fill(all) {
        const databaseId = idFor('one database');
        for (const name of ['Plans', 'Reports']) {
          const source = all.addSource(name, { databaseId });
          all.addPage(`row of ${name}`, { text: `About ${name}.`, parent: { type: 'source', id: source.id } });
          all.omitted.add(idFor(`row of ${name}`));
        }
      },
    });
    await fixture.mirror.sync();
    expect(Object.values(await textsIn()).toSorted()).toEqual(['About Plans.', 'About Reports.']);
  });

  it('reads more than 10,000 rows in windows by the time they were made', async () => {
    const { workspace, mirror } = await opened({
      fill(all) {
        all.rowLimit = 7;
        const source = all.addSource('Large');
        oldPages(all, 30, { parent: { type: 'source', id: source.id } });
        for (const page of all.pages.values()) all.omitted.add(page.id);
      },
    });
    // Only the database leads to its rows.
    workspace.addPage('other', { text: 'Other.' });
    const run = await mirror.sync();
    expect((await mirror.texts()).size).toBe(31);
    expect(warningsOf(run)).not.toContain('incomplete_listing');
  });

  it('says that it cannot see more than 10,000 rows of one minute', async () => {
    const { mirror } = await opened({
      fill(all) {
        all.rowLimit = 7;
        const source = all.addSource('Imported');
        const at = Date.parse('2026-02-01T10:00:00.000Z');
        for (let index = 0; index < 9; index++) {
          const page = all.addPage(`row ${index}`, { text: 'Row.', createdAt: at, edits: [at] });
          Object.assign(page, { parent: { type: 'source', id: source.id } });
          all.omitted.add(page.id);
        }
      },
    });
    const run = await mirror.sync();
    expect(warningsOf(run)).toContain('More than 10,000 rows of a database were made in one minute');
  });
});

describe('a database that fails', () => {
  it('holds up nothing else, deletes nothing, and is read when it can be', async () => {
    const { clock, workspace, mirror } = await opened({
      fill(all) {
        for (const name of ['Broken', 'Sound']) all.addSource(name);
        const [broken, sound] = [...all.sources.keys()];
        oldPages(all, 2, { parent: { type: 'source', id: sound } });
        const at = Date.parse('2026-02-01T10:00:00.000Z');
        all.addPage('row', {
          text: 'In the broken one.',
          parent: { type: 'source', id: broken! },
          createdAt: at,
          edits: [at],
        });
      },
    });
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(3);
    const [broken] = [...workspace.sources.keys()];
    workspace.broken.add(broken!);
    workspace.omitted.add(idFor('row'));
    workspace.edit(idFor('page 1'), { text: 'Edited meanwhile.' });
    const failed = await mirror.sync();
    expect([failed.status, failed.error]).toEqual(['failed', expect.stringContaining('1 databases could not be read')]);
    expect((await textsIn())[idFor('page 1')]).toBe('Edited meanwhile.');
    clock.advance(day + minute);
    await mirror.sync({ mode: 'full' });
    expect((await mirror.texts()).size).toBe(3);
    workspace.edit(idFor('row'), { text: 'Edited while it was broken.' });
    workspace.broken.clear();
    clock.advance(day);
    expect((await mirror.sync()).status).toBe('completed');
    expect((await textsIn())[idFor('row')]).toBe('Edited while it was broken.');
  });

  it('is loaded whole later when it fails during the first sync', async () => {
    const { clock, workspace, mirror } = await opened({
      fill(all) {
        const source = all.addSource('Broken');
        oldPages(all, 3, { parent: { type: 'source', id: source.id } });
        for (const page of all.pages.values()) all.omitted.add(page.id);
        all.broken.add(source.id);
      },
    });
    const first = await mirror.sync();
    expect(first.status).toBe('failed');
    workspace.broken.clear();
    clock.advance(minute);
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(3);
  });
});

describe('deleted pages', () => {
  it('goes with the trash, and comes back out of it', async () => {
    const { clock, workspace, mirror } = await opened({ fill: (all) => oldPages(all, 4) });
    await mirror.sync();
    workspace.edit(idFor('page 2'), { inTrash: true });
    await mirror.sync();
    expect([...(await mirror.texts()).keys()]).not.toContain(idFor('page 2'));
    clock.advance(minute);
    workspace.edit(idFor('page 2'), { inTrash: false });
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(4);
  });

  it('is found by the daily listing when going into the trash, or out of sight, moved no time', async () => {
    const { clock, workspace, mirror } = await opened({ fill: (all) => oldPages(all, 8) });
    await mirror.sync();
    workspace.change(idFor('page 1'), { inTrash: true });
    workspace.change(idFor('page 2'), { isHidden: true });
    workspace.erase(idFor('page 3'));
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(8);
    clock.advance(day + minute);
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(5);
    workspace.change(idFor('page 2'), { isHidden: false });
    clock.advance(day + minute);
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(6);
  });

  it('takes what lies below a page in the trash with it, although that says nothing of it', async () => {
    const { clock, workspace, mirror } = await opened({
      fill(all) {
        oldPages(all, 6);
        all.addPage('below', { text: 'Below.', parent: { type: 'page', id: idFor('page 1') } });
      },
    });
    await mirror.sync();
    workspace.edit(idFor('page 1'), { inTrash: true });
    workspace.omitted.add(idFor('below'));
    clock.advance(day + minute);
    await mirror.sync();
    expect([...(await mirror.texts()).keys()]).not.toContain(idFor('below'));
    expect((await mirror.texts()).size).toBe(5);
  });

  it('is kept when the token was revoked in the middle', async () => {
    const { clock, mirror, revoke, intercept } = await opened({ fill: (all) => oldPages(all, 6) });
    await mirror.sync();
    let requests = 0;
    intercept(() => {
      if (++requests === 2) revoke();
      return undefined;
    });
    clock.advance(day + minute);
    const run = await mirror.sync({ mode: 'full' });
    expect(run.errorCode).toBe('auth_expired');
    expect((await mirror.texts()).size).toBe(6);
  });

  it('is held back when the integration suddenly sees nothing at all', async () => {
    const { clock, workspace, mirror } = await opened({ fill: (all) => oldPages(all, 30) });
    await mirror.sync();
    for (const page of workspace.pages.values()) workspace.change(page.id, { isHidden: true });
    clock.advance(day + minute);
    const run = await mirror.sync();
    expect(warningsOf(run)).toContain('sweep_held');
    expect((await mirror.texts()).size).toBe(30);
  });
});
