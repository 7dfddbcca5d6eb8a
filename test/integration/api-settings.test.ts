import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawSql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

const standard = {
  shouldLLMFilter: false,
  filterPrompt: null,
  includeItems: null,
  excludeItems: null,
  chunkSize: -1,
  googleDriveCustomKeyEnabled: false,
  googleDriveClientId: null,
  googleDriveClientSecret: null,
  notionCustomKeyEnabled: false,
  notionClientId: null,
  notionClientSecret: null,
  onedriveCustomKeyEnabled: false,
  onedriveClientId: null,
  onedriveClientSecret: null,
  githubCustomKeyEnabled: false,
  githubClientId: null,
  githubClientSecret: null,
  profileBuckets: [],
  workspacePrompt: null,
};

describe('settings', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());
  const get = async () => (await test.call('GET', '/v3/settings')).body;
  const patch = (body: object, key?: string) => test.call('PATCH', '/v3/settings', body, key);

  it('are the standard ones until they are changed, and again when they are cleared', async () => {
    expect(await get()).toEqual(standard);
    const changed = await patch({
      shouldLLMFilter: true,
      filterPrompt: 'Keep decisions and preferences, skip small talk.',
      chunkSize: 512,
      includeItems: ['plans'],
      excludeItems: { folders: ['/tmp/*'] },
      profileBuckets: [{ key: 'work', description: 'Role, employer, projects.' }],
      workspacePrompt: 'A small team',
    });
    expect(changed).toMatchObject({
      status: 200,
      body: { orgId: test.organization.id, orgSlug: 'local', updated: { chunkSize: 512, shouldLLMFilter: true } },
    });
    expect(changed.body.updated).toEqual(await get());
    expect(await get()).toMatchObject({
      chunkSize: 512,
      includeItems: ['plans'],
      excludeItems: { folders: ['/tmp/*'] },
    });
    expect((await patch({})).body.updated).toEqual(await get());
    await patch(Object.fromEntries(Object.keys(standard).map((name) => [name, null])));
    expect(await get()).toEqual(standard);
  });

  it('never show a secret, and leave it when it is sent back masked', async () => {
    const secret = 'very-secret-value';
    const { body } = await patch({
      googleDriveCustomKeyEnabled: true,
      googleDriveClientId: '123.apps.example.com',
      googleDriveClientSecret: secret,
    });
    expect(body.updated).toMatchObject({ googleDriveClientSecret: '********', googleDriveCustomKeyEnabled: true });
    await patch({ googleDriveClientSecret: '********', googleDriveClientId: '456.apps.example.com' });
    expect(await test.authorizing.clients.find('gmail')).toEqual({
      clientId: '456.apps.example.com',
      clientSecret: secret,
    });
    expect(JSON.stringify(await test.database.query(rawSql('select * from settings')))).not.toContain(secret);
    expect(test.logged()).not.toContain(secret);
    const refused = await patch({ googleDriveClientSecret: secret, chunkSize: 3 });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).not.toContain(secret);
    await patch({ googleDriveClientSecret: null, googleDriveClientId: null, googleDriveCustomKeyEnabled: null });
    expect(await get()).toEqual(standard);
  });

  it('that do not fit together are refused', async () => {
    for (const body of [
      { filterPrompt: 'x' },
      { includeItems: ['x'] },
      { shouldLLMFilter: false, excludeItems: ['x'] },
    ]) {
      expect((await patch(body)).body.error, JSON.stringify(body)).toMatch(/shouldLLMFilter/);
    }
    for (const [body, path] of [
      [{ chunkSize: 63 }, ['chunkSize']],
      [{ filterPrompt: 'x'.repeat(751) }, ['filterPrompt']],
      [{ workspacePrompt: 'x'.repeat(1501) }, ['workspacePrompt']],
      [{ includeItems: 'x' }, ['includeItems']],
      [{ includeItems: ['x'.repeat(21)] }, ['includeItems', 0]],
      [{ profileBuckets: [{ key: 'A', description: '' }] }, ['profileBuckets', 0, 'key']],
    ] as const) {
      expect((await patch(body)).body.error[0].path, JSON.stringify(body)).toEqual(path);
    }
    expect((await patch({ profileBuckets: [{ key: 'dynamic', description: '' }] })).body.error).toMatch(/reserved/);
    expect(await get()).toEqual(standard);
  });

  it('give the size of chunks that are made from now on', async () => {
    const content = Array.from({ length: 60 }, (_, index) => `Sentence ${index} says something about item ${index}.`);
    const chunks = async (containerTag: string) => {
      const added = await test.call('POST', '/v3/documents', { content: content.join(' '), containerTag });
      await test.process();
      return (await test.call('GET', `/v3/documents/${added.body.id}/chunks`)).body.total;
    };
    const standardCount = await chunks('size');
    await patch({ chunkSize: 64 });
    expect(await chunks('size')).toBeGreaterThan(standardCount);
    await patch({ chunkSize: null });
    test.clock.advance(6_000);
    expect(await chunks('size')).toBe(standardCount);
    await test.call('DELETE', '/v3/container-tags/size');
  });

  it('are for full keys', async () => {
    const scoped = await test.newKey({ containerTags: ['a'] });
    const reader = await test.newKey({ permission: 'read' });
    expect((await test.call('GET', '/v3/settings', undefined, scoped)).status).toBe(403);
    expect((await test.call('GET', '/v3/settings', undefined, reader)).status).toBe(200);
    expect((await patch({}, reader)).status).toBe(403);
    expect((await test.call('POST', '/v3/settings/suggest-buckets', undefined, scoped)).status).toBe(403);
    expect((await test.call('POST', '/v3/settings/reset', { confirmation: 'local' }, reader)).status).toBe(403);
  });

  it('suggest buckets that fit the prompt', async () => {
    const suggest = () => test.call('POST', '/v3/settings/suggest-buckets');
    expect(await suggest()).toMatchObject({ status: 400, body: { error: 'No organization context configured' } });
    await patch({
      shouldLLMFilter: true,
      filterPrompt: 'Travel plans, hotels and flights; also health and allergies.',
    });
    const keys = (await suggest()).body.suggestions.map(({ key }: { key: string }) => key);
    expect(keys.slice(0, 3)).toEqual(expect.arrayContaining(['travel', 'health']));
    await patch({ filterPrompt: 'zzz' });
    expect((await suggest()).body.suggestions).toHaveLength(3);
    expect((await get()).profileBuckets).toEqual([]);
  });

  it('are reset with all content, for who confirms it; keys stay', async () => {
    const key = await test.newKey();
    await test.call('POST', '/v3/documents', { content: 'a', containerTag: 'one' });
    await test.call('POST', '/v3/documents', { content: 'b' });
    await test.process();
    const reset = (confirmation: string) => test.call('POST', '/v3/settings/reset', { confirmation }, key);
    for (const wrong of ['Local', 'yes', '']) expect((await reset(wrong)).status).toBe(400);
    expect((await reset('local')).body).toEqual({
      success: true,
      deletedConnections: 0,
      deletedDocumentBatches: 2,
      deletedDocumentsApprox: 2,
      deletedMemoryRows: 0,
      deletedExtraSpaces: 1,
      clearedDefaultSpaceContext: true,
      clearedBrainMemoryRegistry: false,
      settingsReset: true,
    });
    expect(await get()).toEqual(standard);
    expect((await test.call('POST', '/v3/documents/list', {}, key)).body.pagination.totalItems).toBe(0);
    expect((await test.call('GET', '/v3/container-tags/list')).body).toMatchObject([
      { containerTag: 'sm_project_default' },
    ]);
  });
});
