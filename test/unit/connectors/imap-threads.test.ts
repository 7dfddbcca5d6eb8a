import fc from 'fast-check';
import { expect, it } from 'vitest';
import { idsIn, toUidSet } from '../../../connectors/imap/scan.ts';
import { toThreads, type Copy } from '../../../connectors/imap/threads.ts';
import { withoutQuoted } from '../../../connectors/imap/quoted.ts';

const copy = (key: string, fields: Partial<Copy> = {}): Copy => ({
  key,
  parents: [],
  mailbox: 'INBOX',
  uidValidity: '1',
  uid: 1,
  bytes: 100,
  timeMs: 1_000,
  subject: 'Plan',
  ...fields,
});

it('joins mails that answer each other, also over one that is not there', () => {
  const threads = toThreads([
    copy('<c>', { parents: ['<b>'], timeMs: 3_000 }),
    copy('<d>', { parents: ['<a>', '<b>'], timeMs: 2_000 }),
    copy('<e>', { timeMs: 9_000 }),
  ]);
  expect(threads.map(({ id, members }) => [id, members.map(({ key }) => key)])).toEqual([
    ['<e>', ['<e>']],
    ['<a>', ['<d>', '<c>']],
  ]);
});

it('shows a mail with several copies once, and another rev when a mail comes', () => {
  const one = toThreads([copy('<a>'), copy('<a>', { mailbox: 'Box', uid: 7 })]);
  expect(one.map(({ members }) => members.length)).toEqual([1]);
  const two = toThreads([copy('<a>'), copy('<b>', { parents: ['<a>'] })]);
  expect(two[0]!.id).toBe('<a>');
  expect(two[0]!.rev).not.toBe(one[0]!.rev);
});

it('finds the same threads in whatever order and place the mails are', () => {
  const name = fc.integer({ min: 0, max: 12 }).map((number) => `<${number}>`);
  const mail = fc.record({ key: name, parents: fc.array(name, { maxLength: 3 }), timeMs: fc.nat(9) });
  const mails = fc.uniqueArray(mail, { selector: ({ key }) => key });
  const order = fc.infiniteStream(fc.nat());
  fc.assert(
    fc.property(mails, order, (fields, numbers) => {
      const copies = fields.map((one) => copy(one.key, one));
      const moved = copies
        .map((one) => ({ one: { ...one, mailbox: 'Box', uid: 5 }, at: numbers.next().value as number }))
        .sort((a, b) => a.at - b.at)
        .map(({ one }) => one);
      const facts = (all: Copy[]) => toThreads(all).map(({ id, rev }) => ({ id, rev }));
      expect(facts(moved)).toEqual(facts(copies));
      expect(new Set(facts(copies).map(({ id }) => id)).size).toBe(facts(copies).length);
    }),
  );
});

it('reads Message-IDs from folded, bare and empty headers', () => {
  expect(idsIn(' <a@x>\r\n\t<b@x>')).toEqual(['<a@x>', '<b@x>']);
  expect(idsIn('bare@x')).toEqual(['<bare@x>']);
  expect(idsIn(' \r\n')).toEqual([]);
});

it('writes UIDs as ranges', () => {
  expect(toUidSet([1, 2, 3, 7, 9, 10])).toBe('1:3,7,9:10');
});

it('strips the history below an answer, and keeps answers between quoted lines', () => {
  expect(withoutQuoted('Yes.\n\nOn Monday, Jane Doe wrote:\n> Shall we?')).toBe('Yes.');
  expect(withoutQuoted('On Monday, Jane Doe wrote:\n> Shall we?\nYes.')).toContain('Yes.');
  expect(withoutQuoted('> only this')).toBe('> only this');
});
