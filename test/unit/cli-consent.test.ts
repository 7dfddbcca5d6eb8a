import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { newEncryptionKey } from '../../src/base/encryption.ts';
import { imapId, progress, useCliFixture } from '../support/cli-fixture.ts';
import { createJumpingClock } from '../support/command-line.ts';

const cli = useCliFixture();
const secret = { type: 'string', 'x-secret': true };
const state = 'state-of-the-link';
const authLink = `https://accounts.example/consent?client_id=x&state=${state}`;
const callback = 'http://localhost:6767/v3/connections/auth/callback/drive';

beforeEach(() => {
  cli.api.on('GET /v3/connectors', () => [
    { provider: 'drive', displayName: 'Drive', auth: 'oauth2', configSchema: { properties: {} } },
    {
      provider: 'mail',
      displayName: 'Mail',
      auth: 'token',
      configSchema: { properties: { host: { type: 'string' } } },
    },
  ]);
  const token = { type: 'object', required: ['token'], properties: { token: secret } };
  const login = {
    type: 'object',
    required: ['user', 'password'],
    properties: { user: { title: 'User' }, password: secret },
  };
  cli.api.on('GET /v3/connectors/drive/spec', () => ({
    auth: [{ type: 'oauth2' }, { type: 'apiKey', fields: token }],
  }));
  cli.api.on('GET /v3/connectors/mail/spec', () => ({ auth: [{ type: 'basic', fields: login }] }));
  cli.api.on('POST /v3/connections/drive', () => ({ id: imapId, authLink, expiresIn: '1 hour' }));
  cli.api.on('POST /v3/connections/mail', () => ({ id: imapId, authLink: null, expiresIn: null }));
  cli.api.on(`GET /v3/connections/${imapId}/progress`, () => progress('completed', 0));
});
const sent = () => cli.api.requests.find(({ method, path }) => method === 'POST' && path.startsWith('/v3/'))!.body;
const seen = (path: string) => cli.api.seen().filter((line) => line.includes(path));

