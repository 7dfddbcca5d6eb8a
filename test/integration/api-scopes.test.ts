import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const denied = { status: 403, body: { error: 'Namespace access denied' } };

let test: TestApi;
/** Writes in `mine`; reads in `mine` and `shared`; writes in `mine` and `ours`; reads everything. */
let keys: Record<'mine' | 'reader' | 'two' | 'readAll', string>;
let foreign: { document: string; connection: string };
let own: { document: string; connection: string };

beforeAll(async () => {
  test = await startTestApi({ connectors: { synthetic: createSyntheticSource().connector() } });
  keys = {
    mine: await test.newKey({ containerTags: ['mine'] }),
    reader: await test.newKey({ containerTags: ['mine', 'shared'], permission: 'read' }),
    two: await test.newKey({ containerTags: ['mine', 'ours'] }),
    readAll: await test.newKey({ permission: 'read' }),
  };
  const make = async (containerTag: string) => ({
    document: (
      await test.call('POST', '/v3/documents', {
        content: `of ${containerTag}`,
        containerTag,
        customId: `in_${containerTag}`,
      })
    ).body.id,
    connection: (await test.call('POST', '/v3/connections/synthetic', { containerTag })).body.id,
  });
  foreign = await make('foreign');
  own = await make('mine');
});
afterAll(() => test.close());

const containers = (body: { memories: { containerTags: string[] }[] }) =>
  [...new Set(body.memories.flatMap((document) => document.containerTags))].sort();

