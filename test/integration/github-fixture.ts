import github from '../../connectors/github/index.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createContext } from '../../src/source/context.ts';
import type { Context, Resource } from '../../src/connector/contract.ts';
import type { GithubConfig } from '../../connectors/github/config.ts';
import { createGitStore, type GitStore } from '../../fixtures/servers/github/git-store.ts';
import { createGithubSource } from '../../fixtures/servers/github/github-source.ts';
import { serveGithub, type GithubServerOptions } from '../../fixtures/servers/github/github-server.ts';
import { hashOf } from '../../fixtures/servers/github/memory-git.ts';
import { createTestClock } from '../support/clock.ts';
import type { Engine } from '../support/databases.ts';
import { sql } from '../../src/store/sql.ts';
import { connectGithub } from './github-connection.ts';

const token = 'github-token';

/** A connection to a stand-in for GitHub with one repository, and the requests that it costs. */
export async function createGithubFixture(
  config: GithubConfig,
  options: Partial<GithubServerOptions> & { selection?: 'repository'; git?: () => GitStore; engine?: Engine } = {},
) {
  const { selection, git = createGitStore, engine = 'pglite', ...serving } = options;
  const clock = createTestClock();
  const source = createGithubSource(clock, git);
  const repository = source.addRepository('acme/notes');
  const server = await serveGithub({ source, clock, token, ...serving });
  const full = { ...config, baseUrl: server.apiUrl, webUrl: server.url };
  const chosen: Resource[] = selection === undefined ? [] : [{ id: String(repository.id), name: repository.name }];
  const connection = await connectGithub({ clock, config: full, token, selection: chosen, engine });
  const { database, outbound, authorization, mirror } = connection;
  const known = new Map<string, { stamp: string; hash: string }>();
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
    /** Git’s hash of the text of each file that memory holds, by path; only what was written since is read again. */
    async hashes(): Promise<Map<string, string>> {
      const prefix = `github:${repository.id}:file:`;
      const rows = await database.query<{ path: string; stamp: string; id: string }>(sql`
        select substr(d.custom_id, ${prefix.length + 1}) as path, d.id || ' ' || c.xmin::text as stamp, d.id
        from documents d join document_contents c on c.document_id = d.id
        where d.connection_id = ${mirror.id} and d.deleted_at is null`);
      const written = rows.filter(({ path, stamp }) => known.get(path)?.stamp !== stamp).map(({ id }) => id);
      const texts = await database.query<{ id: string; raw: string }>(sql`
        select document_id as id, raw from document_contents where document_id = any(${written})`);
      const raw = new Map(texts.map(({ id, raw: text }) => [id, text]));
      const held = rows.map(({ path, stamp, id }) => {
        const text = raw.get(id);
        const hash = text === undefined ? known.get(path)!.hash : hashOf('blob', Buffer.from(text));
        known.set(path, { stamp, hash });
        return [path, hash] as const;
      });
      return new Map(held);
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
      await connection.close();
      source.close();
      await server.close();
    },
  };
}