describe('connect with the consent of the user', () => {
  const standing = (...answers: string[]) =>
    cli.api.on(`GET /v3/connections/${imapId}/authorization`, () => ({
      connectionId: imapId,
      status: answers.length > 1 ? answers.shift() : answers[0],
    }));

  test('shows the link, waits for the browser and then for the sync', async () => {
    standing('pending', 'pending', 'connected');
    const result = await cli.run(['connect', 'drive']);
    expect(result).toMatchObject({ exitCode: 0, stdout: `${authLink}\n${imapId}\n` });
    expect(result.stderr).toContain('--paste');
    expect(result.stderr).toContain(`Connected drive as ${imapId}.`);
    expect(seen('/authorization')).toHaveLength(3);
  });

  test.each([
    ['access_denied', 'The access was not allowed.'],
    ['exchange_failed', 'The source could not give the access.'],
    ['expired', 'The link has expired.'],
  ])('says that it came to %s', async (status, message) => {
    standing('pending', status);
    const result = await cli.run(['connect', 'drive']);
    expect([result.exitCode, result.stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  test('Ctrl-C leaves the link as it is', async () => {
    standing('pending');
    const controller = new AbortController();
    const clock = createJumpingClock(() => controller.abort());
    const result = await cli.run(['connect', 'drive'], { clock, signal: controller.signal });
    expect([result.exitCode, result.stderr]).toEqual([130, expect.stringContaining('The link still works')]);
  });

  test('--no-wait shows the link only, --json one document', async () => {
    expect(await cli.run(['connect', 'drive', '--no-wait'])).toMatchObject({ exitCode: 0, stdout: `${authLink}\n` });
    const quick = await cli.run(['connect', 'drive', '--no-wait', '--json']);
    expect(JSON.parse(quick.stdout)).toEqual({ id: imapId, authLink, expiresIn: '1 hour' });
    standing('connected');
    const waited = await cli.run(['connect', 'drive', '--json']);
    expect(JSON.parse(waited.stdout)).toMatchObject({ id: imapId, progress: { run: { status: 'completed' } } });
    expect(waited.stderr).toContain(authLink);
  });

  test('--again authorizes a connection that is there', async () => {
    cli.api.on('POST /v3/connections/list', () => [{ id: imapId, provider: 'drive', metadata: {} }]);
    standing('connected');
    await cli.run(['connect', 'drive', '--again', imapId.slice(0, 4)]);
    expect(cli.api.requests.find(({ path }) => path === '/v3/connections/drive')!.body).toEqual({
      metadata: {},
      connectionId: imapId,
    });
  });

  describe('by hand', () => {
    beforeEach(() => {
      cli.api.on('GET /v3/connections/auth/callback/drive', () => ({
        connectionId: imapId,
        provider: 'drive',
        status: 'connected',
      }));
    });
    const paste = (text: string) =>
      cli.run(['connect', 'drive', '--paste', '--no-wait'], { readInput: async () => Buffer.from(`${text}\n`) });
    const forwarded = () => Object.fromEntries(new URLSearchParams(seen('/callback/')[0]?.split('?')[1]));

    test.each([
      ['the whole address', `${callback}?code=the-code&state=${state}&iss=x#_`],
      ['what follows the question mark', `code=the-code&state=${state}`],
      ['the code alone', 'the-code'],
    ])('takes %s', async (_, text) => {
      const result = await paste(text);
      expect(result).toMatchObject({ exitCode: 0, stdout: `${authLink}\n${imapId}\n` });
      expect(forwarded()).toEqual({ code: 'the-code', state });
    });

    test('hands a refusal over', async () => {
      cli.api.on('GET /v3/connections/auth/callback/drive', () => [
        400,
        { error: 'access_denied', details: 'Not allowed.' },
      ]);
      const result = await paste(`${callback}?error=access_denied&state=${state}`);
      expect([result.exitCode, result.stderr]).toEqual([1, expect.stringContaining('Not allowed.')]);
      expect(forwarded()).toEqual({ error: 'access_denied', state });
    });

    test.each([
      ['an address of another link', `${callback}?code=the-code&state=other`, 'belongs to another link'],
      ['an address without state', `${callback}?code=the-code`, 'belongs to another link'],
      ['an address without code', `${callback}?state=${state}`, 'has no code'],
      ['nothing', '', 'neither the address nor a code'],
      ['some words', 'it did not work', 'neither the address nor a code'],
      ['an address of something else', 'https://example.com/', 'neither the address nor a code'],
    ])('refuses %s', async (_, text, message) => {
      const result = await paste(text);
      expect([result.exitCode, result.stderr]).toEqual([2, expect.stringContaining(message)]);
      expect(seen('/callback/')).toEqual([]);
    });
  });
});

describe('connect with credentials', () => {
  test('asks for what is missing, for secrets unseen', async () => {
    const asked: unknown[] = [];
    const ask = async (question: string, { hidden }: { hidden: boolean }) => {
      asked.push([question, hidden]);
      return hidden ? 'typed-secret' : 'mira';
    };
    const result = await cli.run(['connect', 'mail', '--set', 'host=m.example', '--no-wait'], { ask });
    expect(result.exitCode).toBe(0);
    expect(asked).toEqual([
      ['User (user): ', false],
      ['password: ', true],
    ]);
    expect(sent()).toEqual({ metadata: { host: 'm.example', user: 'mira', password: 'typed-secret' } });
    expect(result.stdout + result.stderr).not.toContain('typed-secret');
  });

  test('asks nothing where consent is a way, and nobody without a terminal', async () => {
    const ask = async () => Promise.reject(new Error('asked'));
    expect(await cli.run(['connect', 'drive', '--no-wait'], { ask })).toMatchObject({ exitCode: 0 });
    await cli.run(['connect', 'mail', '--no-wait']);
    expect(cli.api.requests.at(-1)!.body).toEqual({ metadata: {} });
  });

  test('takes secrets from variables and files, never asking for them again', async () => {
    writeFileSync(join(cli.folder, 'user'), 'mira\n');
    const env = { MEMORYD_URL: cli.api.url, MEMORYD_API_KEY: 'sm_test_goodkey', MAIL_PASSWORD: 'from-env' };
    const args = ['connect', 'mail', '--set-file', 'user=user', '--set-env', 'password=MAIL_PASSWORD', '--no-wait'];
    expect(await cli.run(args, { env })).toMatchObject({ exitCode: 0 });
    expect(sent()).toEqual({ metadata: { user: 'mira', password: 'from-env' } });
    const unset = await cli.run(['connect', 'mail', '--set-env', 'password=NOWHERE']);
    expect([unset.exitCode, unset.stderr]).toEqual([2, expect.stringContaining('the variable NOWHERE is not set')]);
  });
});

describe('encryption rotate', () => {
  const report = { keyId: 'abcdefghijkl', resealed: 3, discarded: 0 };

  test('says what was done, and what to do', async () => {
    const rotations: unknown[] = [];
    const rotateKeys = async (_: unknown, discard: boolean) => {
      rotations.push(discard);
      return { ...report, discarded: discard ? 2 : 0 };
    };
    const own = await cli.run(['encryption', 'rotate'], { rotateKeys, env: {} });
    expect(own).toMatchObject({
      exitCode: 0,
      stdout: '3 secrets are encrypted with the key abcdefghijkl now.\nThe key before it is needed no more.\n',
    });
    const env = { MEMORYD_ENCRYPTION_KEY: newEncryptionKey() };
    const configured = await cli.run(['encryption', 'rotate', '--discard-unreadable'], { rotateKeys, env });
    expect(configured.stdout).toContain('2 could not be read and were erased');
    expect(configured.stdout).toContain('Remove encryptionKeyPrevious');
    const json = await cli.run(['encryption', 'rotate', '--json'], { rotateKeys, env });
    expect(JSON.parse(json.stdout)).toEqual(report);
    expect(rotations).toEqual([false, true, false]);
  });

  test('does not take the key of a daemon that runs', async () => {
    const file = { url: 'http://127.0.0.1:1', pid: process.pid, token: 'x', startedAt: '2026-03-01T09:00:00.000Z' };
    writeFileSync(join(cli.folder, 'daemon.json'), JSON.stringify(file));
    const result = await cli.run(['encryption', 'rotate', '--data-dir', cli.folder], { env: {} });
    expect([result.exitCode, result.stderr]).toEqual([1, expect.stringContaining('A daemon runs')]);
  });
});
