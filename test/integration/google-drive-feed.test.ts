import { afterEach, describe, expect, it } from 'vitest';
import { docExports, refusal } from '../../fixtures/servers/google-drive/drive-answers.ts';
import { docType, folderType } from '../../fixtures/servers/google-drive/drive-source.ts';
import { createDriveFixture } from './google-drive-fixture.ts';

const hourMs = 3_600_000;

describe('the log of Google Drive', () => {
  let fixture: Awaited<ReturnType<typeof createDriveFixture>>;
  afterEach(() => fixture.close());

  async function open(options: Parameters<typeof createDriveFixture>[0] = {}) {
    fixture = await createDriveFixture(options);
    const { source, mirror } = fixture;
    const text = (name: string, words: string, more = {}) =>
      source.add({ name, bytes: Buffer.from(words), ...more }).id;
    return { ...fixture, text, ids: async () => [...(await mirror.texts()).keys()].sort() };
  }

  it('costs two listings, then one request when nothing changed, and one more for each changed file', async () => {
    const { mirror, source, text, takeRequests } = await open({ pageSize: 10 });
    const ids = Array.from({ length: 25 }, (_, index) => text(`file ${index}`, `text ${index}`));
    await mirror.sync();
    const first = takeRequests();
    expect(first.filter((one) => one === 'GET /files')).toHaveLength(2 * 3);
    expect(first).toHaveLength(1 + 6 + 25 + 1);
    await mirror.sync();
    expect(takeRequests()).toEqual(['GET /changes']);
    for (const id of ids.slice(0, 3)) source.change(id, { bytes: Buffer.from(`edited ${id}`) });
    await mirror.sync();
    expect(takeRequests()).toHaveLength(1 + 3);
    await mirror.sync({ mode: 'full' });
    expect(takeRequests()).toHaveLength(1 + 3 + 1);
  });

  it('finds what is edited while the first listing goes on', async () => {
    const { mirror, source, text, fail } = await open({ pageSize: 2 });
    const ids = Array.from({ length: 6 }, (_, index) => text(`file ${index}`, `text ${index}`));
    let pages = 0;
    fail((request) => {
      if (request.path === '/drive/v3/files' && ++pages === 2) {
        source.change([...ids].sort()[0]!, { bytes: Buffer.from('edited meanwhile') });
        source.add({ name: 'new', bytes: Buffer.from('added meanwhile') });
      }
      return undefined;
    });
    await mirror.sync();
    expect([...(await mirror.texts()).values()]).toEqual(
      expect.arrayContaining(['edited meanwhile', 'added meanwhile']),
    );
  });

  it.each([400, 404, 410])(
    'loses nothing when a position has expired (%i), and reads nothing again',
    async (status) => {
      const { mirror, source, text, fail, takeRequests } = await open();
      const [kept, edited, removed] = ['kept', 'edited', 'removed'].map((name) => text(name, `the ${name} one`));
      await mirror.sync();
      const documents = await mirror.documentIds();
      source.change(edited!, { bytes: Buffer.from('edited in the gap') });
      source.remove(removed!);
      const added = text('added', 'added in the gap');
      source.expirePositions();
      let isFirst = true;
      fail((request) => {
        if (request.path !== '/drive/v3/changes' || !isFirst) return undefined;
        isFirst = false;
        return refusal(status, 'invalid', { location: 'pageToken' });
      });
      takeRequests();
      await mirror.sync();
      const texts = await mirror.texts();
      expect(Object.fromEntries(texts)).toEqual({
        [kept!]: 'the kept one',
        [edited!]: 'edited in the gap',
        [added]: 'added in the gap',
      });
      expect((await mirror.documentIds()).get(kept!)).toBe(documents.get(kept!));
      expect(takeRequests()).not.toContain(`GET /files/${kept}?alt=media`);
    },
  );

  it('ends when positions expire again and again, and loses nothing', async () => {
    const { mirror, text, fail, ids, takeRequests } = await open();
    const all = ['a', 'b', 'c'].map((name) => text(name, name)).sort();
    await mirror.sync();
    takeRequests();
    fail(({ path }) => (path === '/drive/v3/changes' ? refusal(410, 'pageTokenExpired') : undefined));
    await mirror.sync();
    expect(takeRequests().length).toBeLessThan(10);
    expect(await ids()).toEqual(all);
    fail(() => undefined);
    expect(await mirror.sync()).toMatchObject({ status: 'completed' });
  });

  it('keeps nothing of the files in its position', async () => {
    const { mirror, text } = await open();
    for (let index = 0; index < 30; index++) text(`file ${index}`, `text ${index}`);
    await mirror.sync();
    const [partition] = await mirror.partitions();
    expect(partition!['position']).toEqual({ token: expect.any(String) });
  });

  it('finds files whose modification time lies in the past, and files that come back from the trash', async () => {
    const { mirror, source, text, ids } = await open();
    const restored = text('restored', 'came back');
    await mirror.sync();
    source.change(restored, { trashed: true });
    await mirror.sync();
    expect(await ids()).toEqual([]);
    source.change(restored, { trashed: false });
    const old = text('old', 'uploaded with its old time', { modifiedMs: Date.UTC(2001, 0, 1) });
    await mirror.sync();
    expect(await ids()).toEqual([old, restored].sort());
  });

  it('takes the files of a folder out with it, and brings them back, though only the folder is logged', async () => {
    const { mirror, source, text, ids } = await open();
    const folder = source.add({ name: 'folder', mimeType: folderType }).id;
    const inner = source.add({ name: 'inner', mimeType: folderType, parent: folder }).id;
    const inside = [text('first', 'in the folder', { parent: folder }), text('deep', 'deep in it', { parent: inner })];
    const beside = text('beside', 'beside it');
    await mirror.sync();
    source.change(folder, { trashed: true });
    await mirror.sync();
    expect(await ids()).toEqual([beside]);
    source.change(folder, { trashed: false });
    await mirror.sync();
    expect(await ids()).toEqual([...inside, beside].sort());
    const elsewhere = source.addDrive('Elsewhere');
    source.move(folder, elsewhere);
    await mirror.sync();
    expect(await ids()).toEqual([beside]);
    source.move(folder, source.rootId);
    await mirror.sync();
    expect(await ids()).toEqual([...inside, beside].sort());
    source.remove(folder);
    await mirror.sync();
    expect(await ids()).toEqual([beside]);
  });

  it('moves a subtree in and out of the chosen folders', async () => {
    const { mirror, source, text, ids, select, takeRequests } = await open();
    const [chosen, other] = ['chosen', 'other'].map((name) => source.add({ name, mimeType: folderType }).id);
    const moved = source.add({ name: 'moved', mimeType: folderType, parent: other! }).id;
    const inside = text('inside', 'in the moved folder', { parent: moved });
    const direct = text('direct', 'in the chosen folder', { parent: chosen! });
    await select([{ id: chosen!, name: 'chosen' }]);
    await mirror.sync();
    expect(await ids()).toEqual([direct]);
    source.move(moved, chosen!);
    await mirror.sync();
    expect(await ids()).toEqual([direct, inside].sort());
    source.move(moved, other!);
    await mirror.sync();
    expect(await ids()).toEqual([direct]);
    // What is out of scope is not read when it changes either.
    source.change(inside, { bytes: Buffer.from('edited outside') });
    takeRequests();
    await mirror.sync();
    expect(await ids()).toEqual([direct]);
    expect(takeRequests()).toEqual(['GET /changes']);
  });

  it('keeps a file that moves into a folder which is chosen at the same time', async () => {
    const { mirror, source, text, ids, select, fail } = await open();
    const [before, after] = ['before', 'after'].map((name) => source.add({ name, mimeType: folderType }).id);
    const moved = text('moved', 'moved', { parent: before });
    const left = text('left', 'left behind', { parent: before });
    await select([{ id: before!, name: 'before' }]);
    await mirror.sync();
    const documents = await mirror.documentIds();
    source.move(moved, after!);
    await select([{ id: after!, name: 'after' }]);
    fail(({ path }) => (path === '/drive/v3/changes' ? refusal(501, 'backendError') : undefined));
    await mirror.sync();
    expect(await ids()).toEqual([moved, left].sort());
    fail(() => undefined);
    await mirror.sync();
    expect([...(await mirror.documentIds())]).toEqual([[moved, documents.get(moved)]]);
  });

  it('takes an error on one page of a listing for no end of it', async () => {
    const { mirror, source, text, fail, ids } = await open({ pageSize: 2 });
    const all = Array.from({ length: 7 }, (_, index) => text(`file ${index}`, `text ${index}`)).sort();
    await mirror.sync();
    fail(({ path, query }) =>
      path === '/drive/v3/files' && query['pageToken'] ? refusal(501, 'backendError') : undefined,
    );
    fixture.clock.advance(25 * hourMs);
    const run = await mirror.sync({ mode: 'full' });
    expect(run.status).toBe('failed');
    expect(await ids()).toEqual(all);
    fail(() => undefined);
    source.remove(all[0]!);
    await mirror.sync({ mode: 'full' });
    expect(await ids()).toEqual(all.slice(1));
  });

  it('keeps files that a listing leaves out, and counts them', async () => {
    const { mirror, source, text, ids } = await open();
    const all = Array.from({ length: 30 }, (_, index) => text(`file ${index}`, `text ${index}`)).sort();
    await mirror.sync();
    source.leavesOut = (id) => id !== all[0];
    const run = await mirror.sync({ mode: 'full' });
    expect(run.warnings).toMatchObject([{ code: 'listing_left_out' }]);
    expect(run.warnings[0]!.message).toContain('29 items');
    expect(await ids()).toEqual(all);
  });

  it('mirrors one account by two connections, each into its own container and by its own position', async () => {
    const { source, mirror, mirrorOf } = await open();
    const ids = ['a', 'b', 'c'].map((name) => source.add({ name, bytes: Buffer.from(`text ${name}`) }).id);
    const other = await mirrorOf('other');
    await mirror.sync();
    await other.sync();
    expect(await other.texts()).toEqual(await mirror.texts());
    source.remove(ids[0]!);
    await other.sync();
    expect([(await mirror.texts()).size, (await other.texts()).size]).toEqual([3, 2]);
    await mirror.sync();
    expect(await other.texts()).toEqual(await mirror.texts());
  });

  it('goes on with the log when an export failed, and reads that document later', async () => {
    const { mirror, source, fail, clock } = await open();
    const doc = source.add({ name: 'doc', mimeType: docType, exports: docExports('first') }).id;
    await mirror.sync();
    source.change(doc, { exports: docExports('second') });
    fail(({ path }) => (path.endsWith('/export') ? refusal(501, 'backendError') : undefined));
    await mirror.sync();
    expect((await mirror.texts()).get(doc)).toBe('first');
    fail(() => undefined);
    clock.advance(hourMs);
    await mirror.sync();
    expect((await mirror.texts()).get(doc)).toBe('second');
  });
});
