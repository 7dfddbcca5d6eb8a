import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { openMcpClient } from '../../support/mcp-client.ts';
import { call } from '../../support/memory-of.ts';

interface Block {
  mcpServers: { memoryd: { command: string; args: string[]; env: Record<string, string> } };
}

describeWithBrowser('an assistant that is connected by the console in a browser', () => {
  const stage = useConsole(() => ({ env: { MEMORYD_EMBEDDER_KIND: 'hashing' } }));

  it('starts the command of its block as it stands, on this machine', async () => {
    const page = await stage.openSignedIn();
    await stage.show(page, 'connect', 'Connect an assistant');
    await page.getByText('starts this command on this machine').waitFor();
    const text = page.getByRole('region', { name: /Claude Desktop/ }).locator('pre');
    const block = async () => JSON.parse((await text.textContent())!) as Block;
    expect((await block()).mcpServers.memoryd.env).toEqual({ MEMORYD_API_KEY: 'YOUR_KEY' });
    await page.getByRole('button', { name: 'Make a key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await expect.poll(async () => (await block()).mcpServers.memoryd.env['MEMORYD_API_KEY'], within).toMatch(/^sm_/);

    const added = { content: 'The kiln is fired on Mondays.' };
    await call(stage.daemon, 'POST', '/v3/documents', added);
    const { command, args, env } = (await block()).mcpServers.memoryd;
    // As Claude Desktop does it: from a folder of its own, without the path of a shell.
    const assistant = await openMcpClient(new StdioClientTransport({ command, args, env, cwd: '/' }));
    try {
      const answer = async () => (await assistant.tool('search_memory', { query: 'when is the kiln fired' })).text;
      await expect.poll(answer, within).toContain('Mondays');
    } finally {
      await assistant.close();
    }
    await page.context().close();
  });
});
