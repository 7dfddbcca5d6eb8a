import { describe, expect, it } from 'vitest';
import gmail from '../../connectors/gmail/index.ts';
import type { StoredMail } from '../../fixtures/servers/gmail/gmail-source.ts';
import { refusal } from '../../fixtures/servers/gmail/gmail-server.ts';
import { sql } from '../../src/store/sql.ts';
import { connectGmail } from './gmail-fixture.ts';

describe('requests of the Gmail connector', () => {
  it('are one for each thread and one for each 500 mails, twice; a thread of one mail costs half', async () => {
    const { source, add, sync, mirror } = await connectGmail({ config: { unitsPerMinute: 1_000_000 } });
    const ids = add(300);
    for (const threadId of ids.slice(0, 50)) source.add({ threadId, subject: 'Re', text: 'and more' });
    const { calls, units } = await sync();
    // Each listing: all mails, and the drafts. It is repeated once, since nothing promises that it is complete.
    expect(calls).toEqual({
      getProfile: 1,
      'messages.list': 4,
      'messages.get': 250,
      'threads.get': 50,
      'history.list': 1,
    });
    expect(units).toBe(1 + 4 * 5 + 250 * 20 + 50 * 40 + 2);
    expect((await mirror.texts()).size).toBe(300);
  });

  it('are one of two units while nothing happens, and one more for each thread that changed', async () => {
    const { source, add, sync } = await connectGmail();
    const ids = add(12);
    await sync();
    expect(await sync()).toMatchObject({ calls: { 'history.list': 1 }, units: 2 });
    for (const threadId of ids.slice(0, 3)) source.add({ threadId, subject: 'Re', text: 'and more' });
    add(2);
    expect(await sync()).toMatchObject({ calls: { 'history.list': 1, 'threads.get': 3, 'messages.get': 2 } });
  });

  it('are none for what only says how mail was looked at', async () => {
    const { source, add, sync } = await connectGmail();
    const ids = add(5);
    await sync();
    for (const id of ids) source.relabel(id, { remove: ['UNREAD', 'INBOX'], add: ['STARRED', 'IMPORTANT'] });
    expect((await sync()).calls).toEqual({ 'history.list': 1 });
  });

  it('stay within the units of a minute, so that Gmail never refuses one', async () => {
    const { add, mirror, clock, server } = await connectGmail({
      config: { unitsPerMinute: 600 },
      serve: { unitsPerMinute: 600 },
    });
    add(70);
    await mirror.request();
    for (let minutes = 0; minutes < 10 && (await mirror.texts()).size < 70; minutes++) {
      await mirror.run();
      clock.advance(70_000);
    }
    expect((await mirror.texts()).size).toBe(70);
    expect(server.refused()).toBe(0);
  });
});

