import drive from '../../connectors/google-drive/index.ts';
import type { DriveConfig } from '../../connectors/google-drive/config.ts';
import { serveDrive } from '../../fixtures/servers/google-drive/drive-server.ts';
import { createDriveSource } from '../../fixtures/servers/google-drive/drive-source.ts';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { createContext } from '../../src/source/context.ts';
import type { Context } from '../../src/connector/contract.ts';
import { createOutbound } from '../../src/source/http/outbound.ts';
import { connectorTo } from '../../src/connector-kit/framework.ts';
import type { Fault, SourceRequest } from '../../src/connector-kit/serve-source.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { authorizedBy, credentialsOf } from '../support/token-authorization.ts';

/** A connection to a stand-in for Google Drive, under Drive's own host names, synced on demand. */
export async function createDriveFixture(options: { config?: DriveConfig; pageSize?: number } = {}) {
  const clock = createTestClock();
  const source = createDriveSource(clock);
  let fault: (request: SourceRequest) => Fault | undefined = () => undefined;
  const server = await serveDrive({
    ...{ source, clock, token: () => true, gate: (request) => fault(request) },
    ...(options.pageSize && { pageSize: options.pageSize }),
  });
  const hosts = { 'www.googleapis.com': server.url, 'docs.google.com': server.url };
  const opened = await openTestDatabase('pglite');
  const { database } = opened;
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const outbound = createOutbound({
    ...{ database, clock, log: silentLogger, guard, metrics: createMetrics() },
    connect: connectorTo(hosts),
  });
  const textWork = createTextWork({ log: silentLogger });
  const authorization = authorizedBy('token');
  const credentials = credentialsOf(authorization);
  const mirrorOf = (containerTag: string) =>
    createMirror({
      ...{ database, clock, connector: drive, containerTag, settings: { claimSize: 128 } },
      runner: { outbound, extractor: textWork, credentials },
    });
  const mirror = await mirrorOf('mirror');
  const { config = {} } = options;
  await database.query(sql`update connections set config = ${JSON.stringify(config)}::jsonb where id = ${mirror.id}`);
  let before = 0;

  return {
    ...{ source, server, clock, mirror, mirrorOf, database },
    /** What is answered in place of the source. */
    fail: (next: typeof fault) => void (fault = next),
    async select(resources: readonly { id: string; name: string }[]) {
      await database.query(
        sql`update connections set selection = ${JSON.stringify(resources)}::jsonb where id = ${mirror.id}`,
      );
    },
    /** Requests since the last call. */
    takeRequests(): string[] {
      const seen = server.traffic.recent().slice(before);
      before = server.traffic.recent().length;
      return seen.map(({ method, path }) => `${method} ${path.replace('/drive/v3', '')}`);
    },
    /** A verb by itself. */
    async withContext<Result>(run: (context: Context<DriveConfig>) => Promise<Result>): Promise<Result> {
      const { context, dispose } = createContext({
        ...{ connector: drive, config: config as Record<string, unknown>, authorization, outbound, clock },
        ...{ connectionId: null, selection: [], log: silentLogger, signal: new AbortController().signal },
      });
      try {
        return await run(context);
      } finally {
        await dispose();
      }
    },
    async close() {
      await textWork.close();
      await outbound.close();
      await opened.close();
      await server.close();
    },
  };
}
