import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openBrowser } from '../../src/cli/open-browser.ts';
import { useCliFixture } from '../support/cli-fixture.ts';
import { createTestClock } from '../support/clock.ts';
import { createJumpingClock } from '../support/command-line.ts';

const cli = useCliFixture();
const url = 'http://127.0.0.1:6767/#/sign-in/token';
beforeEach(() => cli.api.on('POST /console/links', () => ({ url, expiresAt: '2026-03-01T09:05:00.000Z' })));

describe('console', () => {
  test('prints a link and nothing else', async () => {
    expect(await cli.run(['console'])).toEqual({ exitCode: 0, stdout: `${url}\n`, stderr: '' });
    expect(JSON.parse((await cli.run(['console', '--json'])).stdout)).toMatchObject({ url });
  });
});

describe('open', () => {
  test('opens the link in the browser, does not print it, and ends when the browser has read it', async () => {
    const opened: string[] = [];
    let hasWaited = false;
    const openBrowser = async (address: string) => {
      opened.push(address);
      return { hasRead: Promise.resolve().then(() => void (hasWaited = true)) };
    };
    const stderr = 'The console opens in your browser. If it does not, `memoryd console` prints a link.\n';
    expect(await cli.run(['open'], { openBrowser })).toEqual({ exitCode: 0, stdout: '', stderr });
    expect([opened, hasWaited]).toEqual([[url], true]);
  });

  test('prints the link where there is no browser', async () => {
    const result = await cli.run(['open'], { openBrowser: async () => null });
    expect(result).toMatchObject({ exitCode: 0, stdout: `${url}\n`, stderr: expect.stringContaining('No browser') });
  });
});

describe('the browser', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'memoryd-browser-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const { signal } = new AbortController();
  const env = (more: object = { DISPLAY: ':0' }) => ({ PATH: `${folder}:/bin:/usr/bin`, HOME: folder, ...more });
  function install(script: string): void {
    writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'xdg-open'), 0o755);
  }
  const open = (more?: object, clock = systemClock) =>
    openBrowser(url, { env: env(more), clock, platform: 'linux', signal });
  const seen = (name: string) => readFileSync(join(folder, name), 'utf8');
  const left = () => readdirSync(folder).filter((name) => name.startsWith('memoryd-open-'));

  test('gets a file of this user alone that leads to the address, which no list of processes shows', async () => {
    const clock = createTestClock();
    install(`printf '%s' "$#:$1" > ${folder}/words`);
    const opened = await open({ DISPLAY: ':0' }, clock);
    expect(seen('words')).toMatch(/^1:file:\/\/.*\/memoryd-open-\w+\/open\.html$/);
    const file = fileURLToPath(seen('words').slice(2));
    expect([file, dirname(file)].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700]);
    expect(readFileSync(file, 'utf8')).toContain(`<meta http-equiv="refresh" content="0; url=${url}">`);
    expect(left()).toHaveLength(1);
    clock.advance(10_000);
    await opened!.hasRead;
    expect(left()).toEqual([]);
  });

  test('gets a file elsewhere where the home cannot be written', async () => {
    const clock = createTestClock();
    install(`printf '%s' "$1" > ${folder}/words`);
    const opened = await open({ DISPLAY: ':0', HOME: join(folder, 'nowhere') }, clock);
    const file = fileURLToPath(seen('words'));
    expect([dirname(dirname(file)), existsSync(file)]).toEqual([tmpdir(), true]);
    clock.advance(10_000);
    await opened!.hasRead;
    expect(existsSync(file)).toBe(false);
  });

  test('is none on a machine without a screen, and when its program fails or is missing', async () => {
    install('exit 3');
    expect(await open({})).toBeNull();
    expect(await open()).toBeNull();
    const elsewhere = { env: { PATH: folder }, clock: systemClock, platform: 'darwin', signal } as const;
    expect(await openBrowser(url, elsewhere)).toBeNull();
    expect(left()).toEqual([]);
  });

  test('may go on running', async () => {
    const file = join(folder, 'pid');
    install(`echo $$ > ${file}.new && mv ${file}.new ${file} && exec sleep 60`);
    expect(await open({ DISPLAY: ':0' }, createJumpingClock())).not.toBeNull();
    await expect.poll(() => existsSync(file)).toBe(true);
    process.kill(Number(readFileSync(file, 'utf8')));
  });
});
