import { ConnectorError, type UnreadPart } from 'memoryd/connector';
import { nameOf, type KnownBoxes } from './known.ts';
import type { Box, Copy, Thread } from './threads.ts';

/** Errors of the vendor's client for mailboxes that a server refused to open. */
const refusals = new WeakSet<object>();

/** NO to EXAMINE (RFC 3501 section 6.3.2), unless the server only wants to be asked later by everybody. */
export function noteRefusal(error: unknown): void {
  const { responseStatus, serverResponseCode } = (error ?? {}) as Record<string, unknown>;
  if (responseStatus === 'NO' && serverResponseCode !== 'LIMIT') refusals.add(error as object);
}

/** Whether it is about one mailbox that cannot be opened, while the server answers. */
export function isRefusal(error: unknown): boolean {
  const cause = ConnectorError.is(error) ? error.cause : error;
  return typeof cause === 'object' && cause !== null && refusals.has(cause);
}

export function closedPart(path: string, error: unknown): UnreadPart {
  const cause = (ConnectorError.is(error) ? error.cause : error) as { serverResponseCode?: string };
  return { path, reason: cause.serverResponseCode ?? 'the server does not open it' };
}

/** Content that a scan does not show whole, because it could not open some mailboxes. */
export interface Hidden {
  /** Threads of which the ledger was told mails that may lie in them: what memory holds of these stays as it is. */
  threads: ReadonlySet<string>;
  /** Whether those of them that are not shown lie in closed mailboxes alone, as far as anybody knows. */
  isWhole: boolean;
}

export const nothingHidden: Hidden = { threads: new Set(), isWhole: true };

/**
 * Gives threads the ids under which the ledger knows them, since the mail that named one, or joined two, may be one
 * of those that do not show. Any mailbox that is known and was not read counts as closed: of one without STATUS
 * nobody tells under which UIDVALIDITY it is known.
 */
export function hideClosed(threads: Thread[], boxes: readonly Box[], told: KnownBoxes): Hidden {
  const read = new Set(boxes.map(nameOf));
  const hidden = new Set<string | null>();
  for (const [name, mails] of told) if (!read.has(name)) for (const { thread } of mails.values()) hidden.add(thread);
  const shown = new Map<string, Thread>();
  for (const thread of threads.splice(0)) {
    const id = thread.members.map((copy) => toldThread(told, copy)).find((one) => one && hidden.has(one)) ?? thread.id;
    const same = shown.get(id);
    if (same) same.members.push(...thread.members);
    else shown.set(id, Object.assign(thread, { id }));
  }
  threads.push(...shown.values());
  // Of these some mails were elsewhere and went: a path says of only one mailbox that it is closed.
  const isLost = [...told].some(([name, mails]) => read.has(name) && [...mails.values()].some(isMissed));
  function isMissed({ thread }: { thread: string | null }): boolean {
    return thread !== null && hidden.has(thread) && !shown.has(thread);
  }
  const ids = [...hidden].filter((id) => id !== null);
  return { threads: new Set(ids), isWhole: ids.length === hidden.size && !isLost };
}

function toldThread(told: KnownBoxes, { box, uid }: Copy): string | null | undefined {
  return told.get(nameOf(box))?.get(uid)?.thread;
}
