import github from '../../connectors/github/index.ts';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { createOutbound } from '../../src/source/http/outbound.ts';
import { defaultRunSettings } from '../../src/sync/run.ts';
import { runSync } from '../../src/sync/runner.ts';
import { findConnection, requestSync } from '../../src/store/connections.ts';
import { sql } from '../../src/store/sql.ts';
import { createGithubSource } from '../../fixtures/servers/github/github-source.ts';
import { serveGithub, type GithubServerOptions } from '../../fixtures/servers/github/github-server.ts';
import { createMemoryGit } from '../../fixtures/servers/github/memory-git.ts';
import { startTestApi, type TestApiOptions } from '../support/api.ts';

export const goodToken = 'github_pat_0123456789';

/** The API of memoryd with the GitHub connector, a stand-in for GitHub, and a worker that runs what is due. */
export async function startGithubApi(
  options: Pick<TestApiOptions, 'clients' | 'sharedSecrets'> & { serve?: Partial<GithubServerOptions> } = {},
) {
  const { serve, ...serving } = options;
  const test = await startTestApi({ ...serving, connectors: { github } });
  const { clock, database } = test;
  const source = createGithubSource(clock, createMemoryGit);
  const repository = source.addRepository('acme/notes');
  const server = await serveGithub({ source, clock, token: goodToken, ...serve });
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const outbound = createOutbound({ database, clock, log: silentLogger, guard, metrics: createMetrics() });
  let tags = 0;

  return {
    ...test,
    source,
    repository,
    git: repository.git,
    server,
    /** Creates a connection; what is given goes into its metadata. */
    async create(metadata: object = { token: goodToken }) {
      const answer = await test.call('POST', '/v3/connections/github', {
        containerTag: `github${(tags += 1)}`,
        metadata: { baseUrl: server.apiUrl, repositories: ['acme/notes'], content: ['files'], ...metadata },
      });
      return { ...answer, id: answer.body.id as string };
    },
    /** One run, and how it ended. */
    async sync(id: string, mode: 'full' | 'incremental' = 'incremental') {
      await database.transaction((tx) => requestSync(tx, id, { mode, trigger: 'manual' }, { now: clock.now() }));
      await runSync(
        {
          database,
          clock,
          log: silentLogger,
          settings: defaultRunSettings,
          connector: async () => github,
          wake: async () => {},
          credentials: test.authorizing.credentials,
          outbound,
        },
        id,
        new AbortController().signal,
      );
      const { status, statusReason, nextSyncAt } = (await findConnection(database, id))!;
      const { body } = await test.call('GET', `/v3/connections/${id}`);
      const { errorCode, error } = body.lastSyncRun;
      return { run: body.lastSyncRun.status as string, errorCode, error, status, statusReason, nextSyncAt };
    },
    /** Items by their path or number: state and reason. */
    async items(id: string): Promise<Record<string, string>> {
      const rows = await database.query<{ extId: string; state: string; error: string | null }>(sql`
        select ext_id as "extId", state, error from sync_items where connection_id = ${id} order by ext_id`);
      return Object.fromEntries(
        rows.map(({ extId, state, error }) => [extId.replace(/^\d+:\w+:/, ''), error ? `${state}: ${error}` : state]),
      );
    },
    /** Documents that are not deleted. */
    async documents(id: string): Promise<number> {
      const [row] = await database.query<{ count: number }>(sql`
        select count(*)::int as count from documents where connection_id = ${id} and deleted_at is null`);
      return row!.count;
    },
    check: async (id: string) => (await test.call('POST', `/v3/connections/${id}/check`)).body,
    async close() {
      await outbound.close();
      await test.close();
      source.close();
      await server.close();
    },
  };
}
