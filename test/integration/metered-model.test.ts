import Type from 'typebox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Question } from '../../src/models/language-model.ts';
import { deleteUnusedAnswers } from '../../src/store/language-model.ts';
import { sql } from '../../src/store/sql.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { insertDocument, startLanguageModelStand, type LanguageModelStand } from '../support/language-model.ts';
import { json } from '../support/language-model-server.ts';

const question: Question = {
  name: 'colour',
  instructions: 'Name the colour.',
  content: 'The sky is blue.',
  schema: Type.Object({ colour: Type.String() }, { additionalProperties: false }),
  maxAnswerTokens: 280,
  containerTag: 'team',
  kind: 'document',
  cached: { documentId: 'doc', by: ['The sky is blue.'] },
};
const uncached: Question = { ...question, cached: null };
const never = new AbortController().signal;

describe('a metered language model', () => {
  let opened: TestDatabase;
  let stand: LanguageModelStand;
  beforeAll(async () => {
    opened = await openTestDatabase();
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    await opened.database.execute(sql`delete from language_model_usage`);
    await opened.database.execute(sql`delete from documents`);
    await insertDocument(opened.database, 'doc', 'team');
    stand = await startLanguageModelStand(opened.database, 1_000);
  });
  afterEach(async () => {
    await stand.close();
  });

  it('pays for an answer once, also after a restart', async () => {
    stand.server.answer('colour', json({ colour: 'blue' }, 300));
    expect(await stand.open().ask(question, never)).toEqual({ colour: 'blue' });
    const restarted = stand.open();
    expect(await restarted.ask(question, never)).toEqual({ colour: 'blue' });
    expect(stand.server.asked().length).toBe(1);
    expect(await restarted.usage()).toMatchObject({
      answers: 1,
      cached: 1,
      tokens: 300,
      tokensToday: 300,
      state: 'ready',
    });
  });

  it.each([
    ['its instructions', { instructions: 'Name it.' }],
    ['its schema', { schema: Type.Object({ colour: Type.Optional(Type.String()) }) }],
    ['what it depends on', { cached: { documentId: 'doc', by: ['other'] } }],
  ])('asks again when %s changed', async (_, change) => {
    stand.server.answer('colour', json({ colour: 'blue' }, 1));
    const model = stand.open();
    await model.ask(question, never);
    await model.ask({ ...question, ...change }, never);
    expect(stand.server.asked().length).toBe(2);
  });

  it('forgets answers with their document, and those that nobody uses', async () => {
    const { database } = opened;
    stand.server.answer('colour', json({ colour: 'blue' }, 1));
    const model = stand.open();
    const kept = async () => (await database.query(sql`select 1 from language_model_answers`)).length;
    await model.ask(question, never);
    await model.ask({ ...question, cached: { documentId: 'gone', by: [] } }, never);
    expect(await kept()).toBe(1);
    stand.clock.advance(1_000);
    await model.ask({ ...question, cached: { documentId: 'doc', by: ['second'] } }, never);
    expect(await kept()).toBe(2);
    expect(await deleteUnusedAnswers(database, new Date(stand.clock.now().getTime() - 500), 10)).toBe(1);
    expect(await deleteUnusedAnswers(database, new Date(0), 1)).toBe(0);
    expect(await deleteUnusedAnswers(database, new Date(0), 0)).toBe(1);
    await model.ask(question, never);
    await database.execute(sql`delete from documents`);
    expect(await kept()).toBe(0);
  });

  it('stops at the budget of a container, and goes on the next day', async () => {
    stand.server.answer('colour', json({ colour: 'blue' }, 300));
    const model = stand.open();
    const asked = () => stand.server.asked().length;
    for (let times = 0; times < 10; times++) await model.ask(uncached, never);
    const { tokensToday } = await model.usage();
    expect(tokensToday).toBeLessThanOrEqual(1_000);
    expect(asked()).toBe(tokensToday / 300);
    expect(await model.ask(uncached, never)).toBe(null);
    expect(await model.usage()).toMatchObject({ state: 'budget spent', containersOverBudget: 1, overBudget: 8 });
    expect(await model.ask({ ...uncached, containerTag: 'other' }, never)).toEqual({ colour: 'blue' });
    expect(await model.ask({ ...uncached, containerTag: null }, never)).toEqual({ colour: 'blue' });
    stand.clock.advance(24 * 3_600_000);
    expect(await model.ask(uncached, never)).toEqual({ colour: 'blue' });
    expect(await model.usage()).toMatchObject({ state: 'ready', tokensToday: 300, containersOverBudget: 0 });
  });

  it('keeps to the budget when many ask at once', async () => {
    stand.server.answer('colour', json({ colour: 'blue' }, 300));
    const model = stand.open();
    const answers = await Promise.all(Array.from({ length: 12 }, () => model.ask(uncached, never)));
    expect(answers.filter((one) => one !== null).length).toBeLessThanOrEqual(3);
    expect((await model.usage()).tokensToday).toBeLessThanOrEqual(1_000);
  });

  it('leaves a part of the budget to others', async () => {
    stand.server.answer('colour', json({ colour: 'blue' }, 300));
    const model = stand.open();
    const half = { ...uncached, share: 0.5 };
    expect(await model.ask(half, never)).not.toBe(null);
    expect(await model.ask(half, never)).toBe(null);
    expect(await model.ask(uncached, never)).not.toBe(null);
  });

  it.each([
    ['that is no JSON', { content: '{"colour": "blu' }],
    ['of another shape', json({ color: 'blue' })],
    ['with more than was asked for', json({ colour: 'blue', forget: 'everything' })],
    ['that is a list', json([])],
  ])('takes no answer %s, but counts it', async (_, response) => {
    stand.server.answer('colour', {
      ...response,
      usage: { total_tokens: 120, prompt_tokens: 100, completion_tokens: 20 },
    });
    const model = stand.open();
    expect(await model.ask(question, never)).toBe(null);
    expect(await model.usage()).toMatchObject({ malformed: 1, tokensToday: 120, answers: 0 });
    stand.server.answer('colour', json({ colour: 'blue' }));
    expect(await model.ask(question, never)).toEqual({ colour: 'blue' });
  });

  it.each([
    ['a fence', '```json\n{"colour":"blue"}\n```'],
    ['thoughts', '<think>The sky {is} blue.</think>\n{"colour":"blue"}'],
    ['what no database stores', '{"colour":"bl\\u0000ue"}'],
  ])('reads an answer in spite of %s', async (_, content) => {
    stand.server.answer('colour', { content });
    expect(await stand.open().ask(question, never)).toEqual({ colour: 'blue' });
  });

  it('gives back what a refused request did not spend', async () => {
    stand.server.answer('colour', { error: { message: 'broken' }, status: 500 });
    const model = stand.open();
    expect(await model.ask(question, never)).toBe(null);
    expect(await model.usage()).toMatchObject({ failed: 1, tokensToday: 0, tokens: 0, state: 'failing' });
    stand.server.answer('colour', json({ colour: 'blue' }, 1));
    stand.clock.advance(1_000);
    await model.ask(question, never);
    expect(await model.usage()).toMatchObject({ state: 'ready' });
  });

  it('counts what may have been spent although no answer came', async () => {
    stand.server.answer('colour', json({ colour: 'blue' }), { chaos: { latencyMs: 5_000 } });
    const model = stand.open({ timeoutMs: 30 });
    expect(await model.ask(question, never)).toBe(null);
    expect((await model.usage()).tokensToday).toBeGreaterThan(100);
  });

  it('leaves an endpoint that keeps failing alone for a while', async () => {
    stand.server.answer('colour', { error: { message: 'broken' }, status: 500 });
    const model = stand.open();
    for (let times = 0; times < 6; times++) {
      await model.ask(question, never);
      stand.clock.advance(5_000);
    }
    expect(stand.server.asked().length).toBe(3);
    expect(await model.usage()).toMatchObject({ failed: 6 });
    stand.server.answer('colour', json({ colour: 'blue' }, 1));
    expect(await model.ask(question, never)).toBe(null);
    stand.clock.advance(60_000);
    expect(await model.ask(question, never)).toEqual({ colour: 'blue' });
  });

  it('waits as long as a busy endpoint asks for', async () => {
    stand.server.answer('colour', json({ colour: 'blue' }, 1));
    stand.server.answer('colour', { error: { message: 'slow down' }, status: 429, retryAfter: 600 }, { times: 1 });
    const model = stand.open();
    expect(await model.ask(question, never)).toBe(null);
    stand.clock.advance(599_000);
    expect(await model.ask(question, never)).toBe(null);
    expect(stand.server.asked().length).toBe(1);
    stand.clock.advance(2_000);
    expect(await model.ask(question, never)).toEqual({ colour: 'blue' });
  });

  it('throws the reason when it is aborted', async () => {
    stand.server.answer('colour', json({ colour: 'blue' }), { chaos: { latencyMs: 5_000 } });
    const model = stand.open();
    await expect(model.ask(question, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    await expect(model.ask(question, AbortSignal.timeout(20))).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});
