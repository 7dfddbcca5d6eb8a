import { afterAll, beforeAll, expect, it } from 'vitest';
import { serveEmulatedGithub } from '../../fixtures/servers/github/emulated-github.ts';
import { createTestClock } from '../support/clock.ts';
import { connectGithub } from './github-connection.ts';

const clock = createTestClock();
let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world.close());

async function openWorld() {
  const server = await serveEmulatedGithub(clock);
  const { api } = server;
  const { id, default_branch: branch } = await api.change('POST', '/user/repos', { name: 'notes', auto_init: true });
  const config = { baseUrl: server.url, repositories: ['admin/notes'] };
  const { mirror, close } = await connectGithub({ clock, config });
  let name = 'notes';
  const at = () => `/repos/admin/${name}`;
  const change = (method: string, path: string, body?: object) => api.change(method, at() + path, body);

  async function shaOf(path: string, ref: string): Promise<string | undefined> {
    return (await api.find(`${at()}/contents/${path}?ref=${ref}`))?.sha;
  }

  return {
    change,
    mirror,
    server,
    branch,
    async write(path: string, text: string, ref = branch) {
      const sha = await shaOf(path, ref);
      const content = Buffer.from(text).toString('base64');
      await change('PUT', `/contents/${path}`, { message: 'x', branch: ref, content, ...(sha && { sha }) });
    },
    remove: async (path: string) =>
      change('DELETE', `/contents/${path}`, { message: 'x', sha: await shaOf(path, branch) }),
    /** Another tree on top of a commit, as a push of any kind makes it; null removes a file. */
    async push(files: Record<string, string | null>, parent?: string) {
      const head = parent ?? (await api.read(`${at()}/git/ref/heads/${branch}`)).object.sha;
      const tree = Object.entries(files).map(([path, content]) => ({
        ...{ path, mode: '100644', type: 'blob' },
        ...(content === null ? { sha: null } : { content }),
      }));
      const base = (await api.read(`${at()}/git/commits/${head}`)).tree.sha;
      const made = await change('POST', '/git/trees', { base_tree: base, tree });
      const commit = await change('POST', '/git/commits', { message: 'x', tree: made.sha, parents: [head] });
      await change('PATCH', `/git/refs/heads/${branch}`, { sha: commit.sha, force: true });
      return head as string;
    },
    async rename(to: string) {
      await change('PATCH', '', { name: to });
      name = to;
    },
    /** One sync, after which memory is what the emulator shows. */
    async syncAndCompare() {
      clock.advance(61 * 60_000);
      expect(await mirror.sync()).toMatchObject({ status: 'completed', error: null });
      const texts = [...(await mirror.texts())].map(([key, text]) => [key.replace(`${id}:`, ''), text]);
      expect(Object.fromEntries(texts)).toEqual(await shown());
    },
    async close() {
      await close();
      await server.close();
    },
  };

  /** What memory must hold, from what the emulator itself answers. */
  async function shown(): Promise<Record<string, string>> {
    const all: Record<string, string> = {};
    const { tree } = await api.read(`${at()}/git/trees/${branch}?recursive=1`);
    for (const { path, type, sha } of tree) {
      if (type !== 'blob') continue;
      const { content } = await api.read(`${at()}/git/blobs/${sha}`);
      all[`file:${path}`] = Buffer.from(content, 'base64').toString();
    }
    for (const { number, title, body } of await api.readAll(`${at()}/issues?state=all`)) {
      all[`issue:${number}`] = textOf(title, body, await api.readAll(`${at()}/issues/${number}/comments`));
    }
    for (const { number, title, body } of await api.readAll(`${at()}/pulls?state=all`)) {
      const remarks = ['issues/N/comments', 'pulls/N/reviews', 'pulls/N/comments'].map((path) =>
        api.readAll(`${at()}/${path.replace('N', number)}`),
      );
      all[`issue:${number}`] = textOf(title, body, (await Promise.all(remarks)).flat());
    }
    for (const release of await api.readAll(`${at()}/releases`)) {
      all[`release:${release.id}`] = `# ${release.name}\n\n${release.body}`;
    }
    return all;
  }

  function textOf(title: string, body: string, remarks: any[]): string {
    const said = remarks.map((remark) => {
      const time = server.shownTime(remark.submitted_at ?? remark.created_at);
      const where = remark.path === undefined ? '' : ` on \`${remark.path}\``;
      const verdict = remark.state === undefined ? '' : ` (${remark.state.toLowerCase()})`;
      return { time, text: `## ${remark.user.login}${where}${verdict}, ${time}\n\n${remark.body}` };
    });
    const sorted = said.toSorted((left, right) => (left.time < right.time ? -1 : 1)).map(({ text }) => text);
    return [`# ${title}`, body, ...sorted].join('\n\n');
  }
}

