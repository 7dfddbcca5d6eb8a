import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';

describe('conversations', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const send = (body: object, key?: string) => test.call('POST', '/v4/conversations', body, key);
  const say = (...texts: string[]) => texts.map((content) => ({ role: 'user', content }));
  const read = async (id: string) => (await test.call('GET', `/v3/documents/${id}`)).body;

  it('become one document that grows', async () => {
    const first = await send({
      conversationId: 'support-4821',
      containerTag: 'user_mira',
      messages: [
        { role: 'user', content: 'Can we move the review to Thursday?' },
        { role: 'assistant', content: [{ type: 'text', text: 'Done. I moved it to Thursday 10:00.' }] },
      ],
      metadata: { channel: 'support' },
      entityContext: 'Product lead',
    });
    expect(first).toMatchObject({ status: 200, body: { conversationId: 'support-4821', status: 'queued' } });
    expect(Object.keys(first.body).sort()).toEqual(['conversationId', 'id', 'status']);
    await test.process();
    const { id } = first.body;
    expect(await read(id)).toMatchObject({
      customId: 'support-4821',
      source: 'conversation',
      type: 'text',
      status: 'done',
      metadata: { channel: 'support' },
      content: 'user: Can we move the review to Thursday?\n\nassistant: Done. I moved it to Thursday 10:00.',
    });
    expect((await test.call('GET', '/v3/container-tags/user_mira')).body.entityContext).toBe('Product lead');

    const again = await send({
      conversationId: 'support-4821',
      containerTag: 'user_mira',
      messages: say('Can we move the review to Thursday?'),
    });
    expect(again.body).toEqual({ id, conversationId: 'support-4821', status: 'done' });

    const more = await send({ conversationId: 'support-4821', containerTags: ['user_mira'], messages: say('Thanks!') });
    expect(more.body).toEqual({ id, conversationId: 'support-4821', status: 'queued' });
    await test.process();
    expect((await read(id)).content).toMatch(/10:00\.\n\nuser: Thanks!$/);
    expect((await read(id)).metadata).toEqual({ channel: 'support' });
  });

  it('are one for each container, and keep pictures and calls of tools out of the text', async () => {
    const body = {
      conversationId: 'same',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: 'https://x/1' } },
          ],
        },
        { role: 'assistant', content: '', tool_calls: [{ id: '1', function: { name: 'f' } }] },
        { role: 'tool', content: 'ok', tool_call_id: '1' },
      ],
    };
    const left = await send({ ...body, containerTag: 'left' });
    const right = await send({ ...body, containerTag: 'right' });
    expect(left.body.id).not.toBe(right.body.id);
    expect((await read(left.body.id)).raw).toBe('user: Look\n\ntool: ok');
  });

  it('that two send at once lose no turn', async () => {
    const texts = ['one', 'two', 'three', 'four'];
    const answers = await Promise.all(
      texts.map((text) => send({ conversationId: 'busy', containerTag: 'busy', messages: say(text) })),
    );
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    const { raw } = await read(answers[0]!.body.id);
    for (const text of texts) expect(raw).toContain(`user: ${text}`);
  });

  it('that are wrong are refused with their place', async () => {
    const good = { conversationId: 'c', containerTag: 'bad', messages: say('x') };
    for (const [change, path] of [
      [{ conversationId: '' }, ['conversationId']],
      [{ messages: [] }, ['messages']],
      [{ messages: [{ role: 'robot', content: 'x' }] }, ['messages', 0, 'role']],
      [{ messages: [{ role: 'user' }] }, ['messages', 0, 'content']],
      [{ messages: [{ role: 'user', content: [{ type: 'sound' }] }] }, ['messages', 0, 'content']],
      [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, ['messages', 0, 'content']],
      [{ messages: [{ role: 'user', content: [{ type: 'image_url', text: 'x' }] }] }, ['messages', 0, 'content']],
      [{ containerTag: undefined, containerTags: ['a b'] }, ['containerTags', 0]],
    ] as const) {
      const { status, body } = await send({ ...good, ...change });
      expect([status, body.error?.[0]?.path], JSON.stringify(change)).toEqual([400, path]);
    }
    expect((await send({ ...good, containerTag: undefined, containerTags: ['a', 'b'] })).body.error).toMatch(
      /exactly one/,
    );
    const long = await send({ ...good, messages: say('x'.repeat(600_000), 'y'.repeat(600_000)) });
    expect(long.status).toBe(413);
    const reader = await test.newKey({ containerTags: ['bad'], permission: 'read' });
    expect((await send(good, reader)).status).toBe(403);
    expect((await send(good, await test.newKey({ containerTags: ['other'] }))).status).toBe(403);
  });
});
