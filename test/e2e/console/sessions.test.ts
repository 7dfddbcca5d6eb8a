import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { signIn, useConsole, within } from '../../support/console-page.ts';
import { startDaemon } from '../../support/daemon.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const launcher = join(import.meta.dirname, '../../../bin/memoryd.js');

describeWithBrowser('sessions of the console in a browser', () => {
  const stage = useConsole();

  it('of two daemons on one host do not end each other', async () => {
    const other = await startDaemon();
    try {
      const page = await stage.openSignedIn();
      const neighbour = await page.context().newPage();
      await signIn(neighbour, other.url, other.key);
      for (const each of [page, neighbour]) {
        await each.reload();
        await each.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      }
      await neighbour.getByRole('button', { name: 'Sign out', exact: true }).click();
      await neighbour.getByLabel('API key').waitFor();
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      await page.context().close();
    } finally {
      await other.stop();
    }
  });

  it('of one key end everywhere at once', async () => {
    const body = { containerTag: 'sm_project_default', name: 'laptop' };
    const { key } = await call(stage.daemon, 'POST', '/v3/auth/scoped-key', body);
    const [here, there, other] = [await stage.open(), await stage.open(), await stage.openSignedIn()];
    for (const page of [here, there]) await signIn(page, stage.daemon.url, key);
    await here.getByRole('button', { name: 'Sign out everywhere' }).click();
    const dialog = here.getByRole('dialog');
    await dialog.getByText('Every browser that is signed in with the same key').waitFor();
    await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
    await here.getByLabel('API key').waitFor();
    expect(await here.getByText('Your session ended.').count()).toBe(0);
    await there.reload();
    await there.getByText('Your session ended.').waitFor();
    await other.reload();
    await other.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    for (const page of [here, there, other]) await page.context().close();
  });

  it('begin by `memoryd open`, whose link stands in no list of processes', async () => {
    const folder = await temporaryFolder('memoryd-open-test-');
    const program = join(folder, 'xdg-open');
    await writeFile(program, `#!/bin/sh\nprintf '%s' "$*" > ${folder}/words\n`);
    await chmod(program, 0o755);
    const env = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder, DISPLAY: ':0' };
    const parameters = [launcher, 'open', '--data-dir', stage.daemon.dataDir];
    const command: ChildProcess = spawn(process.execPath, parameters, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    try {
      let said = '';
      command.stderr!.on('data', (part: Buffer) => (said += part.toString()));
      await expect.poll(() => said, within).toContain('The console opens in your browser.');
      const words = await readFile(join(folder, 'words'), 'utf8');
      expect(words).toMatch(/^file:\/\/\S+\.html$/);
      const page = await stage.open();
      await page.goto(words);
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      command.kill('SIGINT');
      await once(command, 'exit');
      expect(existsSync(fileURLToPath(words))).toBe(false);
      await page.context().close();
    } finally {
      command.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    }
  });
});
