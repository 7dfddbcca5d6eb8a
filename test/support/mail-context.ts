import type { Context, Json, Page, Partition } from 'memoryd/connector';
import imap from '../../connectors/imap/index.ts';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import { account } from '../../fixtures/servers/imap/dovecot.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createContext } from '../../src/connect/context.ts';

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
  records: Map<string, Json>;
  keep(page: Page): void;
}

export function createKeptPages(): KeptPages {
  const threads = new Map<string, string>();
  const records = new Map<string, Json>();
  return {
    threads,
    records,
    keep({ refs, gone = [], records: told = {} }) {
      for (const id of gone) threads.delete(id);
      for (const { id, rev } of refs) threads.set(id, rev);
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
