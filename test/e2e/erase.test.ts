import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../support/command-line.ts';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const tag = 'user_mira';
let dataDir: string;
let daemon: Daemon;

const start = () => startDaemon({ dataDir, env: { MEMORYD_EMBEDDER_KIND: 'hashing' } });

beforeAll(async () => {
  dataDir = await temporaryFolder('memoryd-erase-');
  daemon = await start();
});
afterAll(() => daemon.kill());

async function call(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${daemon.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${daemon.key}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, any> };
}

async function add(body: object): Promise<string> {
  const { id } = (await call('POST', '/v3/documents', { containerTag: tag, dreaming: 'instant', ...body })).body;
  await expect
    .poll(async () => (await call('GET', `/v3/documents/${id}`)).body['status'], { timeout: 30_000 })
    .toBe('done');
  return id as string;
}

async function erase(body: object): Promise<void> {
  const { status, body: erasure } = await call('POST', '/v3/erasures', body);
  expect(status).toBe(202);
  await isErased(erasure['id']);
}

async function isErased(id: string): Promise<void> {
  await expect
    .poll(async () => (await call('GET', `/v3/erasures/${id}`)).body['status'], { timeout: 60_000 })
    .toBe('completed');
}

/** The files below the data directory that hold a word: as text, or as UTF-16. */
async function filesWith(word: string): Promise<string[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found: string[] = [];
  for (const path of paths) {
    // Files of the running engine come and go.
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (bytes.includes(word) || bytes.includes(Buffer.from(word, 'utf16le'))) found.push(path);
  }
  return found;
}

it('leaves nothing in any file of the data directory', { timeout: 240_000 }, async () => {
  const [document, replaced, memory, kept] = ['quexbozz', 'vyndrake', 'plomwich', 'hartwell'];
  const id = await add({
    content: `Zed ${document} lives in Porto. ${`Zed ${document} bought ${Math.random()} boats. `.repeat(300)}`,
    customId: `note-${document}`,
    metadata: { owner: document },
  });
  const changed = await add({ content: `The plan of ${replaced} is secret.` });
  await call('PATCH', `/v3/documents/${changed}`, { content: 'The plan is public.' });
  await add({ content: `Mister ${kept} keeps bees.` });
  await call('POST', '/v4/memories', {
    containerTag: tag,
    memories: [{ content: `Mira fears ${memory}.` }, { content: 'Mira likes tea.' }],
  });
  await call('DELETE', '/v4/memories', { containerTag: tag, content: `Mira fears ${memory}.` });
  const search = { q: document, containerTag: tag, searchMode: 'hybrid' };
  await call('POST', '/v4/search', search, { 'idempotency-key': 'one' });
  for (const word of [document, replaced, memory, kept]) expect(await filesWith(word)).not.toEqual([]);

  await erase({ documents: [`note-${document}`] });
  expect(await filesWith(document)).toEqual([]);
  expect((await call('GET', `/v3/documents/${id}`)).status).toBe(404);
  expect(await call('POST', '/v4/search', search, { 'idempotency-key': 'one' })).toMatchObject({ status: 409 });

  const { body: killed } = await call('POST', '/v3/erasures', { deleted: true });
  await daemon.kill();
  daemon = await start();
  await isErased(killed['id']);
  expect(await filesWith(memory)).toEqual([]);
  expect(await filesWith(replaced)).toEqual([]);

  await daemon.stop();
  for (const word of [document, replaced, memory]) expect(await filesWith(word)).toEqual([]);
  expect(await filesWith(kept)).not.toEqual([]);

  daemon = await start();
  const { results } = (await call('POST', '/v4/search', { q: 'bees', containerTag: tag, searchMode: 'hybrid' })).body;
  expect(JSON.stringify(results)).toContain(kept);
  const env = { MEMORYD_URL: daemon.url, MEMORYD_API_KEY: daemon.key };
  expect(await runCommand(['erase', 'container', tag], { env })).toMatchObject({ exitCode: 2 });
  const { exitCode, stdout, stderr } = await runCommand(['erase', 'container', tag, '--yes'], { env });
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^\d documents and \d memor\w+ erased\.\n$/)]);
  expect(stderr).toContain('Left to you: Backups');
  expect(await filesWith(kept)).toEqual([]);
});
