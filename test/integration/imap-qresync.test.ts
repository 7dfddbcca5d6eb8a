import { afterEach, describe, expect, it } from 'vitest';
import type { Context, Page } from 'memoryd/connector';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import imap from '../../connectors/imap/index.ts';
import { startScriptedServer, type Script } from '../../fixtures/servers/imap/scripted-server.ts';
import { createKeptPages, keepListing, mailPartition as partition, openMailContext } from '../support/mail-context.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A mailbox of a server with QRESYNC (RFC 7162), as a test has it answer. */
interface Account {
  uids: number[];
  uidNext: number;
  modseq: number;
  /** Lines with which EXAMINE answers to a position. Default: nothing vanished. */
  since: string[];
  /** What mails answer, by UID. */
  answers: Record<number, string>;
  /** Stands before the script of the account. */
  odd: Script;
}

function shown(uid: number, modseq: number, answers: Account['answers'] = {}): string {
  const parent = answers[uid];
  const header = `Message-ID: <mail-${uid}@x>\r\n${parent === undefined ? '' : `References: ${parent}\r\n`}\r\n`;
  return `* ${uid} FETCH (UID ${uid} MODSEQ (${modseq}) RFC822.SIZE 10 BODY[HEADER.FIELDS (X)] {${header.length}}\r\n${header})`;
}

function scriptOf(account: Account): Script {
  return (command, args) => {
    const odd = account.odd(command, args);
    if (odd) return odd;
    const { uids, uidNext, modseq, since, answers } = account;
    const counted = `MESSAGES ${uids.length} UIDNEXT ${uidNext} UIDVALIDITY 7`;
    switch (command) {
      case 'ENABLE':
        return [`* ENABLED ${args}`];
      case 'STATUS':
        return [`* STATUS INBOX (${counted} HIGHESTMODSEQ ${modseq})`];
      case 'EXAMINE':
        return [
          ...[`* ${uids.length} EXISTS`, '* OK [UIDVALIDITY 7] Valid', `* OK [HIGHESTMODSEQ ${modseq}] Highest`],
          ...(args.includes('QRESYNC') ? since : []),
        ];
      case 'UID SEARCH':
        return [`* SEARCH ${searched(uids, args).join(' ')}`];
      case 'UID FETCH':
        return uids.filter((uid) => asked(args, uid)).map((uid) => shown(uid, modseq, answers));
      default:
        return undefined;
    }
  };
}

/** `n:*` always shows the last mail (RFC 3501 section 6.4.8). */
function searched(uids: readonly number[], args: string): readonly number[] {
  const from = /^UID (\d+):\*/.exec(args)?.[1];
  if (from !== undefined) return uids.filter((uid, index) => uid >= Number(from) || index === uids.length - 1);
  return args.includes('HEADER') ? [] : uids;
}

function asked(args: string, uid: number): boolean {
  return args
    .split(' ')[0]!
    .split(',')
    .map((range) => range.split(':').map(Number))
    .some(([first, last = first]) => uid >= first! && uid <= last!);
}

/** A listed account of five mails, and what its next sync asks and tells. */
async function open(changes: Partial<Account> = {}) {
  const fresh = { uids: [1, 2, 3, 4, 5], uidNext: 6, modseq: 5, since: [], answers: {}, odd: () => undefined };
  const account: Account = { ...fresh, ...changes };
  const server = await startScriptedServer('ENABLE CONDSTORE QRESYNC', scriptOf(account));
  closing.push(server.close);
  const kept = createKeptPages();
  /** Each run has its own connection. */
  async function run<Value>(work: (ctx: Context<ImapConfig>) => Promise<Value>): Promise<Value> {
    const { ctx, dispose } = openMailContext({ port: server.port, timeoutSeconds: 20 }, undefined, kept);
    try {
      return await work(ctx);
    } finally {
      await dispose();
    }
  }
  let position = await run((ctx) => keepListing(ctx, kept));
  const sync = async (): Promise<{ page: Page; asked: (command: string) => string[] }> => {
    const before = server.commands.length;
    const page = await run((ctx) => imap.changes!(ctx, partition, position));
    kept.keep(page);
    position = page.next;
    return { page, asked: (command) => server.commands.slice(before).filter((one) => one.startsWith(command)) };
  };
  return { account, kept, sync };
}

