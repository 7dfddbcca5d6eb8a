import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import gmail from '../../connectors/gmail/index.ts';
import { fetchBacklog } from '../../connectors/gmail/backlog.ts';
import { serveGmailImap } from '../../fixtures/servers/gmail/gmail-imap.ts';
import type { GmailSource } from '../../fixtures/servers/gmail/gmail-source.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import type { Connector } from '../../src/connector/contract.ts';
import { sql } from '../../src/store/sql.ts';
import { describeWhen } from '../support/services.ts';
import { connectGmail, goodToken } from './gmail-fixture.ts';

/** Mails of many kinds; every third one was answered. */
function writeMails(source: GmailSource, count: number): void {
  for (let index = 0; index < count; index++) {
    const files = [{ name: 'notes.txt', mimeType: 'text/plain', bytes: Buffer.from(`notes ${index}`) }];
    const { id } = source.add({
      subject: `Subject ${index}`,
      text: `Grüße ${index}`,
      from: `"Doe, J" <j${index}@example.com>`,
      ...(index % 5 === 0 && { html: `<p>Grüße <b>${index}</b></p>` }),
      ...(index % 4 === 0 && { files }),
      ...(index % 7 === 0 && { date: 'no date at all' }),
    });
    const answer = { subject: `Re: Subject ${index}`, text: `I agree ${index}`, from: source.address };
    if (index % 3 === 0) source.add({ ...answer, threadId: id, labelIds: ['SENT'] });
  }
}

describeWhen(dovecotBinary, 'there is no Dovecot', 'the first load of Gmail over IMAP', (binary) => {
  let dovecot: Dovecot;
  beforeAll(async () => {
    dovecot = await startDovecot(binary);
  });
  afterAll(() => dovecot.close());

  async function connect(token = goodToken) {
    const held: { server?: Parameters<typeof fetchBacklog>[2] } = {};
    const connector: Connector<any, any> = {
      ...gmail,
      fetchMany: (ctx, _partition, refs) => fetchBacklog(ctx, refs, held.server),
    };
    const made = await connectGmail({ config: { firstLoad: 'imap' }, connector });
    const imap = await serveGmailImap(made.source, dovecot, (one) => one === token);
    onTestFinished(() => imap.close());
    held.server = imap.server;
    return { ...made, imap };
  }

  it('takes no units for threads, and gives the documents that the API gives, which then goes on', async () => {
    const { source, imap, sync, mirror, connect: again, server } = await connect();
    writeMails(source, 30);
    await imap.fill();
    const { calls } = await sync();
    expect(calls).toEqual({ getProfile: 2, 'messages.list': 4, 'history.list': 1 });
    const texts = await mirror.texts();
    expect(texts.size).toBe(30);

    const byApi = await again({ unitsPerMinute: 1_000_000 }, undefined, 'api');
    await byApi.sync();
    expect(await byApi.texts()).toEqual(texts);

    // A day later nothing is read again, and what is new comes by the API.
    const read = imap.commands.length;
    expect((await sync('full')).calls['messages.list']).toBe(2);
    source.add({ subject: 'New', text: 'by the API' });
    source.expireHistory();
    server.forget();
    await imap.fill();
    await sync();
    expect((await mirror.texts()).size).toBe(31);
    source.add({ subject: 'Newer', text: 'by the history' });
    const before = imap.commands.length;
    expect((await sync()).calls).toEqual({ 'history.list': 1, 'messages.get': 1 });
    expect(imap.commands.length).toBe(before);
    expect(before).toBeGreaterThan(read);
  });

  it('gives metadata, authors and dates that are the same, so that nothing is embedded twice', async () => {
    const { source, imap, sync, connect: again, database } = await connect();
    writeMails(source, 20);
    await imap.fill();
    expect((await sync()).calls).toEqual({ getProfile: 2, 'messages.list': 4, 'history.list': 1 });
    const byApi = await again({}, undefined, 'api');
    await byApi.sync();
    const of = (tag: string) =>
      database.query(sql`
        select d.custom_id, d.title, d.url, d.metadata, d.trust, d.content_hash, c.raw, c.turns
        from documents d join document_contents c on c.document_id = d.id
        where d.container_tag = ${tag} order by d.custom_id`);
    expect(await of('mirror')).toEqual(await of('api'));
  });

  it('goes on by the API when IMAP refuses the token, and says so', async () => {
    const { source, imap, sync, mirror, lines } = await connect('another token');
    writeMails(source, 6);
    await imap.fill();
    const { calls } = await sync();
    expect(calls).toMatchObject({ 'messages.get': 4, 'threads.get': 2 });
    expect((await mirror.texts()).size).toBe(6);
    expect(lines.join('\n')).toContain('mail cannot be read over IMAP');
  });

  it('leaves threads to the API whose mails are not all in All Mail any more', async () => {
    const { source, imap, sync, mirror } = await connect();
    writeMails(source, 4);
    await imap.fill();
    const late = source.add({ subject: 'Late', text: 'not in All Mail yet' });
    expect((await sync()).calls['messages.get']).toBe(1);
    expect([...(await mirror.texts()).keys()]).toContain(late.id);
  });
});
