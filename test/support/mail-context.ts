import type { Context, FetchedDocument, Json, Page, Partition, Ref } from 'memoryd/connector';
import imap from '../../connectors/imap/index.ts';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import { account } from '../../fixtures/servers/imap/dovecot.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createContext } from '../../src/source/context.ts';

type Authorization = NonNullable<Parameters<typeof createContext>[0]['authorization']>;

const byPassword: Authorization = {
  headers: async () => ({}),
  renew: async () => false,
  token: async () => '',
  secret: async () => account.password,
};

/** What pages told the ledger, in place of the ledger. */
export interface KeptPages {
  /** Revs of threads by their ids. */
  threads: Map<string, string>;
  refs: Map<string, Ref>;
  /** Texts of threads, and the revs with which they were read. */
  documents: Map<string, { rev: string; text: string }>;
  records: Map<string, Json>;
  keep(page: Page): void;
}

export function createKeptPages(): KeptPages {
  const threads = new Map<string, string>();
  const refs = new Map<string, Ref>();
  const records = new Map<string, Json>();
  return {
    threads,
    refs,
    documents: new Map(),
    records,
    keep({ refs: shown, missing = [], records: told = {} }) {
      for (const id of missing) threads.delete(id);
      for (const ref of shown) {
        threads.set(ref.id, ref.rev);
        refs.set(ref.id, ref);
      }
      for (const [name, value] of Object.entries(told)) {
        if (value === null) records.delete(name);
        else records.set(name, structuredClone(value));
      }
    },
  };
}

export const mailPartition: Partition = { id: 'mail' };

/** One complete listing, kept; answers the position before it. */
export async function keepListing(ctx: Context<ImapConfig>, kept: KeptPages): Promise<any> {
  const head = await imap.head!(ctx, mailPartition);
  kept.threads.clear();
  let page: Page<any>;
  let from: any;
  do {
    page = await imap.list(ctx, mailPartition, from);
    kept.keep(page);
    from = page.next;
  } while (page.done !== true);
  return head;
}

/** Reads the threads whose rev is another one than that with which they were read. */
export async function readChanged(ctx: Context<ImapConfig>, { threads, refs, documents }: KeptPages): Promise<void> {
  for (const id of documents.keys()) if (!threads.has(id)) documents.delete(id);
  for (const [id, rev] of threads) {
    if (documents.get(id)?.rev === rev) continue;
    const { parts = [], rev: read } = (await imap.fetch(ctx, mailPartition, refs.get(id)!)) as FetchedDocument;
    documents.set(id, { rev: read ?? rev, text: parts.map(({ title, text }) => `${title}: ${text}`).join('\n') });
  }
}

/** What the mail connector works with in one run, at a server on this machine without TLS. */
export function openMailContext(
  config: Partial<ImapConfig> & { port: number },
  authorization: Authorization = byPassword,
  kept: KeptPages = createKeptPages(),
): { ctx: Context<ImapConfig>; kept: KeptPages; stop: AbortController; dispose(): Promise<void> } {
  const stop = new AbortController();
  const { context, dispose } = createContext({
    connector: imap,
    config: { host: '127.0.0.1', secure: false, startTls: false, user: account.user, ...config },
    authorization,
    connectionId: null,
    records: async (_, prefix) => Object.fromEntries([...kept.records].filter(([name]) => name.startsWith(prefix))),
    selection: [],
    clock: systemClock,
    log: silentLogger,
    signal: stop.signal,
  });
  const addresses = async () => [{ address: '127.0.0.1', family: 4 as const }];
  return { ctx: { ...context, addresses }, kept, stop, dispose };
}

/** A mail as it travels. Lines end as they should; `headers` stand before the body as they are. */
export function mailText(headers: readonly string[], body = 'words'): string {
  return [...headers, '', body, ''].join('\r\n');
}