describe('mail that naive mirrors lose', () => {
  it('mail that comes while the first listing goes on is there', async () => {
    const { source, add, sync, mirror, server } = await connectGmail();
    add(4);
    let late: StoredMail | undefined;
    server.traffic.intercept(({ path }) => {
      if (path.endsWith('/messages')) late ??= source.add({ subject: 'Late', text: 'came meanwhile' });
    });
    await sync();
    server.traffic.intercept(null);
    expect([...(await mirror.texts()).keys()]).toContain(late!.id);
  });

  it('an expired history leads to a comparison: nothing is lost, what is unchanged is neither read nor embedded', async () => {
    const { source, add, sync, mirror } = await connectGmail();
    const ids = add(30);
    await sync();
    const before = await mirror.rows();
    source.relabel(ids[0]!, { add: ['TRASH'] });
    source.delete(ids[1]!);
    const [fresh] = add(1);
    source.expireHistory();
    const { calls } = await sync();
    expect(calls['messages.get']).toBe(1);
    const shown = [...(await mirror.texts()).keys()];
    expect(shown.toSorted()).toEqual([...ids.slice(2), fresh!].toSorted());
    const untouched = new Map(before.map((row) => [row['id'], row['xmin']]));
    const after = await mirror.rows();
    expect(after.filter((row) => untouched.get(row['id']) === row['xmin'])).toHaveLength(28);
    // The new position works.
    expect((await sync()).calls).toEqual({ 'history.list': 1 });
  });

  it('a history that expires again and again never leads to a loop or a loss', async () => {
    const { source, add, sync, mirror } = await connectGmail();
    add(3);
    await sync();
    for (let round = 0; round < 3; round++) {
      add(1);
      source.expireHistory();
      await sync();
    }
    expect((await mirror.texts()).size).toBe(6);
  });

  it('archived, labelled and read mail stays; trash and spam go at the next sync and come back', async () => {
    const { source, add, sync, mirror } = await connectGmail();
    const [archived, trashed, spam] = add(3);
    await sync();
    source.relabel(archived!, { remove: ['INBOX'] });
    source.relabel(trashed!, { add: ['TRASH'], remove: ['INBOX'] });
    source.relabel(spam!, { add: ['SPAM'], remove: ['INBOX'] });
    await sync();
    expect([...(await mirror.texts()).keys()]).toEqual([archived]);
    source.relabel(trashed!, { remove: ['TRASH'], add: ['INBOX'] });
    source.relabel(spam!, { remove: ['SPAM'], add: ['INBOX'] });
    await sync();
    expect((await mirror.texts()).size).toBe(3);
  });

  it('mail that never was in the inbox is there with the next sync', async () => {
    const { source, sync, mirror } = await connectGmail();
    await sync();
    source.add({ subject: 'filtered', text: 'kept out of the inbox', labelIds: ['UNREAD'] });
    await sync();
    expect([...(await mirror.texts()).values()].join()).toContain('kept out of the inbox');
  });

  it('one mail of a thread in the trash takes only that mail out of the document', async () => {
    const { source, add, sync, mirror } = await connectGmail();
    const [id] = add(1);
    const answer = source.add({ threadId: id!, subject: 'Re', text: 'the answer' });
    await sync();
    expect((await mirror.texts()).get(id!)).toContain('the answer');
    source.relabel(answer.id, { add: ['TRASH'] });
    await sync();
    expect((await mirror.texts()).get(id!)).toMatch(/^(?![^]*the answer)[^]*text 0/);
  });

  it('drafts are not mirrored until they are sent', async () => {
    const { source, add, sync, mirror } = await connectGmail();
    const [id] = add(1);
    const draft = source.add({ threadId: id!, subject: 'Re', text: 'half a thought', labelIds: ['DRAFT'] });
    await sync();
    expect((await mirror.texts()).get(id!)).not.toContain('half a thought');
    source.delete(draft.id);
    source.add({ threadId: id!, subject: 'Re', text: 'a whole thought', labelIds: ['SENT'] });
    await sync();
    expect((await mirror.texts()).get(id!)).toContain('a whole thought');
  });

  it('an entry of the history that does not say what happened is looked at', async () => {
    const { source, add, sync } = await connectGmail();
    const [id] = add(2);
    await sync();
    source.noteUnexplained(id!);
    expect((await sync()).calls).toEqual({ 'history.list': 1, 'threads.get': 1 });
  });

  it('answers without a list are empty, and answers without anything are none', async () => {
    const { sync, mirror, add, server } = await connectGmail();
    await sync();
    expect((await mirror.texts()).size).toBe(0);
    add(2);
    await sync();
    server.traffic.intercept(({ path }) => (path.endsWith('/history') ? { json: {} } : undefined));
    expect((await mirror.sync()).status).not.toBe('completed');
    server.traffic.intercept(({ path }) => (path.endsWith('/messages') ? { json: {} } : undefined));
    await mirror.sync({ mode: 'full' });
    expect((await mirror.texts()).size).toBe(2);
  });

  it('a date that is none, in the mail or far in the future, does not end the sync', async () => {
    const { source, sync, mirror } = await connectGmail();
    for (const date of ['', 'yesterday', 'Mon, 99 Foo 2026 99:99:99 +9999', 'Fri, 31 Dec 99999 23:59:59 +0000']) {
      source.add({ subject: 'Odd', text: `dated ${date}`, date });
    }
    await sync();
    expect((await mirror.texts()).size).toBe(4);
  });

  it('attachments that hold text are read, others and large ones are named', async () => {
    const { source, sync, mirror } = await connectGmail({ config: { maxAttachmentBytes: 1_000 } });
    const file = (name: string, mimeType: string, text: string) => ({ name, mimeType, bytes: Buffer.from(text) });
    source.add({
      subject: 'Files',
      text: 'see below',
      files: [
        file('notes.txt', 'text/plain', 'the harbour is closed'),
        file('photo.png', 'image/png', 'not text'),
        file('large.txt', 'text/plain', 'x'.repeat(2_000)),
      ],
    });
    const { calls } = await sync();
    expect(calls['attachments.get']).toBe(1);
    const [text] = [...(await mirror.texts()).values()];
    expect(text).toMatch(/see below[^]*the harbour is closed[^]*photo\.png[^]*large\.txt/);
  });

  it('a page that fails ends the sync, and nothing is removed', async () => {
    const { add, mirror, sync, server, clock } = await connectGmail({ config: { unitsPerMinute: 1_000_000 } });
    add(600);
    await sync();
    let lists = 0;
    // Not one of those that are asked for again at once.
    const broken = refusal(501, 'notImplemented', 'UNIMPLEMENTED');
    server.traffic.intercept(({ path }) => (path.endsWith('/messages') && ++lists > 1 ? broken : undefined));
    expect((await mirror.sync({ mode: 'full' })).status).not.toBe('completed');
    expect((await mirror.texts()).size).toBe(600);
    server.traffic.intercept(null);
    clock.advance(3_600_000);
    await sync('full');
    expect((await mirror.texts()).size).toBe(600);
  });

  it('a listing that omits some threads and shows others twice removes none', async () => {
    const { add, sync, mirror, server } = await connectGmail();
    const ids = add(40);
    await sync();
    server.distortLists((mails) => [...mails.slice(0, 30), ...mails.slice(5, 10)]);
    await sync('full');
    expect([...(await mirror.texts()).keys()].toSorted()).toEqual(ids.toSorted());
  });
});

