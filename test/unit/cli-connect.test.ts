import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { folderId, imapId, progress, useCliFixture } from '../support/cli-fixture.ts';
import { createJumpingClock } from '../support/command-line.ts';

const cli = useCliFixture();

describe('connect', () => {
  const properties = { path: { type: 'string' }, include: { type: 'array' }, gitignore: { type: 'boolean' } };
  beforeEach(() => {
    cli.api.on('GET /v3/connectors', () => [
      { provider: 'folder', displayName: 'Folder', configSchema: { properties } },
      {
        provider: 'imap',
        displayName: 'IMAP',
        configSchema: { properties: { host: {}, port: { type: 'integer' }, password: { type: 'string' } } },
      },
      {
        provider: 'wiki',
        displayName: 'Wiki',
        configSchema: { required: ['baseUrl'], properties: { baseUrl: { type: 'string', title: 'Address' } } },
      },
    ]);
    cli.api.on('POST /v3/connections/wiki', () => ({ id: imapId, authLink: null, expiresIn: null }));
    cli.api.on('POST /v3/connections/folder', () => ({ id: folderId, authLink: null, expiresIn: null }));
    cli.api.on('POST /v3/connections/imap', () => ({ id: imapId, authLink: null, expiresIn: null }));
    cli.api.on(`GET /v3/connections/${folderId}/progress`, () => progress('completed', 0));
  });
  const sent = () => cli.api.requests.find(({ method, path }) => method === 'POST' && path.startsWith('/v3/'))!.body;

  test('makes the path absolute and gives settings the types of the connector', async () => {
    const options = ['--include', '*.md', '--include', '*.{txt,rst}', '--gitignore', '--set', 'team=7', '--no-wait'];
    const result = await cli.run(['connect', 'folder', './notes', '--namespace', 'handbook', ...options]);
    expect(result).toMatchObject({ exitCode: 0, stdout: `${folderId}\n` });
    expect(sent()).toEqual({
      containerTag: 'handbook',
      metadata: { path: join(cli.folder, 'notes'), include: ['*.md', '*.{txt,rst}'], gitignore: true, team: '7' },
    });
    expect(cli.api.seen()).not.toContain(`GET /v3/connections/${folderId}/progress`);
  });

  test('reads secrets from a file or the standard input', async () => {
    writeFileSync(join(cli.folder, 'secret'), 'from-file\n');
    const options = ['--set', 'host=mail.example.com', '--set', 'port=993', '--no-wait'];
    await cli.run(['connect', 'imap', ...options, '--set-file', 'password=secret']);
    expect(sent()).toEqual({ metadata: { host: 'mail.example.com', port: 993, password: 'from-file' } });
    cli.api.requests.length = 0;
    await cli.run(['connect', 'imap', '--set-file', 'password=-', '--no-wait'], {
      readInput: async () => Buffer.from('typed\n'),
    });
    expect(sent()).toEqual({ metadata: { password: 'typed' } });
  });

  test('says which setting is missing, and how it is given', async () => {
    const bare = await cli.run(['connect', 'wiki', '--no-wait']);
    expect(bare).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('wiki cannot be connected without Address (baseUrl).'),
    });
    expect(bare.stderr).toContain('--set baseUrl=…');
    expect(cli.api.seen()).not.toContain('POST /v3/connections/wiki');
  });

  test('waits for the first sync and tells what came of it', async () => {
    const views = [{ ...progress('running', 0), run: null }, progress('running', 2), progress('completed', 1)];
    cli.api.on(`GET /v3/connections/${folderId}/progress`, () => views.shift() ?? progress('completed', 0));
    const result = await cli.run(['connect', 'folder', 'notes']);
    expect(result).toMatchObject({ exitCode: 0, stdout: `${folderId}\n` });
    expect(result.stderr).toBe(
      `Connected folder as ${folderId}.\nnotes: 0 seen, 3 done, 0 failed\nnotes: 3 seen, 3 done, 0 failed in 1 s\n`,
    );
  });

  test('with --json prints the connection, and its progress when it waited', async () => {
    const waited = await cli.run(['connect', 'folder', 'notes', '--json']);
    expect(JSON.parse(waited.stdout)).toMatchObject({ id: folderId, progress: { run: { status: 'completed' } } });
    const quick = await cli.run(['connect', 'folder', 'notes', '--json', '--no-wait']);
    expect(JSON.parse(quick.stdout)).toEqual({ id: folderId, authLink: null, expiresIn: null });
  });

  test('Ctrl-C while waiting leaves the sync running and says so', async () => {
    const controller = new AbortController();
    cli.api.on(`GET /v3/connections/${folderId}/progress`, () => progress('running', 3));
    const clock = createJumpingClock(() => controller.abort());
    const result = await cli.run(['connect', 'folder', 'notes'], { clock, signal: controller.signal });
    expect(result.exitCode).toBe(130);
    expect(result.stderr).toContain('Stopped waiting. The sync continues in the daemon.');
    expect(cli.api.seen().filter((line) => line.startsWith('DELETE'))).toEqual([]);
  });

  test('exit code 1 when the first sync fails', async () => {
    cli.api.on(`GET /v3/connections/${folderId}/progress`, () =>
      progress('failed', 0, { error: 'The folder is gone' }),
    );
    const result = await cli.run(['connect', 'folder', 'notes']);
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toContain('The sync ended early: The folder is gone');
  });

  test.each([
    [['connect', 'foldr', 'x'], 'There is no connector foldr. Did you mean folder?\nInstalled: folder, imap, wiki.'],
    [['connect', 'folder'], 'The path of the folder is missing.'],
    [['connect', 'imap', 'INBOX'], 'imap takes no target.'],
    [['connect', 'imap', '--include', 'x'], 'imap has no setting include.'],
    [['connect', 'imap', '--set', 'port=many'], 'port must be a number.'],
    [['connect', 'folder', '.', '--set', 'gitignore=maybe'], 'gitignore must be true or false.'],
    [['connect', 'imap', '--set', 'port'], '--set port is not a setting.\nWrite it as --set key=value.'],
    [['connect', 'imap', '--set-file', 'password=none'], '--set-file password: none cannot be read.'],
  ])('%j is a usage error', async (args, message) => {
    const result = await cli.run(args);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toContain(message);
    expect(cli.api.seen().filter((line) => line.startsWith('POST'))).toEqual([]);
  });

  test('a key that is nearly a setting is noted, and still sent as metadata', async () => {
    const result = await cli.run(['connect', 'imap', '--set', 'hots=x', '--set', 'department=ops', '--no-wait']);
    expect(result.stderr).toContain(
      'hots is not a setting, so it becomes metadata of every document. Did you mean host?',
    );
    expect(result.stderr).not.toContain('department');
    expect(sent()).toEqual({ metadata: { hots: 'x', department: 'ops' } });
  });
});
