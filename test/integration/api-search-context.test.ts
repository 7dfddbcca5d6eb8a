import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

const containerTag = 'user_mira';
const texts = (entries: { memory: string }[]) => entries.map(({ memory }) => memory);

describe('the context of memories', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  async function write(content: string, tag = containerTag): Promise<string> {
    test.clock.advance(1_000);
    const { body } = await test.call('POST', '/v4/memories', { containerTag: tag, memories: [{ content }] });
    return body.memories[0].id;
  }

  async function renew(id: string, newContent: string, metadata?: object): Promise<string> {
    test.clock.advance(1_000);
    const change = { containerTag, id, newContent, ...(metadata && { metadata }) };
    return (await test.call('PATCH', '/v4/memories', change)).body.id;
  }

  const relate = (from: string, to: string, relation: string) => {
    test.clock.advance(1_000);
    return test.database.execute(
      sql`insert into memory_relations (from_id, to_id, relation, created_at)
        values (${from}, ${to}, ${relation}, ${test.clock.now()})`,
    );
  };

  async function search(q: string, body: object = {}, key?: string) {
    const request = { q, threshold: 0, limit: 1, include: { relatedMemories: true }, ...body };
    const { results } = (await test.call('POST', '/v4/search', request, key)).body;
    return results[0];
  }

  it('is the earlier versions, the nearest first, with what they said', async () => {
    const first = await write('Mira works at a bakery');
    const second = await renew(first, 'Mira works at a brewery', { from: 'chat' });
    await renew(second, 'Mira works at a shipyard');
    const { memory, version, rootMemoryId, context } = await search('where Mira works');
    expect([memory, version, rootMemoryId]).toEqual(['Mira works at a shipyard', 3, first]);
    const entry = { relation: 'updates', updatedAt: expect.stringMatching(/Z$/) };
    expect(context).toEqual({
      parents: [
        { ...entry, id: second, memory: 'Mira works at a brewery', metadata: { from: 'chat' }, version: -1 },
        { ...entry, id: first, memory: 'Mira works at a bakery', metadata: {}, version: -2 },
      ],
      children: [],
      related: [],
    });
  });

  it('is the later versions of one that was latest and came back', async () => {
    const first = await write('The gate code is heron');
    const second = await renew(first, 'The gate code is otter');
    await test.database.execute(sql`update memories set is_latest = (id = ${first}) where id in (${first}, ${second})`);
    const { memory, context } = await search('gate code');
    expect(memory).toBe('The gate code is heron');
    expect([texts(context.parents), context.children]).toEqual([
      [],
      [expect.objectContaining({ id: second, relation: 'updates', version: 1 })],
    ]);
  });

  it('is what extends a memory or was derived, in both directions, of any of its versions', async () => {
    const first = await write('The regatta begins in June');
    const detail = await write('Its start is at the north pier');
    const conclusion = await write('Mira is busy in summer');
    const gone = await write('The pier is closed');
    const elsewhere = await write('Another space knows the pier too', 'other_space');
    await relate(detail, first, 'extends');
    await relate(conclusion, first, 'derives');
    await relate(gone, first, 'extends');
    await relate(elsewhere, first, 'extends');
    await test.call('DELETE', '/v4/memories', { containerTag, id: gone });
    await renew(first, 'The regatta begins in July');
    const { memory, context } = await search('when the regatta begins', { containerTag });
    expect(memory).toBe('The regatta begins in July');
    expect(context.related).toEqual([
      {
        id: conclusion,
        relation: 'derives',
        memory: 'Mira is busy in summer',
        metadata: {},
        updatedAt: expect.any(String),
      },
      expect.objectContaining({ id: detail, relation: 'extends' }),
    ]);
    expect((await search('where the start is', { containerTag })).context.related).toEqual([]);
    const everywhere = await search('when the regatta begins');
    expect(texts(everywhere.context.related)).toContain('Another space knows the pier too');
    const scoped = await test.newKey({ containerTags: [containerTag] });
    expect(texts((await search('when the regatta begins', {}, scoped)).context.related)).not.toContain(
      'Another space knows the pier too',
    );
  });

  it('is at most ten of a kind', async () => {
    let id = await write('The tide table is at page 0');
    for (let page = 1; page <= 11; page += 1) id = await renew(id, `The tide table is at page ${page}`);
    const { context } = await search('tide table page');
    expect(context.parents.map(({ version }: { version: number }) => version)).toEqual(
      Array.from({ length: 10 }, (_, index) => -1 - index),
    );
  });

  it('is there only when it is asked for, and only for memories', async () => {
    const without = { include: {} };
    expect(await search('tide table', without)).not.toHaveProperty('context');
    expect(await search('tide table', { ...without, relatedMemories: true })).toHaveProperty('context');
    expect(
      await search('tide table', { include: { relatedMemories: false }, relatedMemories: true }),
    ).not.toHaveProperty('context');
    await test.call('POST', '/v3/documents', { content: 'The lighthouse keeper retired', containerTag });
    await test.process();
    const chunk = await search('lighthouse keeper', { searchMode: 'documents' });
    expect(chunk).toMatchObject({ chunk: 'The lighthouse keeper retired' });
    expect(chunk).not.toHaveProperty('context');
  });
});