describe('the mirrored part of a mailbox', () => {
  it('threads with a chosen label, as a whole: also the mails that do not have it', async () => {
    const made = await connectGmail();
    const { source, sync, mirror, select } = made;
    const work = source.addLabel('Work');
    const [inside, outside] = made.add(2);
    source.relabel(inside!, { add: [work] });
    source.add({ threadId: inside!, subject: 'Re', text: 'my answer', labelIds: ['SENT'] });
    await select([{ id: work, name: 'Work' }]);
    await sync();
    const texts = await mirror.texts();
    expect([...texts.keys()]).toEqual([inside]);
    expect(texts.get(inside!)).toContain('my answer');
    source.relabel(outside!, { add: [work] });
    source.relabel(inside!, { remove: [work] });
    await sync();
    expect([...(await mirror.texts()).keys()]).toEqual([outside]);
  });

  it('follows another choice of labels with the next sync, not only when everything is listed again', async () => {
    const { source, add, sync, mirror, select } = await connectGmail();
    const label = source.addLabel('Work');
    const ids = add(30);
    const work = ids.slice(0, 4);
    for (const id of work) source.relabel(id, { add: [label] });
    await sync();
    await select([{ id: label, name: 'Work' }]);
    // Listed twice, as at first: the mails, the drafts, those of the label.
    expect((await sync()).calls['messages.list']).toBe(2 * 3);
    expect([...(await mirror.texts()).keys()].sort()).toEqual(work.sort());
    expect((await sync()).calls).toEqual({ 'history.list': 1 });
    await select([]);
    await sync();
    expect((await mirror.texts()).size).toBe(30);
  });

  it('threads that a search finds, also after changes', async () => {
    const { source, sync, mirror, add } = await connectGmail({ config: { query: 'harbour -label:Private' } });
    const secret = source.addLabel('Private');
    const [, ...others] = add(3);
    const found = source.add({ subject: 'The harbour', text: 'one' });
    await sync();
    expect([...(await mirror.texts()).keys()]).toEqual([found.id]);
    expect((await sync()).calls).toEqual({ 'history.list': 1 });
    source.add({ threadId: others[0]!, subject: 'Re', text: 'the harbour again' });
    source.relabel(found.id, { add: [secret] });
    await sync();
    expect([...(await mirror.texts()).keys()]).toEqual([others[0]]);
  });

  it('is chosen among the labels, without trash, spam and drafts', async () => {
    const { source, open } = await connectGmail();
    const label = source.addLabel('😀'.repeat(300));
    const { resources, total } = await gmail.resources!(open().context);
    expect(resources.find(({ id }) => id === label)).toMatchObject({ name: '😀'.repeat(300), kind: 'label' });
    const ids = resources.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['INBOX', 'SENT', 'STARRED']));
    expect(ids.filter((id) => ['TRASH', 'SPAM', 'DRAFT', 'UNREAD'].includes(id))).toEqual([]);
    expect(total).toBe(resources.length);
  });
});

