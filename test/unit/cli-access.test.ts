import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { writeDaemonFile } from '../../src/cli/daemon-file.ts';
import { goodKey } from '../support/api-stand-in.ts';
import { connections, useCliFixture } from '../support/cli-fixture.ts';

const cli = useCliFixture();

describe('finding the daemon', () => {
  const file = () => ({ url: cli.api.url, pid: process.pid, token: goodKey, startedAt: '2026-03-01T09:00:00.000Z' });
  beforeEach(() => cli.api.on('POST /v3/connections/list', () => connections));

  test('by daemon.json of the default data directory, of --data-dir and of the configuration', async () => {
    await writeDaemonFile(join(cli.folder, '.memoryd'), file());
    await writeDaemonFile(join(cli.folder, 'other'), file());
    writeFileSync(join(cli.folder, 'c.json'), '{ "dataDir": "other" }');
    for (const options of [[], ['--data-dir', 'other'], ['--config', 'c.json']]) {
      expect(await cli.run(['connections', '--json', ...options], { env: {} })).toMatchObject({ exitCode: 0 });
    }
    expect(cli.api.requests).toHaveLength(3);
  });

  test('options win over variables, those over daemon.json', async () => {
    await writeDaemonFile(join(cli.folder, '.memoryd'), { ...file(), url: cli.closedUrl });
    const env = { MEMORYD_URL: cli.api.url, MEMORYD_API_KEY: 'wrong' };
    const options = ['connections', '--json', '--key', goodKey];
    expect(await cli.run(options, { env })).toMatchObject({ exitCode: 0 });
    expect(await cli.run([...options, '--url', cli.closedUrl], { env })).toMatchObject({ exitCode: 3 });
    expect(await cli.run(['connections'], { env })).toMatchObject({ exitCode: 4 });
  });

  test('a slash at the end of the address does no harm', async () => {
    await writeDaemonFile(join(cli.folder, '.memoryd'), file());
    const command = ['connections', '--json', '--url', `${cli.api.url}/`];
    expect(await cli.run(command, { env: {} })).toMatchObject({ exitCode: 0 });
    expect(cli.api.seen()).toEqual(['POST /v3/connections/list']);
  });

  test('exit code 3 when none runs', async () => {
    const result = await cli.run(['connections'], { env: {} });
    expect(result).toMatchObject({ exitCode: 3, stdout: '' });
    expect(result.stderr).toContain(`No daemon runs with the data directory ${cli.folder}/.memoryd.`);
    expect(result.stderr).toContain('Start one with `memoryd start`');
  });

  test('exit code 4 when its file may not be read, as that of another user', async () => {
    mkdirSync(join(cli.folder, '.memoryd', 'daemon.json'), { recursive: true });
    const result = await cli.run(['connections'], { env: {} });
    expect(result).toMatchObject({ exitCode: 4, stdout: '' });
    expect(result.stderr).toMatch(
      /daemon\.json cannot be read \(EISDIR\)\.\nRun the command as the user of the daemon/,
    );
  });

  test('exit code 3 when it has gone without a word', async () => {
    // No process has an id beyond the system's limit.
    await writeDaemonFile(join(cli.folder, '.memoryd'), { ...file(), url: cli.closedUrl, pid: 2 ** 30 });
    const result = await cli.run(['connections'], { env: {} });
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toMatch(/does not answer \(ECONNREFUSED\)\.\n.*names process 1073741824, which has ended/);
  });

  test('exit code 3 when it does not listen, or the address is wrong', async () => {
    await writeDaemonFile(join(cli.folder, '.memoryd'), { ...file(), url: cli.closedUrl });
    expect((await cli.run(['connections'], { env: {} })).stderr).toContain('which exists but does not listen there');
    const wrong = await cli.run(['connections', '--url', cli.closedUrl], {});
    expect(wrong).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('Check the address (--url).') });
  });

  test('exit code 4 for a wrong key, which is not shown', async () => {
    const result = await cli.run(['connections', '--key', 'sm_canary']);
    expect(result).toMatchObject({ exitCode: 4, stdout: '' });
    expect(result.stderr).toContain('refused the key of --key');
    expect(result.stderr).not.toContain('sm_canary');
  });

  test('the key in daemon.json is never sent to another address', async () => {
    await writeDaemonFile(join(cli.folder, '.memoryd'), { ...file(), url: cli.closedUrl });
    const result = await cli.run(['connections', '--url', cli.api.url], { env: {} });
    expect(result).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('There is no key for the daemon at') });
    expect(cli.api.requests).toEqual([]);
  });

  test('exit code 2 for a wrong configuration and for what is no address', async () => {
    expect(await cli.run(['connections'], { env: { MEMORYD_PROT: '1' } })).toMatchObject({ exitCode: 2 });
    expect(await cli.run(['connections', '--url', 'localhost:6767'])).toMatchObject({ exitCode: 2 });
  });

  test('exit code 1 for other refusals, in the daemon’s words', async () => {
    cli.api.on('POST /v3/connections/list', () => [500, { error: 'Internal server error', details: 'Request 42' }]);
    const failed = await cli.run(['connections', '--json']);
    expect(failed.exitCode).toBe(1);
    expect(JSON.parse(failed.stdout)).toEqual({
      error: 'Internal server error (500 to POST /v3/connections/list)',
      details: 'Request 42',
    });
    const issue = { message: 'must be shorter', path: ['containerTags', 0] };
    cli.api.on('POST /v3/connections/list', () => [400, { success: false, error: [issue] }]);
    expect((await cli.run(['connections'])).stderr).toContain('containerTags.0: must be shorter\n');
    cli.api.on('POST /v3/connections/list', () => [403, { error: 'Forbidden' }]);
    expect((await cli.run(['connections'])).exitCode).toBe(4);
    cli.api.on('POST /v3/connections/list', () => 'hello');
    expect((await cli.run(['connections'])).stderr).toContain('is not memoryd');
  });

  test('Ctrl-C ends a request', async () => {
    const controller = new AbortController();
    cli.api.on('POST /v3/connections/list', () => {
      controller.abort();
      return connections;
    });
    expect(await cli.run(['connections'], { signal: controller.signal })).toMatchObject({ exitCode: 130 });
  });
});

describe('the command line', () => {
  test.each([
    [['--version'], 0, '1.2.3\n', ''],
    [['serach'], 2, '', "unknown command 'serach'\n(Did you mean search?)"],
    [['search'], 2, '', "missing required argument 'query'"],
    [['search', 'x', '--limt', '3'], 2, '', "unknown option '--limt'\n(Did you mean --limit?)"],
    [['search', 'x', '--limit', '0'], 2, '', 'It must be a whole number from 1 to 100.'],
    [['search', 'x', '--threshold', '2'], 2, '', 'It must be a number from 0 to 1.'],
    [['search', 'x', '--mode', 'exact'], 2, '', 'Allowed choices are hybrid, documents, memories.'],
    [['keys'], 2, '', 'Usage: memoryd keys'],
    [[], 2, '', 'Usage: memoryd'],
  ])('%j answers %i', async (args, exitCode, stdout, stderr) => {
    const result = await cli.run(args);
    expect(result).toMatchObject({ exitCode, stdout });
    expect(result.stderr).toContain(stderr);
  });
});