it('memory equals what an emulator of GitHub shows after every change of it', async () => {
  const { change, write, remove, push, rename, syncAndCompare, mirror, branch } = world;

  await write('docs/a.md', '# A\n');
  await write('src/b.ts', 'export const b = 1;\n');
  await change('POST', '/issues', { title: 'A question', body: 'How does it work?' });
  await change('POST', '/issues/1/comments', { body: 'Like this.' });
  await change('POST', '/git/refs', { ref: 'refs/heads/side', sha: await push({ 'c.md': 'c\n' }) });
  await write('side.md', 'From the side.\n', 'side');
  await change('POST', '/pulls', { title: 'A change', body: 'It mends it.', head: 'side', base: branch });
  const first = await change('POST', '/releases', { tag_name: 'v1', name: 'One', body: 'First notes.' });
  await syncAndCompare();
  const before = await mirror.documentIds();

  await write('docs/a.md', '# A, changed\n');
  await remove('src/b.ts');
  await write('docs/d.md', '# D\n');
  await change('PATCH', '/issues/1', { title: 'An answered question', body: 'How did it work?', state: 'closed' });
  await change('POST', '/issues', { title: 'Another one', body: 'Without a comment.' });
  await syncAndCompare();

  const { id: remark } = await change('POST', '/issues/1/comments', { body: 'And like that.' });
  await change('POST', '/issues/2/comments', { body: 'About the change.' });
  await change('POST', '/pulls/2/reviews', { body: 'A review.', event: 'COMMENT' });
  await change('PATCH', `/releases/${first.id}`, { body: 'Better notes.' });
  await change('POST', '/releases', { tag_name: 'v2', name: 'Two', body: 'Second notes.' });
  await syncAndCompare();

  await change('PATCH', `/issues/comments/${remark}`, { body: 'Or like that.' });
  const line = { body: 'On a line.', path: 'side.md', line: 1, commit_id: (await change('GET', '/pulls/2')).head.sha };
  await change('POST', '/pulls/2/comments', line);
  await change('DELETE', `/releases/${first.id}`);
  const old = await push({ 'c.md': null, 'moved/c.md': 'c\n', 'docs/d.md': null });
  await syncAndCompare();
  const key = (path: string) => [...before.keys()].find((one) => one.endsWith(path))!;
  const moved = await mirror.documentIds();
  expect(moved.get(key('file:c.md').replace('c.md', 'moved/c.md'))).toBe(before.get(key('file:c.md')));

  await push({ 'docs/e.md': 'After a push by force.\n' }, old);
  await rename('journal');
  await syncAndCompare();
  await change('PUT', '/pulls/2/merge', { merge_method: 'merge' });
  await syncAndCompare();
  for (const [id, document] of await mirror.documentIds()) if (before.has(id)) expect(document).toBe(before.get(id));
});

it('costs only conditional requests while nothing happens there', async () => {
  const { server, mirror } = world;
  await world.syncAndCompare();
  const from = server.traffic.count();
  expect(await mirror.sync()).toMatchObject({ status: 'completed' });
  const asked = server.traffic.recent().slice(from - server.traffic.count());
  // The name that it was connected with leads to its number.
  const of = (kind: string) => `/repositories/1${kind}`;
  expect(asked.map(({ path }) => path)).toEqual([
    '/repos/admin/notes',
    ...['', '/commits', '/issues', '/releases'].map(of),
  ]);
  expect(asked.filter(({ headers }) => headers['if-none-match'] === undefined)).toEqual([]);
});