describe('authors', () => {
  it('is the sender of each mail, and the owner where Gmail says SENT', async () => {
    const { source, sync, database } = await connectGmail();
    const { id } = source.add({ subject: 'Plan', text: 'What do you think?', from: 'Bob <bob@example.com>' });
    source.add({ threadId: id, subject: 'Re: Plan', text: 'I like it.', from: source.address, labelIds: ['SENT'] });
    await sync();
    const [row] = await database.query<{ turns: { author?: string; own?: boolean }[] }>(sql`
      select c.turns from document_contents c join documents d on d.id = c.document_id`);
    expect(row!.turns.map(({ author, own }) => [author, own ?? false])).toEqual([
      ['bob@example.com', false],
      ['ana@example.com', true],
    ]);
  });
});

describe('bad input', () => {
  it.each([
    ['a scope that was not ticked', 'insufficientPermissions', /tick every box/],
    ['an API that is not enabled', 'accessNotConfigured', /Enable the API/],
    ['a domain that does not allow the app', 'domainPolicy', /administrators/],
  ])('%s: what was mirrored stays, and what to do is said', async (_, reason, remedy) => {
    const { add, sync, mirror, server, open } = await connectGmail();
    add(2);
    await sync();
    server.traffic.intercept(() => refusal(403, reason, 'PERMISSION_DENIED'));
    const run = await mirror.sync();
    const [check] = await gmail.check(open().context);
    expect(check).toMatchObject({ status: 'failed', remedy: expect.stringMatching(remedy) });
    expect(run.status).not.toBe('completed');
    expect((await mirror.texts()).size).toBe(2);
  });

  it('a quota that is gone for the day is asked for each hour, not more', async () => {
    const { add, sync, mirror, server, clock } = await connectGmail();
    add(2);
    await sync();
    server.traffic.intercept(() => refusal(403, 'dailyLimitExceeded', 'RESOURCE_EXHAUSTED'));
    const before = server.traffic.count();
    await mirror.sync();
    for (let minute = 0; minute < 50; minute += 10) {
      clock.advance(10 * 60_000);
      await mirror.sync();
    }
    expect(server.traffic.count() - before).toBe(1);
    server.traffic.intercept(null);
    clock.advance(20 * 60_000);
    await sync();
    expect((await mirror.texts()).size).toBe(2);
  });

  it('a token that is revoked in the middle, or an account that was deleted: nothing removed, nothing asked again', async () => {
    const { add, sync, mirror, server } = await connectGmail();
    add(3);
    await sync();
    add(2);
    let requests = 0;
    server.traffic.intercept(() => (++requests > 1 ? refusal(401, 'authError', 'UNAUTHENTICATED') : undefined));
    expect(await mirror.sync()).toMatchObject({ errorCode: 'auth_expired' });
    expect((await mirror.texts()).size).toBe(3);
    const before = server.traffic.count();
    await mirror.run();
    expect(server.traffic.count()).toBe(before);
  });

  it('names of 300 emoji, in subjects, senders and files', async () => {
    const { source, sync, mirror } = await connectGmail();
    const emoji = '😀'.repeat(300);
    const files = [{ name: `${emoji}.txt`, mimeType: 'text/plain', bytes: Buffer.from('inside') }];
    source.add({ subject: emoji, text: 'hello', from: `${emoji} <e@example.com>`, files });
    await sync();
    expect([...(await mirror.texts()).values()][0]).toContain('inside');
  });

  it('two connections of one account mirror it twice, each into its own container', async () => {
    const { add, sync, mirror, connect } = await connectGmail();
    add(2);
    await sync();
    const second = await connect({}, undefined, 'second');
    expect((await second.sync()).status).toBe('completed');
    expect((await second.texts()).size).toBe(2);
    expect((await mirror.texts()).size).toBe(2);
  });
});
