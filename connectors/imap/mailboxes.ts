import type { ImapFlow, ListResponse } from 'imapflow';
import { sourceMissing, transient, type Context, type ResourcePage } from 'memoryd/connector';
import type { ImapConfig } from './config.ts';

/** RFC 6154. Flagged and important hold other mailboxes' mail once more. */
const copies = new Set(['\\All', '\\Flagged', '\\Important']);
const unwanted = new Set(['\\Trash', '\\Junk', '\\Drafts']);

/** Paths of the mailboxes to mirror, in a steady order. Throws `source_missing` when a chosen one is not there. */
export async function chooseMailboxes(client: ImapFlow, ctx: Context<ImapConfig>): Promise<string[]> {
  const present = await selectable(client);
  const chosen = chosenPaths(ctx);
  if (chosen.length > 0) return chosen.map((path) => findPath(present, path)).sort();
  const all = present.find((mailbox) => mailbox.specialUse === '\\All');
  // At Gmail every other mailbox shows mail of this one again, one for each label.
  if (client.capabilities.has('X-GM-EXT-1') && all) return [all.path];
  return present
    .filter((mailbox) => isWanted(mailbox, ctx.config.specialUse === true))
    .map(({ path }) => path)
    .sort();
}

export async function listMailboxes(client: ImapFlow): Promise<ResourcePage> {
  const present = await selectable(client);
  const resources = present.map(({ path, specialUse }) => ({ id: path, name: path, kind: specialUse ?? 'mailbox' }));
  return { resources, total: resources.length };
}

/** Every account has an inbox (RFC 3501 section 5.1): an answer without one is not a list of the mailboxes. */
async function selectable(client: ImapFlow): Promise<ListResponse[]> {
  const listed = await client.list();
  if (!listed.some(({ path, specialUse }) => path.toUpperCase() === 'INBOX' || specialUse === '\\Inbox')) {
    throw transient('The server did not list the mailboxes.');
  }
  return listed.filter(isSelectable);
}

function chosenPaths(ctx: Context<ImapConfig>): string[] {
  if (ctx.selection.length > 0) return ctx.selection.map(({ id }) => id);
  return (ctx.config.mailboxes ?? '')
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');
}

function findPath(present: readonly ListResponse[], path: string): string {
  const isInbox = path.toUpperCase() === 'INBOX';
  const found = present.find((one) => one.path === path || (isInbox && one.path.toUpperCase() === 'INBOX'));
  if (found) return found.path;
  throw sourceMissing(
    `The mailbox ${JSON.stringify(path)} is not there.`,
    'Choose the mailboxes of the connection again.',
  );
}

function isSelectable(mailbox: ListResponse): boolean {
  return !mailbox.flags.has('\\Noselect') && !mailbox.flags.has('\\NonExistent');
}

function isWanted({ specialUse }: ListResponse, withUnwanted: boolean): boolean {
  return specialUse === undefined || (!copies.has(specialUse) && (withUnwanted || !unwanted.has(specialUse)));
}