describe('a key for one container', () => {
  it('writes there without naming it', async () => {
    const { body } = await test.call('POST', '/v3/documents', { content: 'x' }, keys.mine);
    expect((await test.call('GET', `/v3/documents/${body.id}`, undefined, keys.mine)).body.containerTags).toEqual([
      'mine',
    ]);
  });

  it.each<['POST' | 'GET', string, object | undefined]>([
    ['POST', '/v3/documents', { content: 'x', containerTag: 'foreign' }],
    ['POST', '/v3/documents/list', { containerTag: 'foreign' }],
    ['POST', '/v3/documents/list', { containerTags: ['mine', 'foreign'] }],
    ['GET', '/v3/documents/processing?containerTags=foreign', undefined],
    ['GET', '/v3/activity?containerTags=foreign', undefined],
    ['POST', '/v4/search', { q: 'x', containerTag: 'foreign' }],
    ['POST', '/v4/search', { q: 'x', containerTag: 'mine', containerTags: ['foreign'] }],
    ['POST', '/v3/connections/list', { containerTags: ['foreign'] }],
    ['POST', '/v3/connections/synthetic/import', { containerTags: ['foreign'] }],
    ['GET', '/ns/foreign/document/in_foreign', undefined],
    ['GET', '/ns/unknown/document/none', undefined],
  ])('is denied %s %s %j', async (method, url, body) => {
    expect(await test.call(method, url, body, keys.mine)).toMatchObject(denied);
  });

  it.each<['GET' | 'DELETE' | 'POST', string, string]>([
    ['GET', '/v3/documents/', 'document'],
    ['DELETE', '/v3/documents/', 'document'],
    ['GET', '/v3/connections/', 'connection'],
  ])('sees %s %s{id} of another container as missing', async (method, url, kind) => {
    const names = kind === 'document' ? [foreign.document, 'in_foreign', 'none'] : [foreign.connection, 'none'];
    const answers = await Promise.all(names.map((name) => test.call(method, url + name, undefined, keys.mine)));
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 404, body: answers[0]!.body });
    expect((await test.call('GET', `/v3/documents/${foreign.document}`)).status).toBe(200);
  });

  it.each(['chunks', 'retry', 'reindex'])(
    'sees /v3/documents/{id}/%s of another container as missing',
    async (part) => {
      const method = part === 'chunks' ? 'GET' : 'POST';
      expect((await test.call(method, `/v3/documents/${foreign.document}/${part}`, undefined, keys.mine)).status).toBe(
        404,
      );
    },
  );

  it.each(['sync-runs', 'progress', 'items', 'failures', 'sync'])(
    'sees /v3/connections/{id}/%s of another container as missing',
    async (part) => {
      const method = part === 'sync' ? 'POST' : 'GET';
      expect(
        (await test.call(method, `/v3/connections/${foreign.connection}/${part}`, undefined, keys.mine)).status,
      ).toBe(404);
    },
  );

  it.each<['POST' | 'GET' | 'PATCH' | 'PUT' | 'DELETE', string, object | undefined]>([
    ['POST', '/document', { content: 'x' }],
    ['POST', '/document/batch', { documents: [{ content: 'x' }] }],
    ['POST', '/document/file', undefined],
    ['GET', '/document/in_foreign', undefined],
    ['PATCH', '/document/in_foreign', { content: 'x' }],
    ['POST', '/document/file/in_foreign', undefined],
    ['PATCH', '/document/file/in_foreign', undefined],
    ['DELETE', '/document', { ids: ['in_foreign'] }],
    ['POST', '/search', { query: 'x' }],
    ['POST', '/profile', undefined],
    ['POST', '/list/documents', undefined],
    ['GET', '/memories/none', undefined],
    ['DELETE', '/memories', { ids: ['none'] }],
    ['DELETE', '/memories/semantic', { query: 'x', dryRun: true }],
    ['GET', '', undefined],
    ['PATCH', '', { supportingContext: null }],
    ['DELETE', '', undefined],
    ['DELETE', '?moveTo=mine', undefined],
    ['GET', '/profile/buckets', undefined],
    ['GET', '/connectors', undefined],
    ['POST', '/connectors', { provider: 'synthetic' }],
    ['GET', '/connectors/none', undefined],
    ['PATCH', '/connectors/none', { documentLimit: 1 }],
    ['DELETE', '/connectors/none', undefined],
    ['POST', '/connectors/none/sync', undefined],
    ['PUT', '/profile/buckets', { buckets: { a: 'b' } }],
    ['DELETE', '/profile/buckets', { buckets: ['a'] }],
  ])('is denied %s of a foreign namespace%s', async (method, path, body) => {
    for (const namespace of ['foreign', 'nowhere']) {
      expect(await test.call(method, `/ns/${namespace}${path}`, body, keys.mine)).toMatchObject(denied);
    }
    expect((await test.call(method, `/ns/foreign${path}`, body, null)).status).toBe(401);
    expect((await test.call('GET', '/ns/foreign/document/in_foreign')).status).toBe(200);
  });

  it('does not move its own namespace into a foreign one', async () => {
    expect(await test.call('DELETE', '/ns/mine?moveTo=foreign', undefined, keys.mine)).toMatchObject(denied);
  });

  it('lists only what is there', async () => {
    expect(containers((await test.call('POST', '/v3/documents/list', {}, keys.mine)).body)).toEqual(['mine']);
    const connections = await test.call('POST', '/v3/connections/list', undefined, keys.mine);
    expect(connections.body.map((connection: { id: string }) => connection.id)).toEqual([own.connection]);
    const tags = await test.call('GET', '/v3/container-tags/list', undefined, keys.mine);
    expect(tags.body.map((tag: { containerTag: string }) => tag.containerTag)).toEqual(['mine']);
    const processing = await test.call('GET', '/v3/documents/processing', undefined, keys.mine);
    expect(containers({ memories: processing.body.documents })).toEqual(['mine']);
  });

  it('resolves a customId among what it may see', async () => {
    await test.call('POST', '/v3/documents', { content: 'x', containerTag: 'foreign', customId: 'same' });
    await test.call('POST', '/v3/documents', { content: 'x', containerTag: 'mine', customId: 'same' });
    expect((await test.call('GET', '/v3/documents/same')).status).toBe(409);
    expect((await test.call('GET', '/v3/documents/same', undefined, keys.mine)).body.containerTags).toEqual(['mine']);
  });

  it('is denied single items of a batch', async () => {
    const documents = [{ content: 'x' }, { content: 'x', containerTag: 'foreign' }];
    const { status, body } = await test.call('POST', '/v3/documents/batch', { documents }, keys.mine);
    expect(status).toBe(200);
    expect(body.results[1]).toEqual({
      id: '',
      status: 'error',
      error: 'Namespace access denied',
      details: 'documents[1]',
    });
    expect(body.success).toBe(1);
  });

  it.each<['POST' | 'DELETE' | 'PATCH' | 'GET', string, object | undefined]>([
    ['POST', '/v3/connections/synthetic', { containerTag: 'mine' }],
    ['PATCH', '/v3/connections/{own}', { paused: true }],
    ['DELETE', '/v3/connections/{own}', undefined],
    ['DELETE', '/v3/connections/synthetic', { containerTags: ['mine'] }],
    ['GET', '/v3/auth/keys', undefined],
    ['GET', '/v3/status', undefined],
    ['GET', '/v3/configuration', undefined],
  ])('may not %s %s: that needs a full key', async (method, url, body) => {
    const response = await test.call(method, url.replace('{own}', own.connection), body, keys.mine);
    expect(response).toMatchObject({ status: 403, body: { error: 'This operation needs a full key' } });
  });

  it('syncs a connection of its container', async () => {
    expect([202, 409]).toContain(
      (await test.call('POST', `/v3/connections/${own.connection}/sync`, {}, keys.mine)).status,
    );
  });

  it('learns from validation before it is denied', async () => {
    const body = { q: '', containerTag: 'foreign' };
    expect((await test.call('POST', '/v4/search', body, keys.mine)).status).toBe(400);
    const filters = { q: 'x', containerTag: 'foreign', filters: {} };
    expect((await test.call('POST', '/v4/search', filters, keys.mine)).status).toBe(400);
  });
});

