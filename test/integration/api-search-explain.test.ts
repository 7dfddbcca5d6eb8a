import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explained, type Trace } from '../../src/search/explain.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

describe('why a search does not show a document', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
    await test.call('POST', '/v3/documents/batch', {
      containerTag: 'team',
      documents: [
        { content: 'The harbour crane lifts containers at dawn.', customId: 'crane', metadata: { kind: 'port' } },
        { content: 'The bakery sells bread at dawn.', customId: 'bakery', filepath: '/food/bread' },
        { content: 'A lighthouse keeper writes letters.', customId: 'keeper' },
        { content: 'The harbour crane was painted yellow.', customId: 'paint', containerTag: 'other' },
      ],
    });
    await test.process();
    await test.call('POST', '/v3/documents', { content: 'The crane is new.', customId: 'new', containerTag: 'team' });
  });
  afterAll(() => test.close());

  const ask = async (body: object, key?: string) => {
    const asked = { q: 'harbour crane', searchMode: 'documents', threshold: 0, containerTag: 'team', ...body };
    const answer = await test.call('POST', '/v4/search', asked, key);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  const explain = async (documentId: string, body: object = {}, key?: string) =>
    (await ask({ ...body, explain: { documentId } }, key)).explanation;

  it('gives the scores of words and vectors apart, to who asks for them', async () => {
    const { results } = await ask({ include: { scores: true } });
    const scores = Object.fromEntries(
      results.map(({ chunk, scores }: { chunk: string; scores: object }) => [chunk.split(' ')[1], scores]),
    );
    expect(scores['harbour'].words).toBe(1);
    expect(scores['harbour'].vectors).toBeGreaterThan(scores['lighthouse'].vectors);
    expect(scores['lighthouse'].words).toBe(0);
    expect(scores['bakery'].words).toBe(0);
    const plain = await ask({});
    expect(plain.results[0]).not.toHaveProperty('scores');
    expect(plain).not.toHaveProperty('explanation');
  });

  it('says at which place it stands, and what is before it', async () => {
    const shown = await explain('crane', { limit: 1 });
    expect(shown).toMatchObject({ outcome: 'shown', rank: 1, ranked: 3, status: 'done', leftOutBy: [] });
    expect(shown.similarity).toBeGreaterThan(0);
    expect(shown.scores).toEqual({ words: 1, vectors: expect.any(Number) });
    expect(await explain('keeper', { limit: 1 })).toMatchObject({ outcome: 'below_limit', rank: expect.any(Number) });
    expect((await explain('keeper', { limit: 1 })).rank).toBeGreaterThan(1);
    const weak = await explain('keeper', { threshold: 0.6 });
    expect(weak).toMatchObject({ outcome: 'below_threshold', ranked: 3 });
    expect(weak.similarity).toBeLessThan(0.6);
    const again = await explain('keeper', { limit: 2, rerank: true, rewriteQuery: true });
    expect(again.rank === null || again.rank <= 3).toBe(true);
  });

  it.each([
    ['paint', {}, ['containerTag']],
    ['bakery', { filters: { AND: [{ key: 'kind', value: 'port' }] } }, ['filters']],
    ['crane', { filepath: '/food/' }, ['filepath']],
    ['crane', { docId: 'bakery' }, ['docId']],
    ['crane', { dates: { to: '2020-01-01T00:00:00Z' } }, ['dates']],
    ['crane', { asOf: '2020-01-01T00:00:00Z' }, ['asOf']],
    [
      'crane',
      { asOf: '2020-01-01T00:00:00Z', containerTag: 'other', filepath: '/x' },
      ['containerTag', 'filepath', 'asOf'],
    ],
    ['crane', { containerTag: 'unknown' }, ['containerTag']],
  ])('says of %s with %j what leaves it out', async (documentId, body, leftOutBy) => {
    expect(await explain(documentId, body)).toMatchObject({ outcome: 'left_out', leftOutBy, rank: null });
  });

  it('says that nothing of it can be found yet', async () => {
    expect(await explain('new')).toMatchObject({ outcome: 'not_indexed', status: 'queued', rank: null });
  });

  it('knows no document that the key may not read', async () => {
    const key = await test.newKey({ containerTags: ['team'] });
    const nothing = { documentId: null, title: null, status: null, outcome: 'not_found' };
    expect(await explain('paint', {}, key)).toMatchObject(nothing);
    expect(await explain('nowhere')).toMatchObject(nothing);
    expect(await explain('crane', {}, key)).toMatchObject({ outcome: 'shown' });
  });

  it('says what is wrong with what is asked', async () => {
    const body = { q: 'x', explain: { documentId: '' } };
    expect((await test.call('POST', '/v4/search', body)).status).toBe(400);
    expect((await test.call('POST', '/v4/search', { q: 'x', explain: {} })).status).toBe(400);
  });

  it('tells what another result says, and what stands behind all that was ranked', async () => {
    const { memories } = (await test.call('POST', '/v3/documents/list', { containerTag: 'team' })).body;
    const id = memories.find(({ customId }: { customId: string }) => customId === 'crane').id;
    const chunk = {
      ...{
        id: 'chunk',
        kind: 'chunk' as const,
        type: 'text' as const,
        isLone: false,
        scoreAsText: null,
        turn: null,
        length: 1,
        isMined: false,
        statement: null,
      },
      ...{ score: 1, similarity: 0.8, scores: { words: 1, vectors: 0.8 } },
      places: [{ document: id, first: 0, last: 0, start: null, end: null }],
    };
    const { database } = test;
    const request = {
      q: 'x',
      scope: { containerTags: ['team'] },
      mode: 'documents' as const,
      threshold: 0.6,
      limit: 1,
    };
    const explainWith = (trace: Trace) =>
      explained(request, id, { database, trace, ofDocumentAlone: async () => [chunk] });
    expect(await explainWith({ ranked: [chunk], lines: [], order: [] })).toMatchObject({ outcome: 'said_by_another' });
    const behind = await explainWith({ ranked: [], lines: [], order: [] });
    expect(behind).toMatchObject({ outcome: 'below_limit', rank: null, similarity: 0.8 });
  });
});
