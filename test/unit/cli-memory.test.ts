import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { MemoryAnswer } from '../../src/cli/client.ts';
import { formatMemories } from '../../src/cli/memories.ts';
import { useCliFixture } from '../support/cli-fixture.ts';
import { createScreen } from '../support/command-line.ts';

const cli = useCliFixture();

describe('search', () => {
  const answer = {
    results: [
      { id: 'c1', chunk: 'Keys are rotated.', similarity: 0.9, metadata: null, updatedAt: '', filepath: 'k.md' },
    ],
    total: 1,
    timing: 7,
  };

  test('sends what the options say', async () => {
    cli.api.on('POST /v4/search', () => answer);
    const options = ['--namespace', 'handbook', '--limit', '3', '--mode', 'documents', '--threshold', '0.2'];
    const result = await cli.run(['search', 'rotate', 'keys', ...options]);
    expect(result).toMatchObject({ exitCode: 0, stdout: '1.  0.90  k.md\n    Keys are rotated.\n' });
    expect(result.stderr).toBe('\n1 result in 7 ms\n');
    expect(cli.api.requests[0]!.body).toEqual({
      q: 'rotate keys',
      containerTag: 'handbook',
      searchMode: 'documents',
      threshold: 0.2,
      limit: 3,
      include: { documents: true },
    });
  });

  test.each(['--tag', '--container'])('takes %s for --namespace, but not both', async (older) => {
    cli.api.on('POST /v4/search', () => answer);
    cli.api.on('POST /v3/auth/scoped-key', () => ({ id: 'K3', name: 'k', key: 'sm_new', permission: 'read' }));
    await cli.run(['search', 'keys', older, 'handbook']);
    await cli.run(['keys', 'create', older, 'a', older, 'b']);
    const [search, key] = cli.api.requests.map(({ body }) => body);
    expect(search!['containerTag']).toBe('handbook');
    expect(key!['containerTags']).toEqual(['a', 'b']);
    const both = await cli.run(['search', 'keys', older, 'one', '--namespace', 'two']);
    expect(both).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--namespace') });
    expect((await cli.run(['search', '--help'])).stdout).not.toContain(older);
  });

  test('searches everything without options', async () => {
    cli.api.on('POST /v4/search', () => answer);
    await cli.run(['search', 'keys']);
    expect(cli.api.requests[0]!.body).toEqual({
      q: 'keys',
      searchMode: 'hybrid',
      limit: 10,
      include: { documents: true },
    });
  });

  test('reads days as whole ones, and times as they are', async () => {
    cli.api.on('POST /v4/search', () => answer);
    await cli.run(['search', 'keys', '--from', '2026-03-01', '--to', '2026-03-02']);
    await cli.run(['search', 'keys', '--from', '2026-03-01T12:00:00Z']);
    const [days, time] = cli.api.requests.map(({ body }) => body['dates']);
    const first = new Date(2026, 2, 1).toISOString();
    const last = new Date(2026, 2, 2, 23, 59, 59, 999).toISOString();
    expect([days, time]).toEqual([{ from: first, to: last }, { from: '2026-03-01T12:00:00.000Z' }]);
    const wrong = await cli.run(['search', 'keys', '--from', 'soon']);
    expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--from') });
  });

  test('prints the daemon’s answer with --json, and nothing else', async () => {
    cli.api.on('POST /v4/search', () => answer);
    const { stdout, stderr } = await cli.run(['search', 'keys', '--json']);
    expect(JSON.parse(stdout)).toEqual(answer);
    expect(stderr).toBe('');
  });

  test('says what to do when nothing is found', async () => {
    cli.api.on('POST /v4/search', () => ({ results: [], total: 0, timing: 1 }));
    const loose = await cli.run(['search', 'keys', '--namespace', 'handbook']);
    expect(loose).toMatchObject({ exitCode: 0, stdout: '' });
    expect(loose.stderr).toMatch(/^Nothing found in the namespace handbook\. Try `--threshold 0\.3`.*`memoryd status`/);
    expect((await cli.run(['search', 'keys', '--threshold', '0'])).stderr).not.toContain('--threshold');
  });
});

