import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../support/command-line.ts';
import { startDaemon, type Daemon } from '../support/daemon.ts';

let from: Daemon;
let to: Daemon;
let folder: string;
beforeAll(async () => {
  const env = { MEMORYD_EMBEDDER_KIND: 'hashing' };
  [from, to] = await Promise.all([startDaemon({ env }), startDaemon({ env })]);
  folder = mkdtempSync(join(tmpdir(), 'memoryd-import-'));
});
afterAll(async () => {
  await Promise.all([from.stop(), to.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

async function ask({ url, key }: Daemon, method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

const documents = async (daemon: Daemon) => {
  const found = new Map<string, any>();
  for (const page of [1, 2]) {
    const { memories } = await ask(daemon, 'POST', '/v3/documents/list', { page, limit: 100, includeContent: true });
    for (const one of memories) found.set(one.content, one);
  }
  return found;
};

const memories = async (daemon: Daemon, containerTag: string) => {
  const body = { containerTags: [containerTag], limit: 100 };
  const { memoryEntries } = await ask(daemon, 'POST', '/v4/memories/list', body);
  return new Map<string, any>(memoryEntries.map((one: any) => [one.memory, one]));
};

it('carries documents, memories and settings from one daemon to another, and the second time nothing more', async () => {
  const later = new Date(Date.now() + 86_400_000).toISOString();
  await ask(from, 'PATCH', '/v3/settings', { workspacePrompt: 'Notes of a nurse.' });
  await ask(from, 'PATCH', '/v3/container-tags/mira', {
    ...{ name: 'Mira', entityContext: 'A nurse in Graz.', memories: 'off' },
  });
  const batch = Array.from({ length: 120 }, (_, index) => ({
    content: `The ward round of day ${index} begins at seven.`,
    customId: `round-${index}`,
    metadata: { day: index, title: `Day ${index}` },
    filepath: `/rounds/${index}.md`,
    documentDate: '2026-03-01',
  }));
  await ask(from, 'POST', '/v3/documents/batch', { containerTag: 'mira', documents: batch });
  const { id } = await ask(from, 'POST', '/v3/documents', {
    containerTag: 'other',
    content: 'Has no name of its own.',
  });
  await ask(from, 'POST', '/v4/memories', {
    containerTag: 'mira',
    memories: [
      { content: 'Mira lives in Graz', isStatic: true, metadata: { by: 'hand' } },
      { content: 'Mira is on leave', forgetAfter: later, forgetReason: 'leave ends' },
    ],
  });

  const env = { MEMORYD_URL: to.url, MEMORYD_API_KEY: to.key, SUPERMEMORY_API_KEY: from.key };
  const run = () => runCommand(['import', 'supermemory', '--url', from.url, '--json'], { cwd: folder, env });
  const result = await run();
  expect(result.exitCode, result.stderr).toBe(0);
  expect(JSON.parse(result.stdout)).toMatchObject({ from: from.url, left: {} });

  const [there, here] = [await documents(from), await documents(to)];
  expect(here.size).toBe(there.size);
  for (const { content, customId, metadata, filepath } of batch) {
    expect(here.get(content)).toMatchObject({ customId, metadata, filepath, containerTags: ['mira'] });
  }
  expect(here.get('Has no name of its own.')).toMatchObject({ customId: `supermemory:${id}` });
  expect(await memories(to, 'mira')).toEqual(
    new Map([
      ['Mira lives in Graz', expect.objectContaining({ isStatic: true, metadata: { by: 'hand' } })],
      ['Mira is on leave', expect.objectContaining({ forgetAfter: later, forgetReason: 'leave ends' })],
    ]),
  );
  expect(await ask(to, 'GET', '/v3/settings')).toMatchObject({ workspacePrompt: 'Notes of a nurse.' });
  expect(await ask(to, 'GET', '/v3/container-tags/mira')).toMatchObject({
    name: 'Mira',
    entityContext: 'A nurse in Graz.',
    memories: 'off',
  });

  expect((await run()).exitCode).toBe(0);
  expect((await documents(to)).size).toBe(here.size);
  expect((await memories(to, 'mira')).size).toBe(2);
});