describe('the old format of include.chunks', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  it('shows with each memory the chunks it is from, and nothing in other modes', async () => {
    const content = 'Mira repairs old clocks. She lives in Porto.';
    const { body } = await test.call('POST', '/v3/documents', { content, containerTag });
    await test.call('POST', '/v3/documents', { content: 'Noor repairs old clocks too.', containerTag });
    await test.process();
    await test.dream();
    const request = { q: 'Mira repairs old clocks', containerTag, threshold: 0.3, include: { chunks: true } };
    const { results } = (await test.call('POST', '/v4/search', request)).body;
    expect(results[0]).toMatchObject({ memory: expect.stringContaining('Mira repairs old clocks') });
    expect(results[0].chunks).toEqual([
      { content, documentId: body.id, position: 0, score: expect.toSatisfy((score) => score >= 0.3 && score <= 1) },
    ]);
    expect(results[0]).not.toHaveProperty('documents');
    expect(results.every((result: object) => 'memory' in result && 'chunks' in result)).toBe(true);
    const hybrid = await test.call('POST', '/v4/search', { ...request, searchMode: 'hybrid' });
    expect(hybrid.body.results.some((result: object) => 'chunks' in result)).toBe(false);
  });
});

describe('several container tags', () => {
  let strict: TestApi;
  let plural: TestApi;
  beforeAll(async () => {
    strict = await startTestApi();
    plural = await startTestApi({ config: { compat: ['plural-tags', 'search-v3'] } });
    for (const test of [strict, plural]) {
      for (const tag of ['red', 'green', 'blue']) {
        await test.call('POST', '/v3/documents', { content: `The harbour crane is ${tag}`, containerTag: tag });
        await test.call('POST', '/v4/memories', { containerTag: tag, memories: [{ content: `The crane of ${tag}` }] });
      }
      await test.process();
    }
    await plural.call('POST', '/v3/documents', {
      content: 'The harbour crane is violet',
      containerTags: ['violet', 'red'],
    });
    await plural.process();
  });
  afterAll(async () => {
    await strict.close();
    await plural.close();
  });

  async function found(test: TestApi, body: object, key?: string): Promise<string[]> {
    const request = { q: 'harbour crane', searchMode: 'hybrid', threshold: 0, ...body };
    const { results } = (await test.call('POST', '/v4/search', request, key)).body;
    return results.map((result: { chunk?: string; memory?: string }) => result.chunk ?? result.memory).toSorted();
  }
  const of = (...tags: string[]) =>
    tags.flatMap((tag) => [`The crane of ${tag}`, `The harbour crane is ${tag}`]).toSorted();

  it('are searched all of them, together with the single one', async () => {
    expect(await found(strict, { containerTags: ['red', 'green'] })).toEqual(of('red', 'green'));
    expect(await found(strict, { containerTag: 'blue', containerTags: ['red'] })).toEqual(of('blue', 'red'));
    expect(await found(strict, { containerTags: ['unknown'] })).toEqual([]);
    expect(await found(strict, {})).toEqual(of('red', 'green', 'blue'));
  });

  it('find what names them beside its container, where older clients may do that', async () => {
    const violet = 'The harbour crane is violet';
    expect(await found(plural, { containerTags: ['red'] })).toEqual([...of('red'), violet].toSorted());
    expect(await found(plural, { containerTag: 'red', searchMode: 'documents' })).toEqual([
      'The harbour crane is red',
      violet,
    ]);
    expect(await found(plural, { containerTags: ['green', 'violet'] })).toEqual([...of('green'), violet].toSorted());
    expect(await found(plural, { containerTags: ['blue'] })).toEqual(of('blue'));
    const old = await plural.call('POST', '/v3/search', { q: 'harbour crane', containerTags: ['red'] });
    expect(old.body.results).toHaveLength(2);
  });

  it('stay within the containers of a key', async () => {
    const key = await plural.newKey({ containerTags: ['red', 'green'] });
    expect(await found(plural, { containerTags: ['red'] }, key)).toEqual(of('red'));
    const foreign = { q: 'crane', containerTags: ['red', 'violet'] };
    expect((await plural.call('POST', '/v4/search', foreign, key)).status).toBe(403);
  });
});
