import github from '../../connectors/github/index.ts';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { createOutbound } from '../../src/connect/http/outbound.ts';
import type { Authorization } from '../../src/connect/authorization.ts';
import { createRedaction } from '../../src/connect/redaction.ts';
import { createContext } from '../../src/connect/context.ts';
import type { Context, Resource } from '../../src/connect/contract.ts';
import type { GithubConfig } from '../../connectors/github/config.ts';
import { createGitStore } from '../../fixtures/servers/github/git-store.ts';
import { createGithubSource } from '../../fixtures/servers/github/github-source.ts';
import { serveGithub, type GithubServerOptions } from '../../fixtures/servers/github/github-server.ts';
import { createExtractor } from '../../src/engine/extract/extractor.ts';
import { createMirror } from '../support/mirror.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase } from '../support/databases.ts';
import { sql } from '../../src/store/sql.ts';

const token = 'github-token';

/** A connection to a stand-in for GitHub with one repository, and the requests that it costs. */
export async function createGithubFixture(
  config: GithubConfig,
  options: Partial<GithubServerOptions> & { selection?: 'repository' } = {},
) {
  const { selection, ...serving } = options;
  const clock = createTestClock();
  const source = createGithubSource(clock, createGitStore);
  const repository = source.addRepository('acme/notes');
  const server = await serveGithub({ source, clock, token, ...serving });
  const opened = await openTestDatabase('pglite');
  const { database } = opened;
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const outbound = createOutbound({ database, clock, log: silentLogger, guard, metrics: createMetrics() });
  const extractor = createExtractor({ log: silentLogger });
  const authorization: Authorization = {
    headers: async () => ({ authorization: `Bearer ${token}` }),
    renew: async () => false,
    token: async () => token,
    secret: async () => token,
  };
  const full = { ...config, baseUrl: server.apiUrl };
  const chosen: Resource[] = selection === undefined ? [] : [{ id: String(repository.id), name: repository.name }];
  const mirror = await createMirror({
    database,
    clock,
    connector: github,
    settings: { claimSize: 128 },
    runner: {
      outbound,
      extractor,
      credentials: {
        open: async () => ({ authorization, secrets: {}, redaction: createRedaction(), clientId: null }),
      } as never,
    },
  });
  await database.query(sql`update connections set config = ${JSON.stringify(full)}::jsonb where id = ${mirror.id}`);
  if (chosen.length > 0) {
    await database.query(
      sql`update connections set selection = ${JSON.stringify(chosen)}::jsonb where id = ${mirror.id}`,
    );
  }
  let before = 0;
  const paths = () =>
    server.traffic
      .recent()
      .slice(before)
      .map(({ method, path }) => `${method} ${path}`)
      .filter((line) => !line.includes('/codeload/'));
  return {
    source,
    repository,
    git: repository.git,
    server,
    clock,
    mirror,
    /** Requests to the API since the last call. */
    takeRequests() {
      const seen = paths();
      before = server.traffic.recent().length;
      return seen;
    },
    /** Files that memory holds, by path. */
    async files(): Promise<Record<string, string>> {
      const prefix = `${repository.id}:file:`;
      const texts = [...(await mirror.texts())].filter(([id]) => id.startsWith(prefix));
      return Object.fromEntries(texts.map(([id, text]) => [id.slice(prefix.length), text]));
    },
    /** Files that Git has at the head of the branch. */
    expected(branch = repository.defaultBranch): Record<string, string> {
      const entries = repository.git.tree(repository.git.head(branch)!, true);
      const blobs = entries.filter(({ type, mode, size }) => type === 'blob' && mode !== '120000' && size !== 0);
      return Object.fromEntries(blobs.map(({ path, sha }) => [path, repository.git.blob(sha)!.toString()]));
    },
    /** A verb by itself. */
    async withContext<Result>(run: (context: Context<GithubConfig>) => Promise<Result>): Promise<Result> {
      const { context, dispose } = createContext({
        connector: github,
        config: full,
        authorization,
        outbound,
        connectionId: null,
        selection: chosen,
        clock,
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
      await extractor.close();
      await outbound.close();
      await opened.close();
      await server.close();
      source.close();
    },
  };
}
