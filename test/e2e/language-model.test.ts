import Supermemory from 'supermemory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { json, startLanguageModelServer, turnsIn, type LanguageModelServer } from '../support/language-model-server.ts';
import { call } from '../support/memory-of.ts';

const apiKey = 'key of the test';
const modelKey = 'sk-canary-4713';
const containerTag = 'user_mira';

describe('a daemon with a language model', () => {
  let server: LanguageModelServer;
  let daemon: Daemon;
  let client: Supermemory;
  beforeAll(async () => {
    server = await startLanguageModelServer();
    server.answer('decisions', json({ decisions: [] }));
    server.answer('summary', json({ title: 'A harbour walk', summary: 'Mira walks along the harbour.' }));
    server.answer('facts', (request) => {
      const turn = turnsIn(request).find(({ text }) => text.includes('kayak'));
      const fact = {
        ...{ text: 'The user keeps a red kayak at the harbour.', subject: 'the user', category: 'fact' },
        ...{ slot: null, value: null, ends: false, lasting: true, inferred: false, dates: [], expires: null },
      };
      return json({ facts: turn ? [{ ...fact, turns: [turn.turn] }] : [] }, 700);
    });
    daemon = await startDaemon({
      env: {
        ...{ MEMORYD_API_KEY: apiKey, MEMORYD_EMBEDDER_KIND: 'hashing', MEMORYD_METRICS: 'true' },
        ...{ MEMORYD_LLM_URL: server.baseUrl, MEMORYD_LLM_MODEL: 'small', MEMORYD_LLM_API_KEY: modelKey },
        ...{ MEMORYD_DREAMING_QUIET_MS: '0', MEMORYD_LOG_LEVEL: 'debug' },
      },
    });
    client = new Supermemory({ baseURL: `${daemon.url}/`, apiKey, maxRetries: 0 });
  });
  afterAll(async () => {
    await daemon.stop();
    await server.close();
  });

  it('remembers what the model finds in a conversation, and names it', async () => {
    await call(daemon, 'POST', '/v4/conversations', {
      conversationId: 'c1',
      containerTags: [containerTag],
      messages: [
        { role: 'user', content: 'Red is the colour of my kayak, which waits at the harbour for me.' },
        { role: 'assistant', content: 'How nice!' },
      ],
    });
    const search = async () => {
      const { results } = await client.search({
        q: 'What does the user keep at the harbour?',
        containerTag,
        searchMode: 'memories',
        threshold: 0.1,
      });
      return results.map((one) => ({ memory: one.memory, extractor: (one as { extractor?: unknown }).extractor }));
    };
    await expect.poll(search, { timeout: 30_000 }).toContainEqual({
      memory: 'The user keeps a red kayak at the harbour.',
      extractor: 'llm:openai-compatible:small',
    });
  });

  it('gives documents titles and summaries after they are searchable', async () => {
    const content = 'We walked along the harbour in the evening and looked at the boats. '.repeat(8);
    const { id } = await client.add({ content, containerTag });
    await expect
      .poll(async () => (await client.documents.get(id)).summary, { timeout: 30_000 })
      .toBe('Mira walks along the harbour.');
    expect((await client.documents.get(id)).title).toBe('A harbour walk');
  });

  it('shows what it costs, and never the key', async () => {
    const status = await call<{ languageModel: { tokensToday: number } }>(daemon, 'GET', '/v3/status');
    expect(status.languageModel).toMatchObject({ id: 'openai-compatible:small', state: 'ready', malformed: 0 });
    expect(status.languageModel.tokensToday).toBeGreaterThanOrEqual(700);
    const metrics = await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(await metrics.text()).toMatch(/memoryd_llm_questions_total\{outcome="answers"\} [1-9]/);
    server.answer('facts', { error: { message: `no such key ${modelKey}` }, status: 401 });
    const { id } = await client.add({ content: 'Mira lives in Porto.', containerTag });
    await expect.poll(async () => (await client.documents.get(id)).status, { timeout: 30_000 }).toBe('done');
    await expect
      .poll(async () => (await call<typeof status>(daemon, 'GET', '/v3/status')).languageModel, { timeout: 30_000 })
      .toMatchObject({ failed: 1, state: 'failing' });
    await expect.poll(() => daemon.output(), { timeout: 10_000 }).toContain('refused the API key');
    expect(daemon.output()).not.toContain(modelKey);
  });
});