describe('add', () => {
  beforeEach(() => {
    cli.api.on('POST /v3/documents', () => ({ id: 'D1', status: 'queued' }));
    cli.api.on('POST /v3/documents/file', () => ({ id: 'D2', status: 'queued' }));
  });

  test('takes a sentence, an address, the standard input and a file of text', async () => {
    writeFileSync(join(cli.folder, 'note.md'), '# Nöte');
    await cli.run(['add', 'Mira likes Thursdays', '--namespace', 'user_mira', '--custom-id', 'k1', '--title', 'Days']);
    await cli.run(['add', 'https://example.com/handbook']);
    await cli.run(['add', '-'], { readInput: async () => Buffer.from('piped') });
    expect(await cli.run(['add', 'note.md'])).toMatchObject({ exitCode: 0, stdout: 'D1 queued\n' });
    expect(cli.api.requests.map(({ body }) => body)).toEqual([
      { content: 'Mira likes Thursdays', containerTag: 'user_mira', customId: 'k1', metadata: { title: 'Days' } },
      { content: 'https://example.com/handbook' },
      { content: 'piped' },
      { content: '# Nöte', filepath: 'note.md' },
    ]);
  });

  test('uploads other files', async () => {
    writeFileSync(join(cli.folder, 'scan.pdf'), Buffer.from([0x25, 0x50, 0xff, 0x00]));
    const result = await cli.run(['add', 'scan.pdf', '--title', 'Scan', '--namespace', 'ops', '--json']);
    expect(JSON.parse(result.stdout)).toEqual({ id: 'D2', status: 'queued' });
    const [{ headers, text }] = cli.api.requests as [(typeof cli.api.requests)[0]];
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(text).toContain('name="file"; filename="scan.pdf"');
    expect(text).toMatch(/name="metadata"\r\n\r\n\{"title":"Scan"\}/);
    expect(text).toMatch(/name="containerTag"\r\n\r\nops/);
  });

  test('what is not given is not sent with a file', async () => {
    writeFileSync(join(cli.folder, 'scan.pdf'), Buffer.from([0x25, 0x50, 0xff, 0x00]));
    await cli.run(['add', 'scan.pdf']);
    const names = [...cli.api.requests[0]!.text.matchAll(/ name="(\w+)"/g)].map(([, name]) => name);
    expect(names).toEqual(['file', 'filepath']);
  });

  test.each(['invoice.pdf', 'mail.eml', 'rain.ipynb', 'feed.xml', 'page.html', 'settings.json'])(
    '%s is uploaded, also where it is all ASCII',
    async (name) => {
      writeFileSync(join(cli.folder, name), '%PDF-1.4 and so on');
      expect(await cli.run(['add', name])).toMatchObject({ exitCode: 0, stdout: 'D2 queued\n' });
    },
  );

  test.each([
    ['bytes', Buffer.from([0x50, 0x4b, 0x03, 0x04, 0xff])],
    ['a PDF that is all ASCII', Buffer.from('%PDF-1.4\n1 0 obj')],
    ['a page', Buffer.from('\n<!DOCTYPE html><p>Hello</p>')],
  ])('%s on the standard input are uploaded', async (_kind, piped) => {
    expect(await cli.run(['add', '-'], { readInput: async () => piped })).toMatchObject({ stdout: 'D2 queued\n' });
    const names = [...cli.api.requests[0]!.text.matchAll(/ name="(\w+)"/g)].map(([, name]) => name);
    expect(names).toEqual(['file']);
  });

  test('a folder, and nothing at all, are not added', async () => {
    mkdirSync(join(cli.folder, 'notes'));
    const folder = await cli.run(['add', 'notes']);
    expect(folder).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`${cli.folder}/notes is a folder.`) });
    expect(folder.stderr).toContain('memoryd connect folder notes');
    for (const [what, piped] of [
      ['', 'unused'],
      ['-', ' \n'],
    ] as const) {
      const empty = await cli.run(['add', what], { readInput: async () => Buffer.from(piped) });
      expect(empty).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('There is nothing to add') });
    }
    expect(cli.api.requests).toEqual([]);
  });

  test('a single word is taken for a mistyped path', async () => {
    expect(await cli.run(['add', 'note.md'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`There is no file ${cli.folder}/note.md.`),
    });
  });

  test('--wait waits until it can be found, or failed', async () => {
    const states = ['extracting', 'embedding', 'done', 'queued', 'failed'];
    const error = { message: 'example.com cannot be fetched.' };
    cli.api.on('GET /v3/documents/D1', () => ({ id: 'D1', title: null, status: states.shift() ?? 'failed', error }));
    expect(await cli.run(['add', 'some text', '--wait'])).toMatchObject({ exitCode: 0, stdout: 'D1 done\n' });
    expect(await cli.run(['add', 'some text', '--wait'])).toMatchObject({
      exitCode: 1,
      stdout: 'D1 failed\n',
      stderr: expect.stringContaining('could not be processed: example.com cannot be fetched.'),
    });
  });
});

