import github from '../connectors/github/index.ts';
import { createGithubSource } from '../fixtures/servers/github/github-source.ts';
import { serveGithub } from '../fixtures/servers/github/github-server.ts';
import { createMemoryGit } from '../fixtures/servers/github/memory-git.ts';
import { createAddressGuard } from '../src/base/address-guard.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { createMetrics } from '../src/base/metrics.ts';
import { createOutbound } from '../src/source/http/outbound.ts';
import { defaultRunSettings } from '../src/sync/run.ts';
import { runSync } from '../src/sync/runner.ts';
import { requestSync } from '../src/store/connections.ts';
import { sql } from '../src/store/sql.ts';
import { authorizedBy, credentialsOf } from '../test/support/token-authorization.ts';
import { openBenchDatabase, type Engine } from './databases.ts';
import type { Figure } from './report.ts';
import { createSynced } from './synced.ts';

const pushed = 120;

/** Requests that GitHub gets: for a first sync of many files, a push of some of them, and a sync of nothing. */
export async function benchGithub(engine: Engine, files: number): Promise<Figure[]> {
  const world = await openWorld(engine);
  try {
    const write = (count: number, text: string) =>
      world.git.commit(
        Object.fromEntries(Array.from({ length: count }, (_, index) => [pathOf(index), `${text} ${index}\n`])),
      );
    write(files, 'text');
    const first = await world.requestsOfSync();
    if ((await world.documents()) !== files) throw new Error(`Only ${await world.documents()} files came.`);
    write(pushed, 'another text');
    const push = await world.requestsOfSync();
    const idle = await world.requestsOfSync();
    return [
      figure(`first sync of ${files} files`, engine, first, 6),
      figure(`push of ${pushed} of ${files} files`, engine, push, 2 + Math.ceil(pushed / 50)),
      figure(`sync of ${files} unchanged files`, engine, idle, 1),
    ];
  } finally {
    await world.close();
  }
}

const pathOf = (index: number) => `notes/${index % 50}/${index}.md`;

function figure(name: string, engine: Engine, requests: number, most: number): Figure {
  return {
    name: `GitHub: ${name}, ${engine}`,
    value: `${requests} requests`,
    limit: `${most} requests`,
    ratio: requests / most,
    better: 'smaller',
    target: 1,
  };
}

async function openWorld(engine: Engine) {
  const clock = systemClock;
  const source = createGithubSource(clock, createMemoryGit);
  const repository = source.addRepository('acme/notes');
  const server = await serveGithub({ source, clock, token: 'token' });
  const { database, close } = await openBenchDatabase(engine);
  const { id } = await createSynced(database, github);
  const selection = [{ id: String(repository.id), name: repository.name }];
  await database.execute(sql`
    update connections set config = ${JSON.stringify({ baseUrl: server.apiUrl, content: ['files'] })}::jsonb,
      selection = ${JSON.stringify(selection)}::jsonb where id = ${id}`);
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const outbound = createOutbound({ database, clock, log: silentLogger, guard, metrics: createMetrics() });
  const credentials = credentialsOf(authorizedBy('token'));

  return {
    git: repository.git,
    /** Also those to the host that the archive comes from, which has no quota. */
    async requestsOfSync(): Promise<number> {
      const before = server.traffic.count();
      await database.transaction((tx) =>
        requestSync(tx, id, { mode: 'incremental', trigger: 'manual' }, { now: clock.now() }),
      );
      const common = {
        database,
        clock,
        log: silentLogger,
        settings: defaultRunSettings,
        wake: async () => {},
        outbound,
      };
      const runner = { ...common, connector: async () => github, credentials };
      await runSync(runner, id, new AbortController().signal);
      return server.traffic.count() - before;
    },
    async documents(): Promise<number> {
      const [row] = await database.query<{ count: number }>(sql`
        select count(*)::int as count from documents where connection_id = ${id} and deleted_at is null`);
      return row!.count;
    },
    async close() {
      await outbound.close();
      await close();
      await server.close();
      source.close();
    },
  };
}
