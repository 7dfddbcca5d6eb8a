import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

describe('container tags', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi({ connectors: { synthetic: createSyntheticSource().connector() } });
  });
  afterAll(() => test.close());

  const add = async (body: object) => (await test.call('POST', '/v3/documents', body)).body.id as string;
  const container = (tag: string, key?: string) => test.call('GET', `/v3/container-tags/${tag}`, undefined, key);
  const change = (tag: string, body: object, key?: string) =>
    test.call('PATCH', `/v3/container-tags/${tag}`, body, key);
  const read = async (id: string) => (await test.call('GET', `/v3/documents/${id}`)).body;
  const total = async (tag: string) =>
    (await test.call('POST', '/v3/documents/list', { containerTag: tag })).body.pagination.totalItems;

  async function remember(id: string, containerTag: string, isInference = false) {
    const now = test.clock.now();
    await test.database.execute(sql`
      insert into memories (id, container_tag, memory, is_inference, content_hash, terms, term_counts, term_total, created_at, updated_at)
      values (${id}, ${containerTag}, ${`memory ${id}`}, ${isInference}, ${id}, '{}', '{}', 0, ${now}, ${now})`);
  }

  it('have settings, which a change makes', async () => {
    expect(await container('user_mira')).toMatchObject({ status: 404 });
    const body = {
      name: 'Mira',
      entityContext: 'Product lead',
      profileBuckets: [{ key: 'goals', description: 'What she wants to get done.' }],
    };
    const changed = await change('user_mira', body);
    const now = test.clock.now().toISOString();
    const quota = { documents: null, bytes: null, requestsPerMinute: null };
    const view = {
      containerTag: 'user_mira',
      memoryFilesystemPaths: null,
      memories: null,
      ...body,
      quota,
      updatedAt: now,
    };
    expect(changed).toMatchObject({ status: 200, body: view });
    expect(changed.body).not.toHaveProperty('createdAt');
    expect((await container('user_mira')).body).toEqual({ ...view, usage: null, createdAt: now });
    expect((await change('user_mira', { entityContext: null })).body).toMatchObject({
      name: 'Mira',
      entityContext: null,
    });
    for (const [profileBuckets, text] of [
      [[{ key: 'static', description: '' }], 'reserved'],
      [
        [
          { key: 'a', description: '' },
          { key: 'a', description: '' },
        ],
        'twice',
      ],
    ] as const) {
      expect((await change('user_mira', { profileBuckets })).body.error).toContain(text);
    }
    expect(
      (await change('user_mira', { profileBuckets: [{ key: 'No', description: '' }] })).body.error[0].path,
    ).toEqual(['profileBuckets', 0, 'key']);
  });

  it('are read by the keys that may, and changed by full ones', async () => {
    await add({ content: 'x', containerTag: 'own' });
    const scoped = await test.newKey({ containerTags: ['own'] });
    expect((await container('own', scoped)).status).toBe(200);
    expect((await container('user_mira', scoped)).status).toBe(403);
    expect((await change('own', { name: 'x' }, scoped)).status).toBe(403);
    expect((await test.call('DELETE', '/v3/container-tags/own', undefined, scoped)).status).toBe(403);
  });

  it('say which paths have memories', async () => {
    await change('paths', { memoryFilesystemPaths: ['/notes', '/people/'] });
    const taskType = async (filepath?: string) =>
      (await read(await add({ content: 'x', containerTag: 'paths', filepath }))).taskType;
    expect(await taskType('/notes/1.md')).toBe('memory');
    expect(await taskType('/people/mira')).toBe('memory');
    expect(await taskType('/notesandmore')).toBe('superrag');
    expect(await taskType()).toBe('memory');
  });

  it('go with everything in them; the default one stays, empty', async () => {
    await add({ content: 'a', containerTag: 'doomed', customId: 'd' });
    await add({ content: 'b', containerTag: 'doomed' });
    await test.process();
    await remember('m'.padEnd(22, '4'), 'doomed');
    const remove = (tag: string) => test.call('DELETE', `/v3/container-tags/${tag}`);
    expect((await remove('doomed')).body).toEqual({
      success: true,
      containerTag: 'doomed',
      deletedDocumentsCount: 2,
      deletedMemoriesCount: 1,
    });
    expect((await container('doomed')).status).toBe(404);
    expect((await remove('doomed')).status).toBe(404);
    expect((await test.call('GET', '/v3/documents/d')).status).toBe(404);
    await add({ content: 'c' });
    await change('sm_project_default', { entityContext: 'kept' });
    expect((await remove('sm_project_default')).body).toMatchObject({ success: true, deletedDocumentsCount: 1 });
    expect((await container('sm_project_default')).body).toMatchObject({ entityContext: null });
  });

  it('go and are merged with their connections', async () => {
    const connect = async (containerTag: string) =>
      (await test.call('POST', '/v3/connections/synthetic', { containerTag })).body.id as string;
    const gone = await connect('mirrored');
    const moved = await connect('mirrored_too');
    await add({ content: 'x', containerTag: 'mirrored_goal' });
    expect((await test.call('DELETE', '/v3/container-tags/mirrored')).status).toBe(200);
    expect((await test.call('GET', `/v3/connections/${gone}`)).status).toBe(404);
    await test.process();
    await test.services.merges.start(['mirrored_too'], 'mirrored_goal');
    await expect
      .poll(async () => (await test.call('GET', `/v3/connections/${moved}`)).body.containerTag)
      .toBe('mirrored_goal');
  });

  it('are merged once nothing is in processing, and refuse writes until then', async () => {
    const moved = await add({ content: 'moved', containerTag: 'old', customId: 'taken' });
    const waiting = await add({ content: 'waiting', containerTag: 'old', customId: 'free' });
    const kept = await add({ content: 'kept', containerTag: 'new', customId: 'taken' });
    await remember('m'.padEnd(22, '5'), 'old');
    const merge = (body: object) => test.call('POST', '/v3/container-tags/merge', body);
    const answer = await merge({ containerTags: ['old', 'new'], targetContainerTag: 'new' });
    expect(answer).toMatchObject({
      status: 202,
      body: { success: true, status: 'queued', targetTag: 'new', sourceTags: ['old'] },
    });
    expect(Object.keys(answer.body).sort()).toEqual(['mergeId', 'sourceTags', 'status', 'success', 'targetTag']);
    const status = async () => (await test.call('GET', `/v3/container-tags/merge/${answer.body.mergeId}`)).body;
    await expect.poll(async () => (await status()).status).toBe('waiting_for_ingest');
    expect((await status()).progress.inFlightItems).toBe(2);
    const merging = async (tag: string) => {
      const listed = (await test.call('GET', '/v3/container-tags/list')).body;
      const { mergeStatus, mergeId, mergeTargetTag } = listed.find((one: any) => one.containerTag === tag);
      return { mergeStatus, mergeId, mergeTargetTag };
    };
    const { mergeId } = answer.body;
    expect(await merging('old')).toEqual({ mergeStatus: 'source', mergeId, mergeTargetTag: 'new' });
    expect(await merging('new')).toEqual({ mergeStatus: 'target', mergeId, mergeTargetTag: 'new' });
    for (const tag of ['old', 'new']) {
      const refused = await test.call('POST', '/v3/documents', { content: 'late', containerTag: tag });
      expect([refused.status, refused.headers['retry-after']]).toEqual([409, '5']);
    }
    expect((await test.call('PATCH', `/v3/documents/${moved}`, { filepath: '/x' })).status).toBe(409);
    expect((await merge({ containerTags: ['old', 'new'], targetContainerTag: 'new' })).status).toBe(409);
    await test.process();
    test.clock.advance(1_000);
    await expect.poll(async () => (await status()).status).toBe('completed');
    expect(await status()).toMatchObject({
      sourceTags: ['old'],
      targetTag: 'new',
      lastError: null,
      progress: { phase: 'completed', copiedRows: 3, completedSourceTags: ['old'] },
    });
    expect(await merging('new')).toEqual({});
    expect(await read(moved)).toMatchObject({
      id: moved,
      customId: null,
      containerTags: ['new'],
      metadata: { mergedCustomId: 'taken' },
    });
    expect(await read(waiting)).toMatchObject({ customId: 'free', containerTags: ['new'] });
    expect((await test.call('GET', '/ns/new/document/taken')).body.id).toBe(kept);
    expect((await container('old')).status).toBe(404);
    expect(await total('new')).toBe(3);
    expect((await test.call('POST', '/v3/documents', { content: 'again', containerTag: 'new' })).status).toBe(200);
  });

  it('go on merging after their process has died', async () => {
    await add({ content: 'one', containerTag: 'stopped' });
    await add({ content: 'two', containerTag: 'goal' });
    const { id } = await test.services.merges.start(['stopped'], 'goal');
    // Its first attempt must not be under way when another process begins one.
    await expect.poll(async () => (await test.services.merges.find(id))!.status).toBe('waiting_for_ingest');
    await test.process();
    await test.runMerges();
    expect(await total('goal')).toBe(2);
  });

  it('that cannot be merged are refused', async () => {
    const merge = async (body: object, key?: string) =>
      (await test.call('POST', '/v3/container-tags/merge', body, key)).status;
    await add({ content: 'x', containerTag: 'there' });
    expect(await merge({ containerTags: ['there', 'missing'], targetContainerTag: 'there' })).toBe(404);
    expect(await merge({ containerTags: ['there'], targetContainerTag: 'there' })).toBe(400);
    expect(await merge({ containerTags: ['there', 'there'], targetContainerTag: 'there' })).toBe(400);
    const scoped = await test.newKey({ containerTags: ['there', 'own'] });
    expect(await merge({ containerTags: ['there', 'own'], targetContainerTag: 'own' }, scoped)).toBe(403);
    expect((await test.call('GET', '/v3/container-tags/merge/none')).status).toBe(404);
  });

  it('show inferred memories until somebody has judged them', async () => {
    const id = 'i'.padEnd(22, '6');
    await remember(id, 'inferred', true);
    const list = async (tag = 'inferred') => (await test.call('GET', `/v3/container-tags/${tag}/inferred`)).body;
    const review = (action: string, memory = id) =>
      test.call('POST', `/v3/container-tags/inferred/inferred/${memory}/review`, { action });
    expect(await list()).toMatchObject({ total: 1, memories: [{ id, parentCount: 0, metadata: null }] });
    expect(await list('unknown')).toEqual({ memories: [], total: 0 });
    const permanent = await review('undo');
    expect([permanent.status, permanent.headers['x-should-retry']]).toEqual([409, 'false']);
    expect((await review('approve')).body).toEqual({
      id,
      isInference: false,
      isForgotten: false,
      reviewStatus: 'approved',
    });
    expect((await list()).total).toBe(0);
    expect((await review('decline')).status).toBe(409);
    expect((await review('undo')).body).toMatchObject({ isInference: true, reviewStatus: null });
    expect((await review('decline')).body).toMatchObject({ isForgotten: true, reviewStatus: 'declined' });
    expect((await review('undo')).body).toMatchObject({ isForgotten: false });
    expect((await review('approve', 'none')).status).toBe(404);
    expect((await review('praise')).status).toBe(400);
  });
});
