import { beforeEach, describe, expect, test } from 'vitest';
import { connection, connections, folderId, imapId, otherId, progress, useCliFixture } from '../support/cli-fixture.ts';

const cli = useCliFixture();

describe('connections', () => {
  test('lists them as a table or as JSON', async () => {
    cli.api.on('POST /v3/connections/list', () => connections);
    cli.api.on(`GET /v3/connections/${imapId}/progress`, () => ({ ...progress('completed', 0), heldDeletes: 2 }));
    const { stdout } = await cli.run(['connections']);
    expect(stdout.split('\n')[3]).toMatch(
      new RegExp(`^${imapId} +imap +handbook +active +3 +0 +- +mail\\.example\\.com$`),
    );
    // The others were disconnected meanwhile.
    expect(stdout.split('\n')[1]).toMatch(/active +3 +- +- +\/srv\/notes$/);
    expect(stdout).toContain(`memoryd sync ${imapId} --confirm-deletes`);
    expect(JSON.parse((await cli.run(['connections', '--json'])).stdout)).toEqual(connections);
  });

  test('says what to do when there are none', async () => {
    cli.api.on('POST /v3/connections/list', () => []);
    const none = await cli.run(['connections']);
    expect(none).toMatchObject({ exitCode: 0, stdout: '', stderr: expect.stringContaining('memoryd connect folder') });
    expect((await cli.run(['connections', '--json'])).stdout).toBe('[]\n');
  });
});

describe('acting on a connection', () => {
  beforeEach(() => {
    cli.api.on('POST /v3/connections/list', () => connections);
    cli.api.on(`PATCH /v3/connections/${imapId}`, () => connections[2]!);
    cli.api.on(`DELETE /v3/connections/${imapId}`, () => ({ id: imapId, provider: 'imap' }));
  });

  test.each([[imapId], ['ATbQ'], ['imap']])('%s names it', async (word) => {
    expect(await cli.run(['pause', word])).toMatchObject({ exitCode: 0, stdout: `Paused imap ${imapId}.\n` });
    expect(cli.api.requests[1]!.body).toEqual({ paused: true });
    expect(await cli.run(['resume', word])).toMatchObject({ exitCode: 0, stdout: `Resumed imap ${imapId}.\n` });
    expect(cli.api.requests[3]!.body).toEqual({ paused: false });
  });

  test.each([
    ['folder', 'folder has 2 connections: name one by its id.'],
    ['nTP', 'There is no connection nTP.'],
    ['imop', 'There is no connection imop. Did you mean imap?'],
  ])('%s does not name one', async (word, message) => {
    for (const command of ['pause', 'resume', 'disconnect']) {
      const result = await cli.run([command, word]);
      expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) });
    }
    expect(cli.api.seen().filter((line) => !line.startsWith('POST'))).toEqual([]);
  });

  test('a beginning must be unique', async () => {
    cli.api.on('POST /v3/connections/list', () => [connection({}), connection({ id: `${folderId.slice(0, -1)}9` })]);
    expect((await cli.run(['pause', 'nTPk'])).stderr).toContain('nTPk is the beginning of 2 connections.');
  });

  test('disconnect deletes the documents unless they are to be kept', async () => {
    const gone = await cli.run(['disconnect', 'imap', '--yes']);
    expect(gone.stdout).toBe(`Disconnected imap ${imapId}. Its documents are being deleted.\n`);
    const kept = await cli.run(['disconnect', 'imap', '--keep-documents', '--yes', '--json']);
    expect(JSON.parse(kept.stdout)).toEqual({ id: imapId, provider: 'imap' });
    expect(cli.api.seen().filter((line) => line.startsWith('DELETE'))).toEqual([
      `DELETE /v3/connections/${imapId}?deleteDocuments=true`,
      `DELETE /v3/connections/${imapId}?deleteDocuments=false`,
    ]);
  });

  test('disconnect says what goes, and asks whoever sits there', async () => {
    const asked: string[] = [];
    const answering = (answer: string) => ({ ask: async (question: string) => (asked.push(question), answer) });
    const refused = await cli.run(['disconnect', 'imap'], answering(''));
    expect(refused).toMatchObject({ exitCode: 1, stderr: 'memoryd: Nothing was changed.\n' });
    expect(asked).toEqual([
      'imap mail.example.com is not mirrored any more, and its 3 documents go, with what only they say. The source is not touched. Disconnect? [y/N] ',
    ]);
    const nobody = await cli.run(['disconnect', 'imap', '--keep-documents']);
    expect(nobody).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('its 3 documents stay.\nAdd --yes') });
    expect(cli.api.seen().filter((line) => line.startsWith('DELETE'))).toEqual([]);
    expect((await cli.run(['disconnect', 'imap'], answering('y'))).exitCode).toBe(0);
  });
});

