import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutCounterpart } from '../../src/api/v5/without-counterpart.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

let test: TestApi;
beforeAll(async () => {
  test = await startTestApi({ connectors: { synthetic: createSyntheticSource().connector() } });
});
afterAll(() => test.close());

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Call = [Method, string, object?];

const send = async ([method, url, body]: Call) => {
  const { status, body: answer } = await test.call(method, url, body);
  expect([method, url, status < 300 ? 'done' : answer]).toEqual([method, url, 'done']);
  return answer;
};

interface Exchange {
  resource: string;
  /** What writes it in the older dialect, and what reads it in the newer one. */
  older: { write: Call; read: Call };
  newer: { write: Call; read: Call };
  /** Stands in what is read when it was written in the older dialect, and in the newer one. */
  shows: [string, string];
}

const tag = { containerTag: 'shared' };
const profile: Call = ['POST', '/ns/shared/profile'];

const exchanges: Exchange[] = [
  {
    resource: 'a document',
    older: {
      write: ['POST', '/v3/documents', { ...tag, customId: 'd1', content: 'older text' }],
      read: ['GET', '/ns/shared/document/d1'],
    },
    newer: {
      write: ['POST', '/ns/shared/document', { id: 'd2', content: 'newer text' }],
      read: ['GET', '/v3/documents/d2'],
    },
    shows: ['older text', 'newer text'],
  },
  {
    resource: 'documents of a batch, in lists',
    older: {
      write: [
        'POST',
        '/v3/documents/batch',
        { ...tag, documents: [{ content: 'x', metadata: { title: 'Older title' } }] },
      ],
      read: ['POST', '/ns/shared/list/documents', {}],
    },
    newer: {
      write: [
        'POST',
        '/ns/shared/document/batch',
        { documents: [{ content: 'y', metadata: { title: 'Newer title' } }] },
      ],
      read: ['POST', '/v3/documents/list', tag],
    },
    shows: ['Older title', 'Newer title'],
  },
  {
    resource: 'what is said of a document',
    older: {
      write: ['PATCH', '/v3/documents/d2', { metadata: { a: 'said before' } }],
      read: ['GET', '/ns/shared/document/d2'],
    },
    newer: {
      write: ['PATCH', '/ns/shared/document/d1', { metadata: { b: 'said after' } }],
      read: ['GET', '/v3/documents/d1'],
    },
    shows: ['said before', 'said after'],
  },
  {
    resource: 'a conversation',
    older: {
      write: [
        'POST',
        '/v4/conversations',
        { ...tag, conversationId: 'c1', messages: [{ role: 'user', content: 'older turn' }] },
      ],
      read: ['GET', '/ns/shared/document/c1'],
    },
    newer: {
      write: ['POST', '/ns/shared/document', { id: 'c2', content: 'user: newer turn' }],
      read: ['GET', '/v3/documents/c2'],
    },
    shows: ['user: older turn', 'user: newer turn'],
  },
  {
    resource: 'the context of a container',
    older: {
      write: ['PATCH', '/v3/container-tags/shared', { entityContext: 'older context' }],
      read: ['GET', '/ns/shared'],
    },
    newer: {
      write: ['PATCH', '/ns/shared', { supportingContext: 'newer context' }],
      read: ['GET', '/v3/container-tags/shared'],
    },
    shows: ['older context', 'newer context'],
  },
  {
    resource: 'buckets',
    older: {
      write: [
        'PATCH',
        '/v3/container-tags/shared',
        { profileBuckets: [{ key: 'older', description: 'An older bucket.' }] },
      ],
      read: ['GET', '/ns/shared/profile/buckets'],
    },
    newer: {
      write: ['PUT', '/ns/shared/profile/buckets', { buckets: { newer: 'A newer bucket.' } }],
      read: ['POST', '/v4/profile/buckets', tag],
    },
    shows: ['An older bucket.', 'A newer bucket.'],
  },
  {
    resource: 'a container',
    older: {
      write: ['POST', '/v3/documents', { containerTag: 'older_tag', content: 'x' }],
      read: ['GET', '/namespaces'],
    },
    newer: { write: ['POST', '/ns/newer_tag/document', { content: 'x' }], read: ['GET', '/v3/container-tags/list'] },
    shows: ['older_tag', 'newer_tag'],
  },
  {
    resource: 'the context of the organization',
    older: {
      write: ['PATCH', '/v3/settings', { shouldLLMFilter: true, filterPrompt: 'older prompt' }],
      read: ['GET', '/organization'],
    },
    newer: {
      write: ['PATCH', '/organization', { organizationalContext: 'newer prompt' }],
      read: ['GET', '/v3/settings'],
    },
    shows: ['older prompt', 'newer prompt'],
  },
  {
    resource: 'a connection',
    older: {
      write: ['POST', '/v3/connections/synthetic', { containerTag: 'older_source' }],
      read: ['GET', '/ns/older_source/connectors'],
    },
    newer: {
      write: ['POST', '/ns/newer_source/connectors', { provider: 'synthetic' }],
      read: ['POST', '/v3/connections/list', { containerTag: 'newer_source' }],
    },
    shows: ['older_source', 'newer_source'],
  },
];