describe('keys', () => {
  const key = {
    id: 'K1',
    name: 'first key',
    start: 'sm_abcde',
    permission: 'write',
    containerTags: [],
    enabled: true,
    createdAt: '2026-03-01T09:00:00.000Z',
    lastUsedAt: null,
    expiresAt: null,
  };

  test('are listed', async () => {
    cli.api.on('GET /v3/auth/keys', () => ({
      keys: [key, { ...key, id: 'K2', containerTags: ['a', 'b'], enabled: false }],
    }));
    const lines = (await cli.run(['keys', 'list'])).stdout.split('\n');
    expect(lines[1]).toMatch(/^K1 +first key +sm_abcde… +write +all +- +-$/);
    expect(lines[2]).toMatch(/^K2 +first key +sm_abcde… +write +a, b +disabled +-$/);
    expect(JSON.parse((await cli.run(['keys', 'list', '--json'])).stdout)).toMatchObject([{ id: 'K1' }, { id: 'K2' }]);
  });

  test('are made for everything or for some containers; only the key is on stdout', async () => {
    const made = { id: 'K3', name: 'backup', key: 'sm_new', permission: 'read' };
    cli.api.on('POST /v3/auth/agent-key', () => made);
    cli.api.on('POST /v3/auth/scoped-key', () => made);
    const full = await cli.run(['keys', 'create']);
    expect(full).toMatchObject({ exitCode: 0, stdout: 'sm_new\n' });
    await cli.run([
      'keys',
      'create',
      '--namespace',
      'a',
      '--namespace',
      'b',
      '--permission',
      'read',
      '--expires-in-days',
      '30',
    ]);
    expect(cli.api.requests.map(({ path, body }) => [path, body])).toEqual([
      ['/v3/auth/agent-key', { name: 'command line', permission: 'write' }],
      ['/v3/auth/scoped-key', { permission: 'read', containerTags: ['a', 'b'], expiresInDays: 30 }],
    ]);
  });

  test('have limits when they are made, and other ones later', async () => {
    const key = { id: 'K1', name: 'first key', rateLimitMax: 9, rateLimitTimeWindow: 60_000 };
    const limited = { ...key, quota: { documents: 5, bytes: null }, usage: { documents: 2, bytes: 20 } };
    cli.api.on('POST /v3/auth/agent-key', () => ({ id: 'K3', name: 'backup', key: 'sm_new', permission: 'write' }));
    cli.api.on('PATCH /v3/auth/keys/K1', () => limited);
    await cli.run(['keys', 'create', '--documents', '5', '--requests-per-minute', '9']);
    const shown = await cli.run(['keys', 'change', 'K1', '--bytes', '7']);
    expect(shown.stdout.split('\n').slice(0, 4)).toEqual([
      'key        K1 (first key)',
      'documents  2 of 5',
      'bytes      20 of any number',
      'requests   9 in 60 seconds',
    ]);
    await cli.run(['keys', 'change', 'K1', '--no-limits', '--documents', '8', '--name', 'new']);
    expect(cli.api.requests.map(({ body }) => body)).toEqual([
      {
        ...{ name: 'command line', permission: 'write' },
        ...{ rateLimitMax: 9, rateLimitTimeWindow: 60_000, quota: { documents: 5 } },
      },
      { quota: { bytes: 7 } },
      { name: 'new', rateLimitMax: null, quota: { documents: 8, bytes: null } },
    ]);
  });

  test('are revoked', async () => {
    cli.api.on('DELETE /v3/auth/scoped-key/K1', () => ({ success: true, id: 'K1' }));
    expect(await cli.run(['keys', 'revoke', 'K1'])).toMatchObject({ exitCode: 0, stdout: 'Revoked K1.\n' });
  });
});

