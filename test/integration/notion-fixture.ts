import notion from '../../connectors/notion/index.ts';
import type { NotionConfig } from '../../connectors/notion/config.ts';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { createContext } from '../../src/source/context.ts';
import type { Context, Resource } from '../../src/connector/contract.ts';
import { createOutbound } from '../../src/source/http/outbound.ts';
import { connectorTo } from '../../src/connector-kit/framework.ts';
import type { SourceRequest, Fault } from '../../src/connector-kit/serve-source.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { sql } from '../../src/store/sql.ts';
import { serveNotion } from '../../fixtures/servers/notion/server.ts';
import { createWorkspace, type Workspace } from '../../fixtures/servers/notion/workspace.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { authorizedBy, credentialsOf } from '../support/token-authorization.ts';

const token = 'ntn_0123456789';

/** Time passes while requests wait for their turn, as nobody else moves it. */
function movingClock(): TestClock {
  const clock = createTestClock();
  return {
    ...clock,
    async sleep(ms, signal) {
      if (ms > 5_000) return clock.sleep(ms, signal);
      clock.advance(ms);
    },
  };
}

export interface NotionFixtureOptions {
  config?: NotionConfig;
  selection?: Resource[];
  /** Prepared before anything is mirrored. */
  fill?(workspace: Workspace): void;
}

/** A connection to a stand-in for Notion under its own host names, synced on demand, and the requests that it costs. */
export async function createNotionFixture({ config = {}, selection = [], fill }: NotionFixtureOptions = {}) {
  const clock = movingClock();
  const workspace = createWorkspace(clock);
  fill?.(workspace);
  let isRevoked = false;
  let gate: ((request: SourceRequest) => Fault | undefined) | undefined;
  const server = await serveNotion({
    workspace,
    clock,
    isGood: (given) => !isRevoked && given === token,
    gate: (request) => gate?.(request),
  });
  const opened = await openTestDatabase('pglite');
  const { database } = opened;
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const metrics = createMetrics();
  const connect = connectorTo(server.hosts);
  const outbound = createOutbound({ database, clock, log: silentLogger, guard, metrics, connect });
  const textWork = createTextWork({ log: silentLogger });
  const authorization = authorizedBy(token);
  const credentials = credentialsOf(authorization);
  const mirrorOf = (containerTag: string) =>
    createMirror({
      database,
      clock,
      connector: notion,
      config: { ...config },
      containerTag,
      runner: { outbound, extractor: textWork, credentials },
    });
  const mirror = await mirrorOf('mirror');
  const choose = (chosen: readonly Resource[]) =>
    database.query(sql`update connections set selection = ${JSON.stringify(chosen)}::jsonb where id = ${mirror.id}`);
  if (selection.length > 0) await choose(selection);
  let before = 0;

  return {
    clock,
    workspace,
    server,
    mirror,
    mirrorOf,
    database,
    choose,
    revoke: () => void (isRevoked = true),
    intercept: (answer: typeof gate) => void (gate = answer),
    /** Requests since the last call. */
    takeRequests(): string[] {
      const all = server.traffic.count();
      const seen = server.traffic.recent().slice(-(all - before) || Infinity);
      before = all;
      return all === 0 ? [] : seen.map(({ method, path }) => `${method} ${path}`);
    },
    countRequests(): number {
      const count = server.traffic.count() - before;
      before = server.traffic.count();
      return count;
    },
    /** A verb by itself. */
    async withContext<Result>(run: (context: Context<NotionConfig>) => Promise<Result>): Promise<Result> {
      const { context, dispose } = createContext({
        ...{ connector: notion, config: { ...config }, authorization, outbound, connectionId: null, selection, clock },
        log: silentLogger,
        signal: new AbortController().signal,
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

export type NotionFixture = Awaited<ReturnType<typeof createNotionFixture>>;
