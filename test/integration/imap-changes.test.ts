import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FetchMessageObject, ImapFlow } from 'imapflow';
import { ConnectorError, type Page } from 'memoryd/connector';
import imap from '../../connectors/imap/index.ts';
import { readKnown, type KnownMail } from '../../connectors/imap/known.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { fillMaildir } from '../../fixtures/servers/imap/fill-maildir.ts';
import { startTap, type Tap } from '../../fixtures/servers/imap/tap.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createRandom } from '../../src/connector-kit/setup.ts';
import { sized } from '../support/length.ts';
import {
  createKeptPages,
  keepListing,
  mailPartition as partition,
  mailText,
  openMailContext,
  readChanged,
  type KeptPages,
} from '../support/mail-context.ts';
import { describeWhen } from '../support/services.ts';

const rounds = sized(5, 10);

describeWhen(dovecotBinary, 'there is no Dovecot', 'changes of mailboxes', (binary) => {
  describe.each([
    { name: 'with QRESYNC', without: [] },
    { name: 'without QRESYNC', without: ['CONDSTORE', 'QRESYNC'] },
  ])('$name', ({ without }) => {
    let server: Dovecot;
    let writer: ImapFlow;
    let tap: Tap;
    let kept: KeptPages;
    let position: any;
    let accounts = 0;
    let user: string;

    beforeAll(async () => {
      server = await startDovecot(binary, { without });
      tap = await startTap(server.port, systemClock);
    });
    afterAll(async () => {
      await tap.close();
      await server.close();
    });
    beforeEach(async () => {
      user = `user-${++accounts}`;
      await server.addUser({ user, password: 'alice-secret' });
      kept = createKeptPages();
    });
    afterEach(() => writer.close());

    /** One run, in a process of its own: nothing but the kept pages is left of the one before. */
    async function run<Value>(
      work: (ctx: ReturnType<typeof openMailContext>['ctx']) => Promise<Value>,
    ): Promise<Value> {
      const { ctx, dispose } = openMailContext({ port: tap.port, user, timeoutSeconds: 20 }, undefined, kept);
      try {
        return await work(ctx);
      } finally {
        await dispose();
      }
    }

    const list = async () => (position = await run((ctx) => keepListing(ctx, kept)));

    async function changes(): Promise<Page> {
      const page = await run((ctx) => imap.changes!(ctx, partition, position));
      kept.keep(page);
      position = page.next;
      return page;
    }

    /** Commands of the last run. */
    async function commandsOf(work: () => Promise<unknown>): Promise<string[]> {
      const before = tap.traffic.count();
      await work();
      const asked = tap.traffic.recent().slice(before - tap.traffic.count());
      return asked.map(({ method, path }) => (method === 'UID FETCH' ? `${method} ${path}` : method));
    }

    async function within<Value>(mailbox: string, work: () => Promise<Value>): Promise<Value> {
      await writer.mailboxOpen(mailbox);
      try {
        return await work();
      } finally {
        await writer.mailboxClose();
      }
    }

    const remove = (mailbox: string, uids: string) => within(mailbox, () => writer.messageDelete(uids, { uid: true }));
    const move = (mailbox: string, uids: string, to: string) =>
      within(mailbox, () => writer.messageMove(uids, to, { uid: true }));

    /** What a first sync of another installation would know. */
    async function truth(): Promise<KeptPages> {
      const other = createKeptPages();
      const { ctx, dispose } = openMailContext({ port: server.port, user }, undefined, other);
      await keepListing(ctx, other);
      await readChanged(ctx, other);
      await dispose();
      return other;
    }

    /** The same threads with the same texts, though perhaps under other revs. */
    async function expectTruth(when: string): Promise<void> {
      await run((ctx) => readChanged(ctx, kept));
      const now = await truth();
      expect(textsOf(kept), when).toEqual(textsOf(now));
      expect(await knownOf(kept), when).toEqual(await knownOf(now));
    }

    it('finds one removed mail among 2,000 without reading any header', async () => {
      await fillMaildir(join(server.mailFolder, user), 2_000);
      writer = await server.writer({ user, password: 'alice-secret' });
      await list();
      expect(kept.threads.size).toBe(2_000);
      await remove('INBOX', '700');
      const commands = await commandsOf(changes);
      expect(commands.filter((one) => one.startsWith('UID FETCH'))).toEqual([]);
      expect(commands.filter((one) => one === 'UID SEARCH')).toHaveLength(without.length === 0 ? 0 : 1);
      expect(commands.length).toBeLessThan(25);
      expect(kept.threads.size).toBe(1_999);
      await expectTruth('after the removal');
    });

    it('reads the headers of mails that moved, however many, and nothing else', async () => {
      await fillMaildir(join(server.mailFolder, user), 600);
      writer = await server.writer({ user, password: 'alice-secret' });
      await list();
      const before = new Map(kept.threads);
      await move('INBOX', '20:540', 'Sent');
      let page: Page | undefined;
      const commands = await commandsOf(async () => (page = await changes()));
      expect(commands.filter((one) => one.startsWith('UID FETCH'))).toHaveLength(2);
      expect(commands.join('\n')).not.toMatch(/BODY\.PEEK\[\d|BODYSTRUCTURE/);
      expect(page).toMatchObject({ missing: [], done: true });
      expect(kept.threads).toEqual(before);
      await expectTruth('after the move');
    });

    it('splits a thread in two when the mail between them goes', async () => {
      writer = await server.writer({ user, password: 'alice-secret' });
      const date = (day: number) => `Date: ${day} Nov 2026 10:00:00 +0000`;
      await writer.append('INBOX', mailText(['Message-ID: <a@x>', date(1)]));
      await writer.append('INBOX', mailText(['Message-ID: <b@x>', 'In-Reply-To: <a@x>', date(2)]));
      await writer.append('INBOX', mailText(['Message-ID: <c@x>', 'In-Reply-To: <b@x>', date(3)]));
      await writer.append('INBOX', mailText(['Message-ID: <d@x>', date(4)]));
      await writer.append('Sent', mailText(['Message-ID: <e@x>', 'In-Reply-To: <d@x> <c@x>', date(5)]));
      await list();
      expect([...kept.threads.keys()]).toEqual(['<a@x>']);
      await remove('Sent', '1');
      expect(new Set((await changes()).refs.map(({ id }) => id))).toEqual(new Set(['<a@x>', '<d@x>']));
      await expectTruth('after the split');
    });

    it('reads only the mailbox again that was made anew', async () => {
      writer = await server.writer({ user, password: 'alice-secret' });
      await writer.mailboxCreate('Box');
      for (const id of ['a', 'b', 'c']) await writer.append('Box', mailText([`Message-ID: <${id}@x>`]));
      for (const id of ['d', 'e']) await writer.append('INBOX', mailText([`Message-ID: <${id}@x>`]));
      await list();
      const before = new Map(kept.threads);
      await writer.mailboxRename('Box', 'Old');
      await writer.mailboxCreate('Box');
      await move('Old', '1:*', 'Box');
      await writer.mailboxDelete('Old');
      const commands = await commandsOf(changes);
      expect(commands.filter((one) => one.startsWith('UID FETCH'))).toHaveLength(1);
      expect(kept.threads).toEqual(before);
      await expectTruth('after the mailbox was made anew');
    });

    it('leaves it to a listing when many threads went, and when its records are not complete', async () => {
      await fillMaildir(join(server.mailFolder, user), 40);
      writer = await server.writer({ user, password: 'alice-secret' });
      await list();
      await remove('INBOX', '1:25');
      await expect(changes()).rejects.toMatchObject({ kind: 'cursor_expired' });
      await list();
      await remove('INBOX', '30');
      const [name] = [...kept.records.keys()].filter((one) => one.startsWith('at/'));
      kept.records.delete(name!);
      await expect(changes()).rejects.toMatchObject({ kind: 'cursor_expired' });
    });

    it('knows what a listing would show after any arrivals, moves, copies and removals', async () => {
      writer = await server.writer({ user, password: 'alice-secret' });
      await writer.mailboxCreate('Box');
      const random = createRandom(without.length + 11);
      const boxes = ['INBOX', 'Sent', 'Box'];
      const ids: string[] = [];
      let [expired, texts] = [0, 0];

      const any = () => (ids.length === 0 ? '<first@x>' : random.pick(ids));

      async function append(): Promise<void> {
        // Some bear the Message-ID of another mail, and some come later than their answers.
        const late = () => `<late${random.below(16)}@x>`;
        const id = random.below(4) === 0 ? late() : random.below(6) === 0 ? any() : `<m${ids.length}@x>`;
        const parents = Array.from({ length: random.below(3) }, () => (random.below(3) === 0 ? late() : any()));
        const relation = random.pick(['References', 'In-Reply-To']);
        const named = random.below(8) > 0;
        const minute = String(ids.length % 60).padStart(2, '0');
        const headers = [
          `Date: 2 Nov 2026 ${10 + Math.floor(ids.length / 60)}:${minute}:00 +0000`,
          ...(named ? [`Message-ID: ${id}`] : [`Subject: ${id}`]),
          ...(parents.length === 0 ? [] : [`${relation}: ${parents.join(' ')}`]),
        ];
        ids.push(id);
        await writer.append(random.pick(boxes), mailText(headers, words()));
      }

      /** Of few sizes, and none twice. */
      const words = () => String(++texts).padStart(4 + random.below(3), '0');

      /** The same mail with other words, received when that one was. */
      async function replace(uid: string): Promise<void> {
        const { source, internalDate } = (await writer.fetchOne(
          uid,
          { source: true, internalDate: true },
          { uid: true },
        )) as FetchMessageObject;
        const text = source!.toString().replace(/\d+(?=\r\n$)/, (old) => words().padStart(old.length, '0'));
        await writer.append((writer.mailbox as { path: string }).path, text, [], new Date(internalDate!));
        await writer.messageDelete(uid, { uid: true });
      }

      async function act(): Promise<void> {
        const kind = random.below(11);
        if (kind < 5) return append();
        const box = random.pick(boxes);
        await within(box, async () => {
          const uids = (await writer.search({ all: true }, { uid: true })) || [];
          if (uids.length === 0) return;
          const uid = String(random.pick(uids));
          const to = random.pick(boxes.filter((one) => one !== box));
          if (kind < 7) await writer.messageMove(uid, to, { uid: true });
          else if (kind < 8) await writer.messageCopy(uid, to, { uid: true });
          else if (kind < 9) await replace(uid);
          else await writer.messageDelete(uid, { uid: true });
        });
      }

      async function sync(): Promise<void> {
        try {
          await changes();
        } catch (error) {
          if (!ConnectorError.is(error) || error.kind !== 'cursor_expired') throw error;
          expired += 1;
          await list();
        }
      }

      /** While mail comes and goes. A sync that meets that may fail, or die before its page is stored. */
      async function syncInTurmoil(): Promise<void> {
        const isLost = random.chance(0.3);
        const turmoil = act().then(act);
        const page = await run((ctx) => imap.changes!(ctx, partition, position)).catch((error: unknown) => {
          expect(error).toMatchObject({ kind: 'transient' });
        });
        await turmoil;
        if (page === undefined || isLost) return;
        kept.keep(page);
        position = page.next;
      }

      for (let index = 0; index < 25; index++) await append();
      await list();
      for (let round = 1; round <= rounds; round++) {
        for (let left = random.below(10); left >= 0; left--) await act();
        await syncInTurmoil();
        await sync();
        await expectTruth(`after round ${round}`);
      }
      expect(expired).toBe(0);
    });
  });
});

const textsOf = ({ documents }: KeptPages) => new Map([...documents].map(([id, { text }]) => [id, text]));

/** The mails that the records name, by mailbox. What tells them apart depends on what was met before. */
async function knownOf(pages: KeptPages): Promise<Map<string, Map<number, Omit<KnownMail, 'content'>>>> {
  const records = async () => Object.fromEntries(pages.records);
  const boxes = await readKnown({ records } as unknown as Parameters<typeof readKnown>[0], partition);
  const filled = [...(boxes ?? [])].filter(([, mails]) => mails.size > 0);
  return new Map(
    filled.map(([name, mails]) => [
      name,
      new Map([...mails].map(([uid, { thread, mark, facts }]) => [uid, { thread, mark, facts }])),
    ]),
  );
}