describe('memories', () => {
  const entry = {
    ...{ id: 'mLidkuVKnRyjP2WPBg8Y4E', memory: 'Mira lives in Porto', kind: 'fact', trust: 'told', author: 'Mira' },
    ...{ version: 2, isForgotten: false, saidAt: '2026-03-04T12:00:00Z', createdAt: '2026-03-05T12:00:00Z' },
    sources: [{ documentId: 'd', title: 'Chat of March', filepath: null, date: '2026-03-04T12:00:00Z' }],
  };
  const page = (...memoryEntries: object[]) => ({
    memoryEntries,
    pagination: { currentPage: 1, totalItems: memoryEntries.length, totalPages: 1 },
  });
  const tags = (...names: string[]) =>
    cli.api.on('GET /v3/container-tags/list', () => names.map((containerTag) => ({ containerTag })));

  test('list those of every container, with where they come from', async () => {
    tags('user_mira', 'team');
    cli.api.on('POST /v4/memories/list', () => page(entry, { ...entry, isForgotten: true, author: null, sources: [] }));
    const { stdout, stderr } = await cli.run(['memories', 'list', '--limit', '5', '--forgotten']);
    expect(stdout).toBe(
      [
        'Mira lives in Porto',
        '  fact, told, 2026-03-04, version 2, by Mira, from Chat of March',
        `  ${entry.id}`,
        '',
        'Mira lives in Porto',
        '  forgotten, fact, told, 2026-03-04, version 2',
        `  ${entry.id}`,
        '',
      ].join('\n'),
    );
    expect(stderr).toBe('\nPage 1 of 1, 2 in all\n');
    const asked = { containerTags: ['user_mira', 'team'], limit: 5, page: 1, includeForgotten: true };
    expect(cli.api.requests.at(-1)!.body).toEqual(asked);
    cli.api.on('POST /v4/memories/list', () => page());
    expect((await cli.run(['memories', 'list', '--namespace', 'x'])).stderr).toMatch(/^Nothing is remembered yet/);
    expect(cli.api.requests.at(-1)!.body).toMatchObject({ containerTags: ['x'] });
    tags();
    expect((await cli.run(['memories', 'list'])).stderr).toMatch(/^Nothing is remembered yet/);
  });

  test('fit the terminal', () => {
    const source = { ...entry.sources[0]!, title: 't'.repeat(200) };
    const long = { ...entry, memory: 'word '.repeat(99), sources: [source] } as MemoryAnswer;
    const lines = formatMemories([long], createScreen({ columns: 80, isTTY: true }));
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('correct one, in the only container or in the one that is named', async () => {
    tags('user_mira');
    cli.api.on('PATCH /v4/memories', () => ({ id: 'new', memory: 'Mira lives in Faro', version: 3 }));
    const done = await cli.run(['memories', 'correct', entry.id, 'Mira', 'lives', 'in', 'Faro']);
    expect(done).toMatchObject({ exitCode: 0, stdout: 'new\n', stderr: 'Version 3: Mira lives in Faro\n' });
    const body = { containerTag: 'user_mira', id: entry.id, newContent: 'Mira lives in Faro' };
    expect(cli.api.requests.at(-1)!.body).toEqual(body);
    tags('user_mira', 'team');
    const unclear = await cli.run(['memories', 'correct', entry.id, 'x']);
    expect([unclear.exitCode, unclear.stderr]).toEqual([2, expect.stringContaining('There are: user_mira, team.')]);
  });

  test('forget by ids, by text, and by meaning only with --yes', async () => {
    const matched = [{ id: entry.id, memory: entry.memory, score: 0.9 }];
    cli.api.on('POST /v4/memories/forget-matching', ({ body }) => ({
      ...{ dryRun: body.dryRun ?? false, count: 1 },
      ...(body.dryRun ? { candidates: matched } : { forgotten: matched }),
    }));
    cli.api.on('DELETE /v4/memories', () => ({ id: entry.id, forgotten: true }));
    const run = (...args: string[]) => cli.run(['memories', 'forget', '--namespace', 'user_mira', ...args]);
    const dry = await run('--about', 'her home');
    expect(dry.stdout).toBe(`Mira lives in Porto\n  ${entry.id}\n`);
    expect(dry.stderr).toBe('Would forget 1 memory.\nAdd --yes to forget them.\n');
    expect(cli.api.requests.at(-1)!.body).toEqual({ containerTag: 'user_mira', query: 'her home', dryRun: true });
    expect((await run('--about', 'her home', '--yes')).stderr).toBe('Forgot 1 memory.\n');
    expect((await run('--content', entry.memory, '--reason', 'moved')).stderr).toBe('Forgot "Mira lives in Porto".\n');
    expect(cli.api.requests.at(-1)!.body).toMatchObject({ content: entry.memory, reason: 'moved' });
    expect((await run(entry.id)).exitCode).toBe(0);
    expect(cli.api.requests.at(-1)!.body).toEqual({ containerTag: 'user_mira', ids: [entry.id] });
    expect(await run(entry.id, 'other')).toMatchObject({ exitCode: 1 });
    expect(await run()).toMatchObject({ exitCode: 2 });
    expect(await run(entry.id, '--about', 'x')).toMatchObject({ exitCode: 2 });
  });
});

test('backup prints where it is, and asks to keep no more than somebody says', async () => {
  cli.api.on('POST /v3/system/backups', () => ({ path: '/data/backups/2026-03-01T09-00-00-000Z' }));
  const result = await cli.run(['backup', '--keep', '7']);
  expect(result).toMatchObject({ exitCode: 0, stdout: '/data/backups/2026-03-01T09-00-00-000Z\n' });
  await cli.run(['backup', '--json']);
  expect(cli.api.requests.map(({ body }) => body)).toEqual([{ keep: 7 }, {}]);
  expect(await cli.run(['backup', '--keep', '0'])).toMatchObject({ exitCode: 2 });
});
