import type { Context } from 'memoryd/connector';
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

/** What the mail connector works with in one run, at a server on this machine without TLS. */
export function openMailContext(
  config: Partial<ImapConfig> & { port: number },
  authorization: Authorization = byPassword,
): { ctx: Context<ImapConfig>; stop: AbortController; dispose(): Promise<void> } {
  const stop = new AbortController();
  const { context, dispose } = createContext({
    connector: imap,
    config: { host: '127.0.0.1', secure: false, startTls: false, user: account.user, ...config },
    authorization,
    connectionId: null,
    selection: [],
    clock: systemClock,
    log: silentLogger,
    signal: stop.signal,
  });
  return { ctx: context, stop, dispose };
}

/** A mail as it travels. Lines end as they should; `headers` stand before the body as they are. */
export function mailText(headers: readonly string[], body = 'words'): string {
  return [...headers, '', body, ''].join('\r\n');
}