const idsOf = ({ refs }: Page) => refs.map(({ id }) => id);

it('asks from the position that STATUS told, however far the client has raised its own', async () => {
  let raised = false;
  const { account, sync } = await open({
    // A mail that comes while others are read is shown with them.
    odd(command) {
      if (command !== 'UID FETCH' || raised) return undefined;
      raised = true;
      return [...[1, 2, 3, 4, 5].map((uid) => shown(uid, 999)), shown(80, 999)];
    },
  });
  expect(raised).toBe(true);
  Object.assign(account, { uids: [1, 2, 3, 4, 5, 6], uidNext: 7, modseq: 12 });
  const { page, asked } = await sync();
  expect(asked('EXAMINE')[0]).toBe('EXAMINE INBOX (QRESYNC (7 5))');
  expect(idsOf(page)).toEqual(['<mail-6@x>']);
  Object.assign(account, { uids: [1, 2, 3, 4, 5, 6, 7], uidNext: 8, modseq: 13 });
  const next = await sync();
  expect(next.asked('EXAMINE')[0]).toBe('EXAMINE INBOX (QRESYNC (7 12))');
  expect(idsOf(next.page)).toEqual(['<mail-7@x>']);
});

it('takes no change of flags for a change', async () => {
  const { account, sync } = await open();
  account.modseq = 50;
  const { page, asked } = await sync();
  expect(page).toMatchObject({ refs: [], done: true });
  expect(page.records).toBeUndefined();
  expect(asked('EXAMINE')).toEqual([]);
});

it('drops UIDs that vanished twice or were never known', async () => {
  const { account, sync } = await open();
  const since = ['* VANISHED (EARLIER) 2,90:200', '* VANISHED (EARLIER) 2'];
  Object.assign(account, { uids: [1, 3, 4, 5], modseq: 9, since });
  const { page, asked } = await sync();
  expect(page).toMatchObject({ refs: [], missing: ['<mail-2@x>'] });
  expect([...asked('UID SEARCH'), ...asked('UID FETCH')]).toEqual([]);
});

it('does not take the last mail, which `n:*` always shows, for a new one', async () => {
  const { account, sync } = await open();
  // One came and went again.
  Object.assign(account, { uids: [1, 3, 4, 5], uidNext: 7, modseq: 9, since: ['* VANISHED (EARLIER) 2,6'] });
  const { page, asked } = await sync();
  expect(asked('UID SEARCH')).toEqual(['UID SEARCH UID 6:*']);
  expect(page).toMatchObject({ refs: [], missing: ['<mail-2@x>'] });
});

describe('asks for all UIDs', () => {
  const gone = { uids: [1, 3, 4, 5], modseq: 9, since: ['* VANISHED (EARLIER) 2'] };
  const isSince = (command: string, args: string) => command === 'EXAMINE' && args.includes('QRESYNC');
  it.each<[when: string, change: Partial<Account>]>([
    ['when what vanished does not explain the count', { ...gone, since: [] }],
    ['when more vanished than the count says', { ...gone, since: ['* VANISHED (EARLIER) 2:3'] }],
    ['when the server does not enable QRESYNC', { ...gone, odd: (command) => (command === 'ENABLE' ? [] : undefined) }],
    ['when the server refuses to enable it', { ...gone, odd: (name) => (name === 'ENABLE' ? ['BAD no'] : undefined) }],
    [
      'when EXAMINE refuses a position',
      { ...gone, odd: (name, args) => (isSince(name, args) ? ['BAD no'] : undefined) },
    ],
    [
      'when the mailbox has no mod-sequences',
      {
        ...gone,
        odd: (command) =>
          command === 'EXAMINE' ? ['* 4 EXISTS', '* OK [UIDVALIDITY 7] Valid', '* OK [NOMODSEQ] None'] : undefined,
      },
    ],
    [
      'when EXAMINE tells no position',
      { ...gone, odd: (name) => (name === 'EXAMINE' ? ['* 4 EXISTS', '* OK [UIDVALIDITY 7] Valid'] : undefined) },
    ],
  ])('%s', async (_, change) => {
    const { account, sync } = await open();
    Object.assign(account, change);
    const { page, asked } = await sync();
    expect(page).toMatchObject({ refs: [], missing: ['<mail-2@x>'] });
    expect(asked('UID SEARCH')).toEqual(['UID SEARCH ALL']);
  });

  it('of a mailbox whose STATUS tells no mod-sequence', async () => {
    const { account, sync } = await open({ modseq: 0 });
    account.uids = [1, 3, 4, 5];
    const { page, asked } = await sync();
    expect(page).toMatchObject({ refs: [], missing: ['<mail-2@x>'] });
    expect(asked('EXAMINE')).toEqual(['EXAMINE INBOX']);
  });
});

