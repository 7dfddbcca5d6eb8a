import { hash } from 'node:crypto';

/** One copy of a mail as its mailbox shows it. */
export interface Copy {
  /** Message-ID, or a hash of what a mail without one says about itself. */
  key: string;
  /** Message-IDs that it answers, the first mail of the thread first; also a thread id of the server. */
  parents: readonly string[];
  mailbox: string;
  /** Of the mailbox when it was scanned: under another one the same uid is another mail (RFC 3501 section 2.3.1.1). */
  uidValidity: string;
  uid: number;
  bytes: number;
  timeMs: number;
  subject: string;
}

export interface Thread {
  id: string;
  rev: string;
  /** One copy of each mail, oldest first. */
  members: Copy[];
  newestMs: number;
}

/**
 * Mails that answer each other, newest thread first. The outcome does not depend on the order of the
 * copies, nor on where they lie: a mail that moves changes no id and no rev.
 */
export function toThreads(copies: Iterable<Copy>): Thread[] {
  const best = new Map<string, Copy>();
  const groups = createGroups();
  for (const copy of copies) {
    const known = best.get(copy.key);
    if (known === undefined || isBetter(copy, known)) best.set(copy.key, copy);
    for (const parent of copy.parents) groups.join(copy.key, parent);
  }
  const byGroup = new Map<string, Copy[]>();
  for (const copy of best.values()) {
    const group = groups.find(copy.key);
    const members = byGroup.get(group);
    if (members) members.push(copy);
    else byGroup.set(group, [copy]);
  }
  return [...byGroup.values()].map(toThread).sort((a, b) => b.newestMs - a.newestMs || compare(a.id, b.id));
}

export function revOf(members: readonly Copy[]): string {
  return hash('sha256', members.map(({ key, bytes }) => `${key} ${bytes}`).join('\n'), 'hex').slice(0, 32);
}

function toThread(members: Copy[]): Thread {
  members.sort((a, b) => a.timeMs - b.timeMs || compare(a.key, b.key));
  const first = members[0]!;
  const id = first.parents.find((parent) => !parent.startsWith(serverThread)) ?? first.key;
  return { id, rev: revOf(members), members, newestMs: members.at(-1)!.timeMs };
}

/** Mark of a thread id that the server gave, which no Message-ID begins with. */
export const serverThread = 'thread:';

/** The largest copy says most; the rest only makes the choice the same each time. */
function isBetter(copy: Copy, known: Copy): boolean {
  const order = copy.bytes - known.bytes || compare(known.mailbox, copy.mailbox) || known.uid - copy.uid;
  return order > 0;
}

function compare(a: string, b: string): number {
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
