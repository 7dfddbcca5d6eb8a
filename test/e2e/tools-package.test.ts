/* oxlint-disable typescript/no-deprecated -- the tools read `containerTags` of documents */
import { addMemoryTool, getProfileTool, memoryForgetTool, searchMemoriesTool } from '@supermemory/tools/ai-sdk';
import { createClaudeMemoryTool, type ClaudeMemoryTool } from '@supermemory/tools/claude-memory';
import Supermemory from 'supermemory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';

const apiKey = 'key of the test';
const callOptions = { toolCallId: 'call', messages: [] };

let daemon: Daemon;
/** One that takes writes with several tags, which the memory tool of Claude sends. */
let lenient: Daemon;
let client: Supermemory;
let config: { baseUrl: string; containerTags: string[] };
beforeAll(async () => {
  const env = { MEMORYD_API_KEY: apiKey, MEMORYD_EMBEDDER_KIND: 'hashing' };
  [daemon, lenient] = await Promise.all([
    startDaemon({ env }),
    startDaemon({ env: { ...env, COMPAT: 'plural-tags' } }),
  ]);
  client = clientOf(daemon);
  config = { baseUrl: daemon.url, containerTags: ['user_mira'] };
});
afterAll(() => Promise.all([daemon.stop(), lenient.stop()]));

const clientOf = ({ url }: Daemon) => new Supermemory({ baseURL: url, apiKey, maxRetries: 0 });

async function settled(of = client): Promise<void> {
  await expect.poll(async () => (await of.documents.listProcessing()).totalCount, { timeout: 30_000 }).toBe(0);
}

describe('the tools for agents', () => {
  /** What an agent gets when it calls a tool. */
  async function use(tool: { execute?: unknown }, input: object): Promise<any> {
    return (tool.execute as (given: object, options: object) => Promise<unknown>)(input, callOptions);
  }

  it('add', async () => {
    const added = await use(addMemoryTool(apiKey, config), { memory: 'Mira prefers short written updates.' });
    expect(added).toMatchObject({ success: true, memory: { id: expect.any(String), status: 'queued' } });
    await settled();
    expect((await client.documents.get(added.memory.id)).containerTags).toEqual(['user_mira']);
    const { memories } = await client.post<{ memories: object[] }>('/v4/memories', {
      body: { containerTag: 'user_mira', memories: [{ content: 'Mira lives in Porto.', isStatic: true }] },
    });
    expect(memories).toHaveLength(1);
  });

  it('search', async () => {
    const answer = await use(searchMemoriesTool(apiKey, config), {
      informationToGet: 'short written updates',
      limit: 5,
    });
    expect(answer).toMatchObject({ success: true, count: answer.results.length });
    expect(answer.results.map((one: any) => one.chunk ?? one.memory)).toContain('Mira prefers short written updates.');
  });

  it('profile, with and without a question', async () => {
    const plain = await use(getProfileTool(apiKey, config), {});
    expect(plain.profile.static).toContain('Mira lives in Porto.');
    const asked = await use(getProfileTool(apiKey, config), { query: 'Mira lives in Porto' });
    expect(asked.searchResults.results.map((one: any) => one.memory)).toContain('Mira lives in Porto.');
  });

  it('forget', async () => {
    const forget = memoryForgetTool(apiKey, config);
    expect(await use(forget, { memoryContent: 'Mira lives in Porto.', reason: 'moved' })).toMatchObject({
      success: true,
    });
    expect((await use(getProfileTool(apiKey, config), {})).profile.static).not.toContain('Mira lives in Porto.');
    expect(await use(forget, { memoryContent: 'Never said.' })).toMatchObject({ success: false });
  });
});

describe.each([
  ['a container', { containerTags: ['user_claude'] }],
  ['a project', { projectId: 'claude' }],
  ['several containers', { containerTags: ['user_claude_a', 'team_claude'] }],
])('the memory tool of Claude in %s', (_, scope) => {
  let tool: ClaudeMemoryTool;
  beforeAll(() => {
    tool = createClaudeMemoryTool(apiKey, { baseUrl: lenient.url, ...scope });
  });

  it('writes, reads, changes, renames and deletes files', async () => {
    const path = '/memories/notes/plan.txt';
    const run = (command: object) => tool.handleCommand({ path, ...command } as never);
    const text = async () => (await run({ command: 'view' })).content;
    expect(await run({ command: 'create', file_text: 'first\nsecond' })).toMatchObject({ success: true });
    expect(await text()).toBe('   1\tfirst\n   2\tsecond');
    expect(await run({ command: 'str_replace', old_str: 'second', new_str: 'third' })).toMatchObject({ success: true });
    expect(await run({ command: 'insert', insert_line: 2, insert_text: 'between' })).toMatchObject({ success: true });
    expect(await text()).toBe('   1\tfirst\n   2\tbetween\n   3\tthird');
    await settled(clientOf(lenient));
    expect(await run({ command: 'view', view_range: [2, 2] })).toMatchObject({ content: '   2\tbetween' });
    expect(await run({ command: 'view', path: '/memories/' })).toEqual({
      success: true,
      content: 'Directory: /memories/\n- notes/',
    });
    const new_path = '/memories/notes/final.txt';
    expect(await run({ command: 'rename', new_path })).toMatchObject({ success: true });
    expect(await run({ command: 'view' })).toMatchObject({ success: false });
    expect(await run({ command: 'view', path: new_path, view_range: [3, 3] })).toMatchObject({
      content: '   3\tthird',
    });
    await settled(clientOf(lenient));
    expect(await run({ command: 'delete', path: new_path })).toMatchObject({ success: true });
    expect(await run({ command: 'view', path: '/memories/' })).toMatchObject({
      content: 'Directory: /memories/\n(empty)',
    });
    expect(await tool.handleCommandForToolResult({ command: 'view', path: '/etc/passwd' }, 'use')).toMatchObject({
      is_error: true,
    });
  });
});
