import { afterEach, expect, it } from 'vitest';
import type { Context, Partition } from 'memoryd/connector';
import imap from '../../connectors/imap/index.ts';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import { startScriptedServer, type Script } from '../../fixtures/servers/imap/scripted-server.ts';
import { keepListing, openMailContext } from '../support/mail-context.ts';

const partition: Partition = { id: 'mail' };
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function open(capabilities: string, script: Script, greeting?: string) {
  const server = await startScriptedServer(capabilities, script, greeting);
  const { ctx, kept, dispose } = openMailContext({ port: server.port, timeoutSeconds: 20 });
  closing.push(server.close, dispose);
  return { server, ctx, kept };
}

const header = (id: string) => `Message-ID: <${id}>\r\n\r\n`;
const shown = (uid: number, id: string) =>
  `* ${uid} FETCH (UID ${uid} RFC822.SIZE 10 X-GM-MSGID 1 BODY[HEADER.FIELDS (X)] {${header(id).length}}\r\n${header(id)})`;

const bodyOf = (uid: number) => `* ${uid} FETCH (UID ${uid} RFC822.SIZE 5 BODY[]<0> {5}\r\nhello)`;

/** A mailbox with these mails. */
function boxOf(mails: readonly (readonly [uid: number, id: string])[], others: Script = () => undefined): Script {
  return (command, args) => {
    const other = others(command, args);
    if (other) return other;
    if (command === 'EXAMINE') return [`* ${mails.length} EXISTS`, '* OK [UIDVALIDITY 7] UIDs valid'];
    if (command === 'UID SEARCH' && args.includes('HEADER')) return ['* SEARCH'];
    if (command === 'UID SEARCH') return [`* SEARCH ${mails.map(([uid]) => uid).join(' ')}`];
    if (command === 'UID FETCH') return mails.map(([uid, id]) => shown(uid, id));
    if (command === 'STATUS') return [`* STATUS INBOX (MESSAGES ${mails.length} UIDVALIDITY 7)`];
    return undefined;
  };
}

const idsOf = async (ctx: Context<ImapConfig>) => (await imap.list(ctx, partition)).refs.map(({ id }) => id);

it('knows without UIDNEXT that a mail came', async () => {
  const mails: [number, string][] = [[3, 'three@x']];
  const { ctx, kept } = await open('', boxOf(mails));
  const head = await keepListing(ctx, kept);
  expect(await imap.changes!(ctx, partition, head)).toMatchObject({ refs: [] });
  mails.push([5, 'five@x']);
  expect(await imap.changes!(ctx, partition, head)).toMatchObject({ refs: [{ id: '<five@x>' }], missing: [] });
});

it('reads only All Mail at Gmail, where every label shows its mails again', async () => {
  const labels = ['* LIST () "/" INBOX', '* LIST (\\All) "/" "[Gmail]/All Mail"', '* LIST () "/" Work'];
  const script = boxOf([[1, 'one@x']], (command) => (command === 'LIST' ? labels : undefined));
  const { server, ctx } = await open('X-GM-EXT-1 SPECIAL-USE', script);
  expect(await idsOf(ctx)).toEqual(['<one@x>']);
  const opened = server.commands.filter((command) => command.startsWith('EXAMINE'));
  expect(new Set(opened)).toEqual(new Set(['EXAMINE "[Gmail]/All Mail"']));
});

it.each<[what: string, script: Script]>([
  [
    'an EXAMINE without a count',
    (command) => {
      if (command === 'EXAMINE') return ['* OK [UIDVALIDITY 7] UIDs valid'];
      return command === 'UID SEARCH' ? ['* SEARCH'] : undefined;
    },
  ],
  ['an EXAMINE without a UIDVALIDITY', (command) => (command === 'EXAMINE' ? ['* 2 EXISTS'] : undefined)],
  ['a SEARCH with fewer mails than there are', (command) => (command === 'UID SEARCH' ? ['* SEARCH 1'] : undefined)],
  ['a SEARCH without an answer', (command) => (command === 'UID SEARCH' ? [] : undefined)],
  ['a SEARCH that is refused', (command) => (command === 'UID SEARCH' ? ['NO later'] : undefined)],
  ['a FETCH that leaves a mail out', (command) => (command === 'UID FETCH' ? [shown(1, 'one@x')] : undefined)],
  ['a FETCH without headers', (command) => (command === 'UID FETCH' ? [1, 2].map(bodyOf) : undefined)],
  ['a LIST without an inbox', (command) => (command === 'LIST' ? ['* LIST () "/" Work'] : undefined)],
  ['a LIST that is refused', (command) => (command === 'LIST' ? ['NO [UNAVAILABLE] later'] : undefined)],
])('does not take %s for an account with fewer mails', async (_, script) => {
  const { ctx } = await open(
    '',
    boxOf(
      [
        [1, 'one@x'],
        [2, 'two@x'],
      ],
      script,
    ),
  );
  await expect(imap.list(ctx, partition)).rejects.toMatchObject({ kind: 'transient' });
});

it.each<[what: string, answer: string, kind: string]>([
  ['is busy', 'NO [UNAVAILABLE] busy', 'transient'],
  ['has too many connections', 'NO [LIMIT] too many', 'rate_limited'],
  ['does not know the password', 'NO [AUTHENTICATIONFAILED] wrong', 'auth_expired'],
])('does not blame the password when the server %s', async (_, answer, kind) => {
  const { ctx } = await open('', (command) => (command === 'AUTHENTICATE' ? [answer] : undefined));
  await expect(imap.list(ctx, partition)).rejects.toMatchObject({ kind });
});

it('says nothing more to a server that allows no more', async () => {
  const { ctx, server } = await open(
    '',
    boxOf([[1, 'one@x']], (command) => (command === 'UID FETCH' ? ['NO [LIMIT] enough'] : undefined)),
  );
  await expect(imap.list(ctx, partition)).rejects.toMatchObject({ kind: 'rate_limited' });
  await closing.pop()!();
  expect(server.commands.at(-1)).toMatch(/^UID FETCH/);
});

it('gives the worker back when the server asks to slow down', async () => {
  const words = 'BAD Request is throttled. Suggested Backoff Time: 92415 milliseconds';
  const { ctx, server } = await open(
    '',
    boxOf([[1, 'one@x']], (command) => (command === 'UID FETCH' ? [words] : undefined)),
  );
  const error = await imap.list(ctx, partition).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: 'rate_limited' });
  expect((error as { retryAt: Date }).retryAt.getTime()).toBeGreaterThan(ctx.now().getTime() + 60_000);
  expect(server.commands.filter((command) => command.startsWith('UID FETCH'))).toHaveLength(1);
});

it('tries again later when the server says goodbye at once', async () => {
  const { ctx, server } = await open('', () => undefined, '* BYE Too many connections');
  await expect(imap.list(ctx, partition)).rejects.toMatchObject({ kind: 'transient' });
  await expect.poll(() => server.connections()).toBe(0);
});
