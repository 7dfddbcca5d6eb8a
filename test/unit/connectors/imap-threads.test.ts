import fc from 'fast-check';
import { expect, it } from 'vitest';
import { idsIn } from '../../../connectors/imap/copies.ts';
import { fromUidSet, toUidSet } from '../../../connectors/imap/requests.ts';
import { revOf, toThreads, type ListedCopy } from '../../../connectors/imap/threads.ts';
import { withoutQuoted } from '../../../connectors/imap/quoted.ts';

const inbox = { path: 'INBOX', uidValidity: '1' };
const other = { path: 'Box', uidValidity: '1' };

const copy = (key: string, fields: Partial<ListedCopy> = {}): ListedCopy => ({
  key,
  parents: [],
  first: fields.parents?.[0],
  box: inbox,
  uid: 1,
  bytes: 100,
  time: 1_000,
  received: 1_000,
  ...fields,
});

it('joins mails that answer each other, also over one that is not there', () => {
  const threads = toThreads([
    copy('<c>', { parents: ['<b>'], time: 3_000 }),
    copy('<d>', { parents: ['<a>', '<b>'], time: 2_000 }),
    copy('<e>', { time: 9_000 }),
  ]);
  expect(threads.map(({ id, members }) => [id, members.map(({ key }) => key)])).toEqual([
    ['<e>', ['<e>']],
    ['<a>', ['<d>', '<c>']],
  ]);
});

it('shows another rev when a mail has another size, in case nothing else is known of it', () => {
  const revs = [100, 101].map((bytes) => revOf(toThreads([copy('<a>', { bytes })])[0]!.members));
  expect(revs[0]).not.toBe(revs[1]);
});

it('shows a mail with several copies once, and another rev when a mail comes', () => {
  const one = toThreads([copy('<a>'), copy('<a>', { box: other, uid: 7 })]);
  expect(one.map(({ members }) => members.length)).toEqual([1]);
  const two = toThreads([copy('<a>'), copy('<b>', { parents: ['<a>'] })]);
  expect(two[0]!.id).toBe('<a>');
  expect(revOf(two[0]!.members)).not.toBe(revOf(one[0]!.members));
});

it('shows another rev when a mail that is not the newest comes or goes', () => {
  const [first, middle, last] = [
    copy('<a>', { time: 1_000 }),
    copy('<b>', { parents: ['<a>'], time: 2_000 }),
    copy('<c>', { parents: ['<a>'], time: 3_000 }),
  ];
  const revs = [
    [first, middle, last],
    [first, last],
  ].map((copies) => revOf(toThreads(copies)[0]!.members));
  expect(revs[0]).not.toBe(revs[1]);
});

it('finds the same threads in whatever order and place the mails are', () => {
  const name = fc.integer({ min: 0, max: 12 }).map((number) => `<${number}>`);
  const mail = fc.record({ key: name, parents: fc.array(name, { maxLength: 3 }), time: fc.nat(9) });
  const mails = fc.uniqueArray(mail, { selector: ({ key }) => key });
  const order = fc.infiniteStream(fc.nat());
  fc.assert(
    fc.property(mails, order, (fields, numbers) => {
      const copies = fields.map((one) => copy(one.key, one));
      const moved = copies
        .map((one) => ({ one: { ...one, box: other, uid: 5 }, at: numbers.next().value as number }))
        .sort((a, b) => a.at - b.at)
        .map(({ one }) => one);
      const facts = (all: ListedCopy[]) => toThreads(all).map(({ id, members }) => ({ id, rev: revOf(members) }));
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
  expect(fromUidSet('1:3,7,9:10')).toEqual([1, 2, 3, 7, 9, 10]);
});

it('strips the history below an answer, and keeps answers between quoted lines', () => {
  expect(withoutQuoted('Yes.\n\nOn Monday, Jane Doe wrote:\n> Shall we?')).toBe('Yes.');
  expect(withoutQuoted('On Monday, Jane Doe wrote:\n> Shall we?\nYes.')).toContain('Yes.');
  expect(withoutQuoted('> only this')).toBe('> only this');
});