describe('content stored in one dialect and read in the other', () => {
  it.each(exchanges)('$resource', async ({ older, newer, shows }) => {
    await send(older.write);
    expect(JSON.stringify(await send(older.read))).toContain(shows[0]);
    await send(newer.write);
    expect(JSON.stringify(await send(newer.read))).toContain(shows[1]);
  });

  it('a file', async () => {
    const upload = async (url: string, fields: Record<string, string>) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      form.append('file', new File([`# Of ${url}`], 'a.md', { type: 'text/markdown' }));
      const request = new Request('http://x', { method: 'POST', body: form });
      const headers = { authorization: `Bearer ${fullKey}`, 'content-type': request.headers.get('content-type')! };
      const payload = Buffer.from(await request.arrayBuffer());
      return (await test.api.inject({ method: 'POST', url, headers, payload })).json().id as string;
    };
    const [older, newer] = [
      await upload('/v3/documents/file', { containerTag: 'shared' }),
      await upload('/ns/shared/document/file', {}),
    ];
    await test.process();
    expect((await send(['GET', `/ns/shared/document/${older}`])).content).toContain('Of /v3/documents/file');
    expect((await send(['GET', `/v3/documents/${newer}`])).content).toContain('Of /ns/shared/document/file');
    expect((await send(['GET', `/v3/documents/${newer}/file-url`])).url).toContain(newer);
  });

  it('memories, in searches, profiles and lists, and that they are forgotten', async () => {
    const facts = ['Ada sails.', 'Bob rows.'];
    await send(['POST', '/v4/memories', { ...tag, memories: facts.map((content) => ({ content })) }]);
    await send(['POST', '/ns/shared/document', { content: 'I live in Porto.', id: 'fact', dreaming: 'instant' }]);
    await test.process();
    const seen: Call[] = [
      ['POST', '/ns/shared/search', { query: 'Ada sails', threshold: 0, limit: 100 }],
      profile,
      ['POST', '/ns/shared/list/memories?limit=100', {}],
      ['POST', '/v4/search', { ...tag, q: 'Ada sails', threshold: 0, limit: 100, searchMode: 'hybrid' }],
      ['POST', '/v4/profile', tag],
      ['POST', '/v4/memories/list', { ...tag, limit: 100 }],
    ];
    for (const call of seen) {
      const text = JSON.stringify(await send(call));
      for (const fact of [...facts, 'Porto']) expect([call[1], text.includes(fact)]).toEqual([call[1], true]);
    }
    const lines = (await send(profile)).profile.dynamic as { id: string; memory: string }[];
    await send(['DELETE', '/ns/shared/memories', { ids: [lines.find(({ memory }) => memory === facts[0])!.id] }]);
    await send(['DELETE', '/v4/memories', { ...tag, content: facts[1] }]);
    for (const call of seen) {
      const text = JSON.stringify(await send(call));
      for (const fact of facts) expect([call[1], text.includes(fact)]).toEqual([call[1], false]);
    }
  });
});

describe('fields that the newer dialect lacks', () => {
  const noted = async (...[method, url, body]: Call) => (await test.call(method, url, body)).headers['x-without-v5'];

  it('is named by a header of the answer', async () => {
    expect(await noted('POST', '/v3/documents', { content: 'x', customId: 'c', ...tag })).toBeUndefined();
    expect(await noted('POST', '/v3/documents', { content: 'x', filepath: '/a', updateMode: 'append' })).toBe(
      'filepath, updateMode',
    );
    expect(
      await noted('POST', '/v3/documents/batch', { documents: [{ content: 'x' }, { content: 'x', filepath: '/a' }] }),
    ).toBe('documents.filepath');
    expect(await noted('POST', '/v4/search', { q: 'x', docId: 'a', include: { chunks: true } })).toBe(
      'docId, include.chunks',
    );
    expect(await noted('POST', '/v4/search', { q: 'x', include: { documents: true } })).toBeUndefined();
    expect(await noted('POST', '/v4/memories', { ...tag, memories: [{ content: 'x' }] })).toBe('*');
    expect(await noted('GET', '/v3/documents/processing')).toBe('*');
    expect(await noted('POST', '/ns/shared/search', { query: 'x' })).toBeUndefined();
  });

  it('is a field of the operation, or one that is there', async () => {
    const { paths } = (await test.call('GET', '/openapi.json', undefined, null)).body;
    for (const [route, names] of Object.entries(withoutCounterpart)) {
      const [method, url] = route.split(' ') as [string, string];
      const described = paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
      expect([route, described]).toEqual([route, expect.any(Object)]);
      const [media] = Object.values<any>(described.requestBody?.content ?? {});
      for (const name of names.filter((one) => one !== '*')) {
        const [first, second] = name.split('.');
        const field = media.schema.properties[first!];
        expect([route, name, field]).toEqual([route, name, expect.any(Object)]);
        if (second === undefined) continue;
        const inner = JSON.stringify(field);
        expect([name, inner.includes(`"${second}"`)]).toEqual([name, true]);
      }
    }
  });
});
