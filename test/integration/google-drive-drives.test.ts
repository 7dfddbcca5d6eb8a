import { afterEach, describe, expect, it } from 'vitest';
import drive from '../../connectors/google-drive/index.ts';
import { refusal } from '../../fixtures/servers/google-drive/drive-answers.ts';
import { folderType } from '../../fixtures/servers/google-drive/drive-source.ts';
import { createDriveFixture } from './google-drive-fixture.ts';

const dayMs = 86_400_000;

describe('places in Google Drive', () => {
  let fixture: Awaited<ReturnType<typeof createDriveFixture>>;
  afterEach(() => fixture.close());

  async function open() {
    fixture = await createDriveFixture();
    const { source, mirror } = fixture;
    const team = source.addDrive('Team');
    const own = source.add({ name: 'own', bytes: Buffer.from('of the user') }).id;
    const shared = source.add({ name: 'shared', bytes: Buffer.from('of the team'), parent: team }).id;
    const whole = [
      { id: source.rootId, name: 'My Drive' },
      { id: `${team}/${team}`, name: 'Team' },
    ];
    return { ...fixture, ...{ team, own, shared, whole }, ids: async () => [...(await mirror.texts()).keys()].sort() };
  }

  it('follows the log of the user and one of each chosen shared drive, each by its own positions', async () => {
    const { source, mirror, select, whole, own, shared, ids, takeRequests } = await open();
    await select(whole);
    await mirror.sync();
    expect(await ids()).toEqual([own, shared].sort());
    takeRequests();
    await mirror.sync();
    expect(takeRequests()).toEqual(['GET /changes', 'GET /changes']);
    source.change(shared, { bytes: Buffer.from('edited by the team') });
    await mirror.sync();
    expect((await mirror.texts()).get(shared)).toBe('edited by the team');
  });

  it('never asks for all drives at once', async () => {
    const { mirror, server, select, whole } = await open();
    await select(whole);
    await mirror.sync();
    const listings = server.traffic.recent().filter(({ path }) => path === '/drive/v3/files');
    expect(new Set(listings.map(({ query }) => query['corpora']))).toEqual(new Set(['user', 'drive']));
  });

  it('keeps the files of a shared drive that is gone, also when its own log says nothing', async () => {
    const { source, mirror, select, whole, team, own, shared, ids, clock } = await open();
    await select(whole);
    await mirror.sync();
    source.removeDrive(team);
    await mirror.sync();
    clock.advance(8 * dayMs);
    await mirror.sync();
    const partition = (await mirror.partitions()).find(({ id }) => id === team);
    expect(partition).toMatchObject({ problem: 'missing', state: 'paused' });
    expect(await ids()).toEqual([own, shared].sort());
  });

  it('does not end with one drive when another one fails', async () => {
    const { source, mirror, select, whole, team, own, shared, ids, fail } = await open();
    await select(whole);
    await mirror.sync();
    fail(({ query }) => (query['driveId'] === team ? refusal(501, 'backendError') : undefined));
    const added = source.add({ name: 'added', bytes: Buffer.from('added') }).id;
    await mirror.sync({ mode: 'full' });
    expect(await ids()).toEqual([own, shared, added].sort());
  });

  it('reads a 403 by its reason: a limit is waited for, a missing scope is told', async () => {
    const { mirror, fail } = await open();
    fail(() => refusal(403, 'userRateLimitExceeded'));
    expect(await mirror.sync()).toMatchObject({ status: 'failed', errorCode: 'rate_limited' });
    fixture.clock.advance(dayMs);
    fail(() => refusal(403, 'insufficientPermissions'));
    const checks = await fixture.withContext((context) => drive.check(context));
    expect(checks).toMatchObject([{ status: 'failed' }]);
    expect(checks[0]!.remedy).toContain('tick every box');
  });

  it('asks each hour, not more, when the quota of the day is spent', async () => {
    const { mirror, fail, takeRequests, own, ids, clock } = await open();
    await mirror.sync();
    takeRequests();
    fail(() => refusal(403, 'dailyLimitExceeded'));
    for (let minute = 0; minute < 60; minute += 10) {
      await mirror.sync();
      clock.advance(10 * 60_000);
    }
    expect(takeRequests()).toEqual(['GET /changes']);
    fail(() => undefined);
    expect(await mirror.sync()).toMatchObject({ status: 'completed' });
    expect(await ids()).toEqual([own]);
  });

  it('keeps everything when the token is revoked in the middle or the account is deleted, and does not ask again', async () => {
    const { source, mirror, fail, takeRequests, own, ids, clock } = await open();
    await mirror.sync();
    const added = source.add({ name: 'added', bytes: Buffer.from('added') }).id;
    let requests = 0;
    fail(() => (++requests > 1 ? refusal(401, 'authError') : undefined));
    clock.advance(2 * dayMs);
    expect(await mirror.sync({ mode: 'full' })).toMatchObject({ status: 'failed', errorCode: 'auth_expired' });
    expect(await ids()).toEqual([own]);
    takeRequests();
    await mirror.run();
    expect(takeRequests()).toEqual([]);
    expect(await ids()).not.toContain(added);
  });

  it('shows places, and the folders in them', async () => {
    const { source, team, withContext } = await open();
    const plans = source.add({ name: 'Plans', mimeType: folderType }).id;
    const deep = source.add({ name: 'Deep', mimeType: folderType, parent: team }).id;
    const level = (parent?: string) =>
      withContext(async (context) => (await drive.resources!(context, parent)).resources);
    expect((await level()).map(({ name }) => name)).toEqual(['My Drive', 'Shared with me', 'Team']);
    expect(await level(source.rootId)).toMatchObject([{ id: plans, name: 'Plans', hasChildren: true }]);
    expect(await level(`${team}/${team}`)).toMatchObject([{ id: `${team}/${deep}`, name: 'Deep' }]);
  });

  it('opens a channel for each log, takes its messages for hints, and closes it when it is renewed', async () => {
    const { server, withContext } = await open();
    const { subscribe, renew, cancel, receive } = drive.hooks!;
    const url = 'https://memory.example.com/v3/hooks/google-drive/1';
    const [channel] = await withContext((context) => subscribe!(context, url, 'secret'));
    expect(Date.parse(channel!.expiresAt!) - fixture.clock.now().getTime()).toBeLessThanOrEqual(7 * dayMs);
    const known = server.channels.get(channel!.id)!;
    const message = (state: string, token = known.token) => ({
      ...{ method: 'POST', path: '/', query: {}, body: new Uint8Array() },
      headers: {
        ...{ 'x-goog-channel-id': channel!.id, 'x-goog-channel-token': token },
        ...{ 'x-goog-message-number': '7', 'x-goog-resource-state': state },
      },
    });
    expect(await receive(message('sync'), 'secret')).toMatchObject({ hints: [] });
    expect(await receive(message('change'), 'secret')).toMatchObject({ hints: [{ partition: 'user' }] });
    await expect(receive(message('change', 'user.wrong'), 'secret')).rejects.toMatchObject({ kind: 'forbidden' });
    const renewed = await withContext((context) => renew!(context, channel!, url, 'secret'));
    expect([...server.channels.keys()]).toEqual([renewed.id]);
    await withContext((context) => cancel!(context, renewed));
    expect(server.channels.size).toBe(0);
  });
});