describe('a key for several containers', () => {
  it('must name one when it writes', async () => {
    const { status, body } = await test.call('POST', '/v3/documents', { content: 'x' }, keys.two);
    expect({ status, body }).toEqual({ status: 400, body: { error: 'containerTag is required for this key' } });
    expect((await test.call('POST', '/v3/documents', { content: 'x', containerTag: 'ours' }, keys.two)).status).toBe(
      200,
    );
  });

  it('reads all of them when it names none', async () => {
    expect(containers((await test.call('POST', '/v3/documents/list', { limit: 100 }, keys.two)).body)).toEqual([
      'mine',
      'ours',
    ]);
  });
});

describe.each(['reader', 'readAll'] as const)('a key that may only read (%s)', (name) => {
  it('reads', async () => {
    expect((await test.call('GET', `/v3/documents/${own.document}`, undefined, keys[name])).status).toBe(200);
    expect((await test.call('POST', '/v4/search', { q: 'x', containerTag: 'mine' }, keys[name])).status).toBe(200);
    expect((await test.call('GET', '/ns/mine/document/in_mine', undefined, keys[name])).status).toBe(200);
    expect((await test.call('POST', '/ns/mine/search', { query: 'x' }, keys[name])).status).toBe(200);
    expect((await test.call('POST', '/ns/mine/profile', {}, keys[name])).status).toBe(200);
    expect((await test.call('POST', '/ns/mine/list/memories', {}, keys[name])).status).toBe(200);
  });

  it.each<['POST' | 'PATCH' | 'PUT' | 'DELETE', string, object | undefined]>([
    ['POST', '/v3/documents', { content: 'x', containerTag: 'mine' }],
    ['POST', '/ns/mine/document', { content: 'x' }],
    ['POST', '/ns/mine/document/batch', { documents: [{ content: 'x' }] }],
    ['POST', '/ns/mine/document/file', undefined],
    ['POST', '/ns/mine/document/file/in_mine', undefined],
    ['PATCH', '/ns/mine/document/file/in_mine', undefined],
    ['PATCH', '/ns/mine/document/in_mine', { content: 'x' }],
    ['DELETE', '/ns/mine/document', { ids: ['in_mine'] }],
    ['DELETE', '/ns/mine/memories', { ids: ['none'] }],
    ['PATCH', '/ns/mine', { supportingContext: null }],
    ['POST', '/ns/mine/connectors', { provider: 'synthetic' }],
    ['PATCH', '/ns/mine/connectors/{own}', { documentLimit: 1 }],
    ['DELETE', '/ns/mine/connectors/{own}', undefined],
    ['POST', '/ns/mine/connectors/{own}/sync', undefined],
    ['DELETE', '/ns/mine', undefined],
    ['PUT', '/ns/mine/profile/buckets', { buckets: { a: 'b' } }],
    ['DELETE', '/ns/mine/profile/buckets', { buckets: ['a'] }],
    ['DELETE', '/ns/mine/memories/semantic', { query: 'x', dryRun: true }],
    ['DELETE', '/v3/documents/in_mine', undefined],
    ['POST', '/v3/documents/in_mine/retry', undefined],
    ['POST', '/v3/documents/in_mine/reindex', undefined],
    ['POST', '/v3/connections/{own}/sync', {}],
    ['POST', '/v3/connections/synthetic/import', { containerTags: ['mine'] }],
  ])('does not write: %s %s', async (method, url, body) => {
    const response = await test.call(method, url.replace('{own}', own.connection), body, keys[name]);
    expect(response).toMatchObject({ status: 403, body: { error: 'This key may only read' } });
  });

  it('does not write any item of a batch', async () => {
    const { body } = await test.call(
      'POST',
      '/v3/documents/batch',
      { documents: ['x'], containerTag: 'mine' },
      keys[name],
    );
    expect(body.results).toEqual([
      { id: '', status: 'error', error: 'This key may only read', details: 'documents[0]' },
    ]);
  });
});

