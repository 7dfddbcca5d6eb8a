import { onTestFinished } from 'vitest';
import gmail from '../../connectors/gmail/index.ts';
import type { GmailConfig } from '../../connectors/gmail/config.ts';
import { serveGmail, type GmailServerOptions } from '../../fixtures/servers/gmail/gmail-server.ts';
import { createGmailSource } from '../../fixtures/servers/gmail/gmail-source.ts';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { createLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { createContext } from '../../src/source/context.ts';
import type { Connector, Resource } from '../../src/connector/contract.ts';
import { createOutbound } from '../../src/source/http/outbound.ts';
import { connectorTo } from '../../src/connector-kit/framework.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { authorizedBy, credentialsOf } from '../support/token-authorization.ts';

export const goodToken = 'ya29.good';

/** A mailbox at the stand-in for Gmail, and a connection to it by the names of Google's hosts. Closed with the test. */
export async function connectGmail(
  options: {
    config?: GmailConfig;
    connector?: Connector<any, any>;
    selection?: Resource[];
    serve?: Partial<GmailServerOptions>;
    /** What stands for Gmail in place of the stand-in. */
    url?: string;
  } = {},
) {
  const clock = createTestClock();
  const opened = await openTestDatabase('pglite');
  const { database } = opened;
  const source = createGmailSource(clock);
  const server = await serveGmail({ source, clock, token: (token) => token === goodToken, ...options.serve });
  const lines: string[] = [];
  const log = createLogger('debug', { write: (line) => void lines.push(line) });
  const outbound = createOutbound({
    ...{ database, clock, log, metrics: createMetrics() },
    guard: createAddressGuard({ allowPrivateUrls: false, allowedPrivateHosts: ['127.0.0.1'] }),
    connect: connectorTo({ 'gmail.googleapis.com': options.url ?? server.url }),
  });
  const textWork = createTextWork({ log });
  const authorization = { ...authorizedBy(goodToken), secret: async () => '' };
  const runner = { outbound, extractor: textWork, credentials: credentialsOf(authorization), log };
  const connect = async (config: GmailConfig, connector: Connector<any, any> = gmail, containerTag = 'mirror') =>
    createMirror({
      database,
      clock,
      connector,
      config: { ...config },
      containerTag,
      settings: { claimSize: 100 },
      runner,
    });
  const mirror = await connect(options.config ?? {}, options.connector);
  if (options.selection) await select(options.selection);

  async function select(selection: readonly Resource[]): Promise<void> {
    await database.query(sql`
      update connections set selection = ${JSON.stringify(selection)}::jsonb where id = ${mirror.id}`);
  }

  onTestFinished(async () => {
    await textWork.close();
    await outbound.close();
    await opened.close();
    await server.close();
  });
  return {
    /** The connector's own context, outside of a sync. */
    open: (config: GmailConfig = options.config ?? {}) =>
      createContext({
        ...{ connector: gmail, config: { ...config }, authorization, outbound, clock, log },
        ...{ connectionId: mirror.id, selection: [], signal: new AbortController().signal },
      }),
    ...{ clock, database, source, server, mirror, lines, connect, select },
    /** A sync that ends well, and the calls that it made. */
    async sync(mode: 'full' | 'incremental' = 'incremental') {
      server.forget();
      const run = await mirror.sync({ mode });
      if (run.status !== 'completed') throw new Error(`The sync ended as ${run.status}: ${run.error}`);
      return { calls: server.calls() as Record<string, number>, units: server.units(), run };
    },
    /** Threads of one mail each. */
    add: (count: number) =>
      Array.from({ length: count }, (_, index) => {
        const { id } = source.add({ subject: `Subject ${index}`, text: `text ${index}` });
        clock.advance(1_000);
        return id;
      }),
  };
}
