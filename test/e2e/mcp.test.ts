import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { openMcpClient, openMcpOverHttp, type McpClient } from '../support/mcp-client.ts';

const launcher = join(import.meta.dirname, '../../bin/memoryd.js');
const env = { MEMORYD_EMBEDDER_KIND: 'hashing' };

let dataDir: string;
let daemon: Daemon;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'memoryd-mcp-'));
  daemon = await startDaemon({ dataDir, env });
});
afterAll(async () => {
  await daemon.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const openStdio = () =>
  openMcpClient(
    new StdioClientTransport({
      command: process.execPath,
      args: [launcher, 'mcp', '--data-dir', dataDir],
      env: { PATH: process.env['PATH'] ?? '' },
    }),
  );

/** What every client sees, whichever way it comes. */
async function tour(mcp: McpClient, containerTag: string): Promise<void> {
  const { tools } = await mcp.client.listTools();
  expect(tools.map(({ name }) => name)).toContain('search_memory');
  const saved = await mcp.tool('add_memory', { content: 'The heron nests behind the mill.', containerTag });
  expect(saved).toMatchObject({ isError: false, structured: { success: true, containerTag } });
  const documentId: string = saved.structured.id;
  const status = async () => (await mcp.tool('getDocument', { documentId })).structured.document.status;
  await expect.poll(status, { timeout: 60_000 }).toBe('done');
  const { structured } = await mcp.tool('search_memory', { query: 'where does the heron nest', containerTag });
  expect(structured.results[0]).toMatchObject({ text: expect.stringContaining('behind the mill') });
  expect((await mcp.tool('listDocuments', { containerTag })).structured.pagination.totalItems).toBe(1);
  expect((await mcp.tool('listMemories', { containerTag })).structured.pagination).toMatchObject({ currentPage: 1 });
  const spaces = (await mcp.tool('listSpaces')).structured.spaces.map((space: any) => space.containerTag);
  expect(spaces).toContain(containerTag);
  expect((await mcp.tool('whoAmI')).structured).toMatchObject({ accessType: 'full', assignedSpaces: null });
  expect((await mcp.tool('listConnections')).structured.count).toBe(0);
  expect((await mcp.tool('syncConnection', { connectionId: 'none' })).isError).toBe(true);
  expect((await mcp.client.listResources()).resources).toHaveLength(2);
  expect((await mcp.client.getPrompt({ name: 'context' })).messages).toHaveLength(1);
}

describe('the model context protocol', () => {
  it('serves the official client over HTTP', async () => {
    const mcp = await openMcpOverHttp(daemon.url, daemon.key);
    await tour(mcp, 'over_http');
    await mcp.close();
  });

  it('serves it over stdio, also when the daemon was started anew meanwhile', async () => {
    const mcp = await openStdio();
    await tour(mcp, 'over_stdio');
    await daemon.stop();
    await expect(mcp.tool('whoAmI')).rejects.toThrow('No daemon runs with the data directory');
    // Another port and another key of the data directory.
    daemon = await startDaemon({ dataDir, env });
    expect((await mcp.tool('listDocuments', { containerTag: 'over_stdio' })).structured.documents).toHaveLength(1);
    await mcp.close();
  });
});

interface Ended {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `memoryd mcp`, gives it the input, and closes that. */
function runMcp(args: string[], input: string, variables: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [launcher, 'mcp', ...args], {
    env: { PATH: process.env['PATH'], FORCE_COLOR: '1', ...variables },
  });
  const ended: Ended = { exitCode: null, stdout: '', stderr: '' };
  child.stdout.on('data', (part: Buffer) => (ended.stdout += part.toString()));
  child.stderr.on('data', (part: Buffer) => (ended.stderr += part.toString()));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return new Promise((resolve) => child.on('close', (exitCode) => resolve({ ...ended, exitCode })));
}

describe('memoryd mcp', () => {
  const lines = (...messages: object[]) =>
    messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');

  it('writes one answer for each request and nothing else, and ends with its input', async () => {
    const clientInfo = { name: 'raw', version: '1' };
    const input =
      lines(
        { id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } },
        { method: 'notifications/initialized' },
        { id: 'two', method: 'tools/list' },
        { id: 3, method: 'tools/call', params: { name: 'whoAmI' } },
        { id: 4, method: 'no/such' },
      ) + 'this is no message\n';
    const { exitCode, stdout, stderr } = await runMcp(['--data-dir', dataDir], input);
    expect(exitCode).toBe(0);
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([0, 'two', 3, 4]));
    expect(answers).toHaveLength(4);
    const of = (id: unknown) => answers.find((answer) => answer.id === id);
    expect(of(0).result).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'memoryd' } });
    expect(of('two').result.tools).toHaveLength(11);
    expect(of(4).error.code).toBe(-32601);
    expect(stderr).toContain('memoryd mcp:');
  });

  it('explains on the other stream why it cannot serve', async () => {
    const nowhere = await runMcp(['--data-dir', join(dataDir, 'nowhere')], '');
    expect(nowhere).toMatchObject({ exitCode: 3, stdout: '', stderr: expect.stringContaining('No daemon runs') });
    const refused = await runMcp(['--url', daemon.url], '', { MEMORYD_API_KEY: 'wrong' });
    expect(refused).toMatchObject({ exitCode: 4, stdout: '', stderr: expect.stringContaining('refused the key') });
  });
});