it.each(['reader', 'readAll'] as const)(
  'a key that may only read (%s) learns that before what exists',
  async (name) => {
    for (const [method, path] of [
      ['PATCH', '/v3/documents/none'],
      ['DELETE', '/v3/documents/none'],
      ['POST', '/v3/documents/none/retry'],
      ['POST', '/v3/documents/none/reindex'],
      ['POST', '/v3/connections/none/sync'],
      ['POST', '/v3/connections/none/cancel'],
      ['POST', '/v3/connections/none/check'],
      ['POST', '/v3/connections/synthetic/import'],
    ] as const) {
      const { status, body } = await test.call(method, path, undefined, keys[name]);
      expect([path, status, body]).toEqual([path, 403, { error: 'This key may only read' }]);
    }
  },
);

it('a key for one container is told so before which connectors are installed, and a wrong name before that', async () => {
  expect((await test.call('POST', '/v3/connections/notion', {}, keys.mine)).status).toBe(403);
  expect((await test.call('POST', '/v3/connections/nobody', {}, keys.mine)).status).toBe(400);
  expect((await test.call('POST', '/v3/connections/nobody/import', {}, keys.readAll)).status).toBe(400);
  expect((await test.call('POST', '/v3/connections/notion', {})).status).toBe(501);
});

it('a full key that may only read does not change the organization', async () => {
  expect((await test.call('POST', '/v3/auth/agent-key', { name: 'x' }, keys.readAll)).status).toBe(403);
  expect((await test.call('DELETE', `/v3/connections/${own.connection}`, undefined, keys.readAll)).status).toBe(403);
  expect((await test.call('GET', '/v3/status', undefined, keys.readAll)).status).toBe(200);
  expect((await test.call('GET', '/v3/configuration', undefined, keys.readAll)).status).toBe(200);
});

it('a list of one tag is a tag, of every write; several scope a write only where the operator allows it', async () => {
  const strict = await startTestApi();
  for (const [url, more] of [
    ['/v3/documents', { content: 'x' }],
    ['/v3/documents/batch', { documents: [{ content: 'x' }] }],
    ['/v4/memories', { memories: [{ content: 'x' }] }],
  ] as const) {
    const one = await strict.call('POST', url, { ...more, containerTags: ['one'] });
    expect([url, one.status < 300]).toEqual([url, true]);
    const two = await strict.call('POST', url, { ...more, containerTags: ['one', 'two'] });
    const error = expect.stringContaining('COMPAT=plural-tags');
    if (url.endsWith('/batch')) expect(two.body).toMatchObject({ success: 0, results: [{ error }] });
    else expect([url, two.status, two.body]).toEqual([url, 400, { error }]);
  }
  const listed = await strict.call('POST', '/v3/documents/list', { containerTag: 'one' });
  expect(listed.body.memories.map((document: any) => document.containerTags)).toEqual([['one'], ['one'], ['one']]);
  await strict.close();

  const lenient = await startTestApi({ config: { compat: ['plural-tags'] } });
  const { body } = await lenient.call('POST', '/v3/documents', { content: 'x', containerTags: ['first', 'second'] });
  expect((await lenient.call('GET', `/v3/documents/${body.id}`)).body.containerTags).toEqual(['first', 'second']);
  await lenient.close();
});