describe('sync', () => {
  const started = (id: string, run: string) =>
    cli.api.on(`POST /v3/connections/${id}/sync`, () => [202, { id: run, connectionId: id, status: 'running' }]);
  const synced = () =>
    cli.api.requests.filter(({ path }) => path.endsWith('/sync')).map(({ path, body }) => [path, body.mode]);
  beforeEach(() => {
    cli.api.on('POST /v3/connections/list', () => connections);
    for (const { id } of connections) started(id, 'R1');
  });

  test('of one, of a provider, of all', async () => {
    await cli.run(['sync', imapId, '--full']);
    expect(synced()).toEqual([[`/v3/connections/${imapId}/sync`, 'full']]);
    cli.api.requests.length = 0;
    await cli.run(['sync', 'folder']);
    expect(synced().map(([, mode]) => mode)).toEqual(['incremental', 'incremental']);
    cli.api.requests.length = 0;
    await cli.run(['sync', '--all']);
    expect(synced()).toHaveLength(3);
  });

  test('of the only connection needs no name', async () => {
    cli.api.on('POST /v3/connections/list', () => [connection({})]);
    const result = await cli.run(['sync', '--json']);
    expect(JSON.parse(result.stdout)).toMatchObject([{ connectionId: folderId, run: { id: 'R1' } }]);
    expect(result.stderr).toBe('folder /srv/notes: sync started.\n');
  });

  test.each([
    [[], 'There are 3 connections.'],
    [['folder', '--all'], 'Name a connection or say --all, not both.'],
    [['gmail'], 'There is no connection gmail.'],
  ])('%j is a usage error', async (args, message) => {
    expect(await cli.run(['sync', ...args])).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) });
    expect(synced()).toEqual([]);
  });

  test('with nothing connected is a usage error', async () => {
    cli.api.on('POST /v3/connections/list', () => []);
    expect(await cli.run(['sync', '--all'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Nothing is'),
    });
  });

  test('--wait waits for the run that was started, not for an earlier one', async () => {
    const views = [progress('completed', 0, { id: 'R0' }), progress('running', 0)];
    cli.api.on(`GET /v3/connections/${imapId}/progress`, () => views.shift() ?? progress('completed', 0));
    const result = await cli.run(['sync', 'imap', '--wait', '--json']);
    expect(JSON.parse(result.stdout)).toMatchObject([{ connectionId: imapId, progress: { run: { id: 'R1' } } }]);
    expect(cli.api.seen().filter((line) => line.endsWith('/progress'))).toHaveLength(3);
  });

  test('one that runs already serves as well; one that cannot run does not keep the others', async () => {
    const [first, second, third] = connections;
    cli.api.on('POST /v3/connections/list', () => [first!, { ...second!, status: 'needs_reauth' }, third!]);
    cli.api.on(`POST /v3/connections/${folderId}/sync`, () => [409, { error: 'A sync is running' }]);
    cli.api.on(`POST /v3/connections/${otherId}/sync`, () => [409, { error: 'The connection is needs_reauth' }]);
    const result = await cli.run(['sync', '--all', '--json']);
    expect(result.exitCode).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject([{ connectionId: folderId, run: null }, { connectionId: imapId }]);
    expect(result.stderr).toContain('folder /srv/notes: a sync is running already.');
    expect(result.stderr).toContain('folder /srv/wiki: The connection is needs_reauth');
    expect(result.stderr).toContain('1 connection cannot sync now.');
  });
});

describe('the hook of a source that makes its secret by itself', () => {
  const address = 'https://memory.example.com/v3/hooks/notion';
  const offered = { secret: 'secret_offered', at: '2026-03-01T09:30:00.000Z' };
  const path = '/v3/connectors/notion/hook';

  test('shows where it sends to and what it offers, with what to do next', async () => {
    cli.api.on(`GET ${path}`, () => ({ address, state: 'none', offered: null }));
    expect((await cli.run(['connector', 'hook', 'notion'])).stdout).toMatch(/hooks\/notion\n.*subscribe it/);
    cli.api.on(`GET ${path}`, () => ({ address, state: 'offered', offered }));
    const { stdout } = await cli.run(['connector', 'hook', 'notion']);
    expect(stdout).toContain('memoryd connector hook notion --accept secret_offered');
    cli.api.on(`GET ${path}`, () => ({ address: null, state: 'none', offered: null }));
    expect((await cli.run(['connector', 'hook', 'notion'])).stdout).toContain('publicUrl');
  });

  test('takes the secret, and forgets it', async () => {
    cli.api.on(`POST ${path}`, () => ({ address, state: 'set', offered: null }));
    cli.api.on(`DELETE ${path}`, () => ({ address, state: 'none', offered: null }));
    const taken = await cli.run(['connector', 'hook', 'notion', '--accept', 'secret_offered']);
    expect(taken.stdout).toContain('Its hooks are taken.');
    expect(cli.api.requests[0]!.body).toEqual({ secret: 'secret_offered' });
    expect(JSON.parse((await cli.run(['connector', 'hook', 'notion', '--forget', '--json'])).stdout)).toMatchObject({
      state: 'none',
    });
  });
});
