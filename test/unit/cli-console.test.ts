import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openBrowser } from '../../src/cli/open-browser.ts';
import { useCliFixture } from '../support/cli-fixture.ts';
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
  test('opens the link in the browser, and does not print it', async () => {
    const opened: string[] = [];
    const openBrowser = async (address: string) => opened.push(address) > 0;
    const result = await cli.run(['open'], { openBrowser });
    expect(result).toEqual({ exitCode: 0, stdout: '', stderr: 'The console opens in your browser.\n' });
    expect(opened).toEqual([url]);
  });

  test('prints the link where there is no browser', async () => {
    const result = await cli.run(['open'], { openBrowser: async () => false });
    expect(result).toMatchObject({ exitCode: 0, stdout: `${url}\n`, stderr: expect.stringContaining('No browser') });
  });
});

describe('the browser', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'memoryd-browser-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const env = (more: object = { DISPLAY: ':0' }) => ({ PATH: `${folder}:/bin:/usr/bin`, ...more });
  function install(script: string): void {
    writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'xdg-open'), 0o755);
  }
  const open = (more?: object, clock = systemClock) => openBrowser(url, { env: env(more), clock, platform: 'linux' });

  test('gets the address as one word', async () => {
    install(`printf '%s' "$#:$1" > ${folder}/seen`);
    expect(await open()).toBe(true);
    expect(readFileSync(join(folder, 'seen'), 'utf8')).toBe(`1:${url}`);
  });

  test('is none on a machine without a screen, and when its program fails or is missing', async () => {
    install('exit 3');
    expect(await open({})).toBe(false);
    expect(await open()).toBe(false);
    expect(await openBrowser(url, { env: { PATH: folder }, clock: systemClock, platform: 'darwin' })).toBe(false);
  });

  test('may go on running', async () => {
    const file = join(folder, 'pid');
    install(`echo $$ > ${file}.new && mv ${file}.new ${file} && exec sleep 60`);
    expect(await open({ DISPLAY: ':0' }, createJumpingClock())).toBe(true);
    await expect.poll(() => existsSync(file)).toBe(true);
    process.kill(Number(readFileSync(file, 'utf8')));
  });
});