it('asks an empty mailbox for no mails', async () => {
  const refused: Script = (command) => (/^UID (SEARCH|FETCH)$/.test(command) ? ['BAD no mails'] : undefined);
  const { account, sync, kept } = await open({ uids: [], uidNext: 6, odd: refused });
  expect(kept.threads.size).toBe(0);
  // One came and went again.
  Object.assign(account, { uidNext: 7, modseq: 9 });
  expect((await sync()).page).toMatchObject({ refs: [], missing: [] });
  Object.assign(account, { uids: [7], uidNext: 8, modseq: 12, odd: () => undefined });
  expect(idsOf((await sync()).page)).toEqual(['<mail-7@x>']);
});

it('leaves it to a listing when the mailbox was made anew while it was compared', async () => {
  const { account, sync } = await open();
  const anew = ['* 4 EXISTS', '* OK [UIDVALIDITY 8] Valid', '* OK [HIGHESTMODSEQ 9] Highest', '* VANISHED (EARLIER) 5'];
  const odd: Script = (name) => (name === 'EXAMINE' ? anew : undefined);
  Object.assign(account, { uids: [1, 2, 3, 4], odd });
  await expect(sync()).rejects.toMatchObject({ kind: 'cursor_expired' });
});

it('compares again what moved while it was compared, and tells no removal meanwhile', async () => {
  const { account, sync } = await open();
  let examined = 0;
  Object.assign(account, { uids: [1, 2, 3, 4], uidNext: 7, modseq: 9, since: ['* VANISHED (EARLIER) 5'] });
  account.odd = (name) => {
    // The mail comes back under another UID before the second look.
    if (name === 'EXAMINE' && ++examined === 2) Object.assign(account, { odd: () => undefined });
    if (name === 'CLOSE') Object.assign(account, { uids: [1, 2, 3, 4, 7], uidNext: 8, modseq: 10 });
    return undefined;
  };
  const { page } = await sync();
  expect(page.missing).toEqual(['<mail-5@x>']);
  expect(idsOf(page)).toEqual(['<mail-7@x>']);
});

it('begins again when a mail of a thread goes while the thread is read for one that came', async () => {
  const { account, sync, kept } = await open();
  Object.assign(account, { uids: [1, 2, 3, 4, 5, 6], uidNext: 7, modseq: 9, answers: { 6: '<mail-2@x>' } });
  account.odd = (name, args) => {
    // The question goes before it is shown.
    if (name !== 'UID FETCH' || !asked(args, 2)) return undefined;
    Object.assign(account, {
      uids: [1, 3, 4, 5, 6],
      modseq: 10,
      since: ['* VANISHED (EARLIER) 2'],
      odd: () => undefined,
    });
    return [];
  };
  const { page } = await sync();
  expect(page).toMatchObject({ refs: [{ id: '<mail-2@x>' }], missing: [] });
  expect(kept.records.get('counted')).toBe(5);
});
