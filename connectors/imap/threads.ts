import { hash } from 'node:crypto';

/** A mailbox as it was when it was read: under another UIDVALIDITY the same uid is another mail (RFC 3501 section 2.3.1.1). */
export interface Box {
  path: string;
  uidValidity: string;
}

/** Tells mails of one Message-ID apart. */
export interface Content {
  /** A digest of the mail as memory would hold it. */
  digest: string;
  /** The Message-ID alone does not say which mail it is. */
  isTold: boolean;
}

/** One copy of a mail as its mailbox shows it. An account has many of them, so it holds no more than it must. */
export interface Copy {
  /** Message-ID, or a hash of what a mail without one says about itself. */
  key: string;
  /** The Message-ID of the first mail of its thread, if it says so. */
  first: string | undefined;
  box: Box;
  uid: number;
  bytes: number;
  /** Seconds since 1970; 0: unknown. */
  time: number;
  /** INTERNALDATE in seconds since 1970, which a move keeps; 0: unknown. */
  received: number;
  /** Absent: no other mail with its Message-ID was ever met. */
  content?: Content;
}

/** A copy with the ids of its relatives, as a listing shows it. */
export interface ListedCopy extends Copy {
  /** Message-IDs that it answers, the first mail of the thread first; also a thread id of the server. */
  parents: readonly string[];
}

export interface Thread {
  id: string;
  /** One copy of each mail, oldest first. */
  members: Copy[];
}

/** Mark of a thread id that the server gave, which no Message-ID begins with. */
export const serverThread = 'thread:';

export interface Threading {
  /** Answers the copy as `groups` shows it. */
  add(copy: ListedCopy): Copy;
  /** The copies of each Message-ID. */
  groups(): Iterable<readonly Copy[]>;
  /** Mails that answer each other, newest thread first. What tells copies apart must be known by now. */
  threads(): Thread[];
}

/**
 * Finds threads. The outcome does not depend on the order of the copies, nor on where they lie: a mail
 * that moves changes no id and no rev.
 */
export function createThreading(): Threading {
  const copies = new Map<string, [Copy, ...Copy[]]>();
  const groups = createGroups();
  return {
    add({ parents, ...copy }) {
      const known = copies.get(copy.key);
      if (known === undefined) copies.set(copy.key, [copy]);
      else known.push(copy);
      for (const parent of parents) groups.join(copy.key, parent);
      return copy;
    },
    groups: () => copies.values(),
    threads() {
      const byGroup = new Map<string, Copy[]>();
      for (const [key, same] of copies) {
        const group = groups.find(key);
        const members = byGroup.get(group);
        if (members) members.push(...mailsOf(same));
        else byGroup.set(group, mailsOf(same));
      }
      return [...byGroup.values()].map(toThread).sort((a, b) => newest(b) - newest(a) || compare(a.id, b.id));
    },
  };
}

export function toThreads(copies: Iterable<ListedCopy>): Thread[] {
  const threading = createThreading();
  for (const copy of copies) threading.add(copy);
  return threading.threads();
}

/** Names a mail: its Message-ID, with its content where that is needed to tell it from others. */
export function mailKeyOf({ key, content }: Copy): string {
  return content?.isTold ? `${key} ${content.digest}` : key;
}

/** Changes when a mail of the thread comes or goes: a mail itself never changes. */
export function revOf(members: readonly Copy[]): string {
  return hash('sha256', members.map((one) => `${mailKeyOf(one)} ${one.bytes}`).join('\n'), 'hex').slice(0, 32);
}

/** Seconds. */
export function newest({ members }: Thread): number {
  return members.at(-1)!.time;
}

function inOrder(members: Copy[]): Copy[] {
  return members.sort((a, b) => a.time - b.time || compare(mailKeyOf(a), mailKeyOf(b)));
}

/** One copy of each mail among those that share a Message-ID. */
function mailsOf(same: readonly [Copy, ...Copy[]]): Copy[] {
  if (same.length === 1) return [same[0]];
  const best = new Map<string, Copy>();
  for (const copy of same) {
    const name = mailKeyOf(copy);
    const known = best.get(name);
    if (known === undefined || isBetter(copy, known)) best.set(name, copy);
  }
  return [...best.values()];
}

function toThread(members: Copy[]): Thread {
  const first = inOrder(members)[0]!;
  return { id: first.first ?? first.key, members };
}

/** The largest copy says most; the rest only makes the choice the same each time. */
function isBetter(copy: Copy, known: Copy): boolean {
  const order = copy.bytes - known.bytes || compare(known.box.path, copy.box.path) || known.uid - copy.uid;
  return order > 0;
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Union-find with halved paths. */
function createGroups() {
  const parents = new Map<string, string>();
  function find(key: string): string {
    let current = key;
    for (;;) {
      const parent = parents.get(current);
      if (parent === undefined) return current;
      const next = parents.get(parent);
      if (next === undefined) return parent;
      parents.set(current, next);
      current = next;
    }
  }
  return {
    find,
    join(a: string, b: string): void {
      const [first, second] = [find(a), find(b)];
      if (first !== second) parents.set(first, second);
    },
  };
}
