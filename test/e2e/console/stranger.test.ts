import { execFile, execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serveGithub } from '../../../fixtures/servers/github/github-server.ts';
import { createGithubSource } from '../../../fixtures/servers/github/github-source.ts';
import { createMemoryGit } from '../../../fixtures/servers/github/memory-git.ts';
import { account, dovecotBinary, startDovecot, type Dovecot } from '../../../fixtures/servers/imap/dovecot.ts';
import { describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { openMcpClient } from '../../support/mcp-client.ts';
import { describeWhen } from '../../support/services.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const launcher = join(import.meta.dirname, '../../../bin/memoryd.js');
const run = promisify(execFile);

interface Address {
  url: string;
  headers: Record<string, string>;
}

const overHttp = ({ url, headers }: Address) =>
  new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });

/** How each assistant reads what was copied for it; the one that starts a command has a test of its own. */
const assistants: Readonly<Record<string, (copied: string) => Transport>> = {
  'Claude Code': (copied) => {
    // A shell takes it apart, as the terminal does.
    const script = `claude() { printf '%s\\n' "$@"; }; ${copied}`;
    const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trimEnd().split('\n');
    const [address, ...rest] = words.slice(words.indexOf('memoryd') + 1);
    expect([words.slice(0, -rest.length - 1), rest[0]]).toEqual([
      ['mcp', 'add', '--transport', 'http', 'memoryd'],
      '--header',
    ]);
    const [name, value] = rest[1]!.split(': ');
    return overHttp({ url: address!, headers: { [name!]: value! } });
  },
  Cursor: (copied) => overHttp((JSON.parse(copied) as { mcpServers: Record<string, Address> }).mcpServers['memoryd']!),
  'VS Code': (copied) => overHttp((JSON.parse(copied) as { servers: Record<string, Address> }).servers['memoryd']!),
};

const token = 'ghp_of-a-stranger';
const clock = { now: () => new Date() };

describeWhen(dovecotBinary, 'there is no Dovecot', 'a stranger who has only the page', (binary) =>
  describeWithBrowser('from an empty daemon to a cited answer', () => {
    const source = createGithubSource(clock, createMemoryGit);
    source.addRepository('acme/handbook').git.commit({ 'leave.md': '# Leave\n\nEverybody has 31 days of leave.\n' });
    let github: Awaited<ReturnType<typeof serveGithub>>;
    let dovecot: Dovecot;
    let folder: string;
    let page: Page;
    const stage = useConsole(async () => {
      github = await serveGithub({ source, clock, token });
      return { env: { MEMORYD_ALLOW_PRIVATE_URLS: 'true', MEMORYD_EMBEDDER_KIND: 'hashing' } };
    });
    beforeAll(async () => {
      folder = join(await temporaryFolder('memoryd-stranger-'), 'notes');
      await mkdir(folder);
      await writeFile(join(folder, 'kiln.md'), '# Kiln\n\nThe kiln is fired on Mondays at 1,240 degrees.\n');
      dovecot = await startDovecot(binary);
      const mail = ['From: Ines <ines@example.com>', 'Subject: Lunch', 'Message-ID: <lunch@example.com>', ''];
      const writer = await dovecot.writer();
      await writer.append('INBOX', [...mail, 'Lunch with the auditors is at the Heron on Friday.'].join('\r\n'));
      page = await stage.open();
      page.setDefaultTimeout(60_000);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    });
    afterAll(async () => {
      source.close();
      await github?.close();
      await dovecot?.close();
      if (folder) await rm(join(folder, '..'), { recursive: true, force: true });
    });

    /** Comes to the form of a source by the links of the page. */
    const choose = async (name: RegExp) => {
      await page.getByRole('navigation').getByRole('link', { name: 'Sources', exact: true }).click();
      await page.getByRole('region', { name: 'What can be connected' }).getByRole('link', { name }).click();
    };
    const connect = async (item: string) => {
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      await page.getByText('Up to date').waitFor();
      await page.getByRole('list', { name: 'Items' }).getByText(item).waitFor();
    };

    it('opens it by a link that signs in', async () => {
      const command = [launcher, 'console', '--data-dir', stage.daemon.dataDir];
      const { stdout } = await run(process.execPath, command, { env: { PATH: process.env['PATH'] } });
      await page.goto(/http\S+/.exec(stdout)![0]);
      await page.getByText('Nothing is remembered yet').waitFor();
    });

    it('mirrors a folder', async () => {
      await choose(/^Folder/);
      await page.getByLabel(/^Folder/).fill(folder);
      await connect('kiln.md');
    });

    it('mirrors a mailbox', async () => {
      await choose(/^Mail \(IMAP\)/);
      await page.getByLabel(/^Server/).fill('127.0.0.1');
      await page.getByLabel(/^User/).fill(account.user);
      await page.getByRole('textbox', { name: /^Password/ }).fill(account.password);
      await page.getByText('More settings').click();
      await page.getByLabel('Port').fill(String(dovecot.port));
      await page.getByLabel('TLS from the start').uncheck();
      await page.getByLabel('Require STARTTLS').uncheck();
      await connect('Lunch');
    });

    it('mirrors a repository of GitHub with a token', async () => {
      await choose(/^GitHub/);
      await page.getByLabel(/^Token/).fill(token);
      await page.getByLabel('Repositories').fill('acme/handbook');
      await page.getByText('More settings').click();
      await page.getByLabel('API address').fill(github.apiUrl);
      await page.getByLabel('Web address').fill(github.url);
      await connect('leave.md');
    });

    it('makes a key for an assistant', async () => {
      await page.getByRole('navigation').getByRole('link', { name: 'Connect an assistant' }).click();
      await page.getByRole('button', { name: 'Make a key' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      await page.getByText('The key is in the blocks below').waitFor();
    });

    it.each(Object.entries(assistants))(
      'gives %s a block that, copied as it is, lets it answer from all three and say where from',
      async (name, connectionOf) => {
        await page.evaluate(`navigator.clipboard.writeText('')`);
        await page.getByRole('button', { name: `Copy for ${name}` }).click();
        const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
        await expect.poll(clipboard, within).not.toBe('');
        const mcp = await openMcpClient(connectionOf(await clipboard()));
        try {
          for (const [query, said, title, path] of [
            ['when is the kiln fired', 'on Mondays', 'Kiln', 'kiln.md'],
            ['where is lunch with the auditors', 'at the Heron', 'Lunch', 'INBOX'],
            ['how many days of leave', '31 days', 'Leave', 'leave.md'],
          ] as const) {
            const answer = async () => (await mcp.tool('search_memory', { query })).text;
            await expect.poll(answer, within).toContain(said);
            expect(await answer()).toContain(`title: ${title}\npath: ${path}\n`);
          }
        } finally {
          await mcp.close();
        }
      },
    );
  }),
);
