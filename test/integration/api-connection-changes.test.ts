import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defineConnector, type Connector } from '../../src/connector/contract.ts';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';

/** Notes of a server; what it was asked with is kept. */
function createNotes() {
  const notes = new Map<string, { text: string; metadata?: Record<string, string> }>();
  const asked: { password: unknown; server: unknown }[] = [];
  const connector: Connector<any, any> = defineConnector<any>({
    spec: {
      name: 'notes',
      version: '2.1.0',
      title: 'Notes',
      kind: 'notes',
      description: 'The notes of a server.',
      config: {
        type: 'object',
        required: ['server', 'password'],
        additionalProperties: false,
        properties: {
          server: { type: 'string', minLength: 3 },
          folder: { type: 'string' },
          password: { type: 'string', 'x-secret': true },
        },
      },
      auth: [],
      schedule: { everyMs: 600_000 },
    },
    check: async () => [],
    partitions: async () => [{ id: 'all' }],
    async list(context) {
      asked.push({ password: context.config.password, server: context.config.server });
      const refs = [...notes].map(([id, { text, metadata }]) => ({
        id,
        rev: text,
        title: id,
        path: id,
        ...(metadata && { metadata }),
      }));
      return { refs, done: true };
    },
    fetch: async (_context, _partition, ref) => ({ text: notes.get(ref.id)!.text }),
  });
  return { notes, asked, connector };
}

describe('changes of a connection', () => {
  const source = createNotes();
  let test: TestApi;
  let id: string;
  let counter = 0;
  beforeAll(async () => {
    test = await startTestApi({ connectors: { notes: source.connector } });
  });
  afterAll(() => test.close());
  beforeEach(async () => {
    source.notes.clear();
    source.asked.length = 0;
    const metadata = { server: 'notes.example.com', password: 'sesame-1', department: 'ops' };
    id = (await test.call('POST', '/v3/connections/notes', { containerTag: `changes_${counter++}`, metadata })).body.id;
  });

  const patch = (body: object) => test.call('PATCH', `/v3/connections/${id}`, body);
  const shown = async () => (await test.call('GET', `/v3/connections/${id}`)).body;
  const sync = () => runDueSync(test, source.connector, id);
  const requested = async () => {
    const [row] = await test.database.query<{ requested: { mode: string } | null }>(
      sql`select requested_sync as requested from connections where id = ${id}`,
    );
    return row!.requested?.mode ?? null;
  };
  const setStatus = (status: string) =>
    test.database.execute(sql`update connections set status = ${status}, status_reason = 'why' where id = ${id}`);
  const documents = async () => {
    const { body } = await test.call('POST', '/v3/documents/list', { connectionId: id, sort: 'createdAt' });
    return new Map<string, { metadata: object; id: string }>(
      body.memories.map((one: { customId: string }) => [one.customId.replace('notes:', ''), one]),
    );
  };

  it('leave what they do not name as it is', async () => {
    await sync();
    const before = await shown();
    expect(await patch({})).toMatchObject({ status: 200, body: before });
    expect(await patch({ onSourceDelete: 'keep', containerTag: 'elsewhere' })).toMatchObject({ status: 400 });
    expect(await shown()).toEqual(before);
    const { body } = await patch({ onSourceDelete: 'keep' });
    expect(body).toEqual({ ...before, onSourceDelete: 'keep' });
    expect(await requested()).toBeNull();
  });

  it('of the schedule move the next sync', async () => {
    await sync();
    expect((await shown()).schedule).toBe('10m');
    const daily = await patch({ schedule: ' 0 8 * * * Europe/Berlin ' });
    expect(daily.body).toMatchObject({ schedule: '0 8 * * * Europe/Berlin' });
    // The next day at 7:00 UTC, and a little later.
    expect(daily.body.nextSyncAt).toMatch(/^2026-03-02T07:0\d/);
    expect((await patch({ allowedHours: '22:00-23:00' })).body).toMatchObject({
      allowedHours: '22:00-23:00',
      nextSyncAt: expect.stringMatching(/T22:/),
    });
    expect((await patch({ schedule: null, allowedHours: null })).body).toMatchObject({
      schedule: null,
      allowedHours: null,
      nextSyncAt: null,
    });
    const often = await patch({ schedule: '30s' });
    expect(often.body.schedule).toBe('30s');
    expect(new Date(often.body.nextSyncAt).getTime()).toBeLessThan(test.clock.now().getTime() + 60_000);
  });

  it.each([
    [{ schedule: '61 * * * *' }, ['schedule']],
    [{ schedule: '5s' }, ['schedule']],
    [{ schedule: '0 8 * * * Mars/Olympus' }, ['schedule']],
    [{ allowedHours: '25:00-26:00' }, ['allowedHours']],
    [{ documentLimit: 0 }, ['documentLimit']],
    [{ documentLimit: 10_001 }, ['documentLimit']],
    [{ onSourceDelete: 'maybe' }, ['onSourceDelete']],
    [{ filters: { includes: ['*.md'] } }, ['filters', 'includes']],
    [{ filters: { include: ['['] } }, ['filters', 'include', 0]],
    [{ filters: { maxBytes: 'many' } }, ['filters', 'maxBytes']],
    [{ metadata: { server: 'x' } }, ['metadata', 'server']],
    [{ metadata: { server: null } }, ['metadata', 'server']],
    [{ metadata: { password: null } }, ['metadata', 'password']],
    [{ paused: 'yes' }, ['paused']],
  ])('%j are refused with the field, and nothing of them is done', async (wrong, path) => {
    const { status, body } = await patch({ onSourceDelete: 'keep', paused: true, ...wrong });
    expect([status, body.success, body.error?.[0].path]).toEqual([400, false, path]);
    // What is sent here may be a secret.
    expect(body.data).toBeUndefined();
    expect(await shown()).toMatchObject({ onSourceDelete: 'delete', status: 'active' });
  });

  it('of settings start a full sync with them', async () => {
    await sync();
    const { body } = await patch({ metadata: { server: 'other.example.com' } });
    expect(body.metadata).toMatchObject({ server: 'other.example.com', department: 'ops' });
    expect(await requested()).toBe('full');
    await sync();
    expect(source.asked.at(-1)).toEqual({ server: 'other.example.com', password: 'sesame-1' });
    await patch({ metadata: { folder: 'inbox' } });
    expect((await patch({ metadata: { folder: null } })).body.metadata).not.toHaveProperty('folder');
  });

  it('of secrets replace stored ones, which are never shown', async () => {
    await sync();
    const answer = await patch({ metadata: { password: 'sesame-2' } });
    expect(answer.status).toBe(200);
    await sync();
    expect(source.asked.map(({ password }) => password)).toEqual(['sesame-1', 'sesame-2']);
    const everything = JSON.stringify([
      answer.body,
      await shown(),
      await test.database.query(sql`select * from connections`),
    ]);
    expect(everything + test.logged()).not.toContain('sesame');
  });

  it('of metadata reach the documents that are there, unless an item has a field of its own', async () => {
    source.notes.set('plain', { text: 'One.' });
    source.notes.set('own', { text: 'Two.', metadata: { department: 'sales', region: 'north' } });
    await sync();
    await patch({ metadata: { department: 'legal', region: 'south', floor: 3 } });
    const changed = await documents();
    expect(changed.get('plain')!.metadata).toEqual({ department: 'legal', region: 'south', floor: 3 });
    expect(changed.get('own')!.metadata).toEqual({ department: 'sales', region: 'north', floor: 3 });
    await patch({ metadata: { department: null, floor: null } });
    const less = await documents();
    expect(less.get('plain')!.metadata).toEqual({ region: 'south' });
    expect(less.get('own')!.metadata).toEqual({ department: 'sales', region: 'north' });
    expect((await shown()).metadata).toEqual({
      server: 'notes.example.com',
      region: 'south',
      lastSyncedAt: test.clock.now().getTime(),
    });
    // A sync brings nothing else.
    await test.call('POST', `/v3/connections/${id}/sync`, { mode: 'full' });
    await sync();
    expect((await documents()).get('plain')!.metadata).toEqual({ region: 'south' });
  });

  it('of filters and of the limit remove what falls out and add what comes in', async () => {
    for (const name of ['a.md', 'b.md', 'c.txt']) source.notes.set(name, { text: `Text of ${name}.` });
    await sync();
    const { body } = await patch({ filters: { include: ['*.md'] } });
    expect(body.filters).toEqual({ include: ['*.md'] });
    await sync();
    expect([...(await documents()).keys()].toSorted()).toEqual(['a.md', 'b.md']);
    expect((await patch({ documentLimit: 1, filters: {} })).body).toMatchObject({ documentLimit: 1, filters: {} });
    await sync();
    expect((await documents()).size).toBe(1);
    expect((await patch({ documentLimit: null })).body).not.toHaveProperty('documentLimit');
    await sync();
    expect((await documents()).size).toBe(3);
  });

  it.each([
    ['needs_configuration', { metadata: { server: 'other.example.com' } }, 'active'],
    ['needs_reauth', { metadata: { password: 'sesame-2' } }, 'active'],
    ['needs_reauth', { metadata: { department: 'legal' } }, 'needs_reauth'],
    ['paused', { metadata: { server: 'other.example.com' } }, 'paused'],
    ['paused', { paused: false }, 'active'],
    ['needs_reauth', { paused: true }, 'paused'],
  ])('of one that is %s by %j make it %s', async (before, change, after) => {
    await setStatus(before);
    expect((await patch(change)).body).toMatchObject({
      status: after,
      statusReason: after === before ? 'why' : null,
    });
  });

  it('are for full keys that write', async () => {
    for (const key of [await test.newKey({ permission: 'read' }), await test.newKey({ containerTags: ['x'] })]) {
      for (const method of ['PATCH', 'DELETE'] as const) {
        expect((await test.call(method, `/v3/connections/${id}`, {}, key)).status).toBe(403);
      }
    }
  });

  it('are tried out by a dry run', async () => {
    source.notes.set('kept', { text: 'One.' });
    source.notes.set('edited', { text: 'Two.' });
    source.notes.set('gone', { text: 'Three.' });
    await sync();
    source.notes.set('edited', { text: 'Two, again.' });
    source.notes.set('new', { text: 'Four.' });
    source.notes.delete('gone');
    const { status, body: started } = await test.call('POST', `/v3/connections/${id}/sync`, { dryRun: true });
    expect([status, started.dryRun, started.status]).toEqual([202, true, 'running']);
    expect(started).not.toHaveProperty('report');
    expect((await test.call('POST', `/v3/connections/${id}/sync`, { dryRun: true })).status).toBe(409);
    const before = await documents();
    await sync();
    const { body } = await test.call('GET', `/v3/connections/${id}/runs/${started.id}`);
    expect(body).toMatchObject({
      status: 'completed',
      dryRun: true,
      report: {
        added: { count: 1, ids: ['new'] },
        updated: { count: 1, ids: ['edited'] },
        deleted: { count: 1, ids: ['gone'] },
        incomplete: null,
      },
    });
    expect(await documents()).toEqual(before);
  });

  it('end with a removal that goes on by itself when it was interrupted', async () => {
    source.notes.set('a', { text: 'One.' });
    await sync();
    const [document] = (await documents()).values();
    await test.database.execute(sql`
      update connections set status = 'deleting', updated_at = ${test.clock.now()} where id = ${id}`);
    await test.services.connections.finishRemovals(new AbortController().signal);
    expect((await test.call('GET', `/v3/documents/${document!.id}`)).status).toBe(200);
    test.clock.advance(120_000);
    await test.services.connections.finishRemovals(new AbortController().signal);
    expect((await test.call('GET', `/v3/documents/${document!.id}`)).status).toBe(404);
    expect(await test.database.query(sql`select id from connections where id = ${id}`)).toEqual([]);
  });

  it('of what is not there are refused in the same words', async () => {
    await test.call('DELETE', `/v3/connections/${id}?deleteDocuments=false`);
    expect(await patch({ paused: true })).toMatchObject({ status: 404, body: { error: 'Connection not found' } });
    expect((await test.call('DELETE', `/v3/connections/${id}?deleteDocuments=maybe`)).status).toBe(400);
  });
});

describe('the documents of a provider', () => {
  it('are listed newest first, by container', async () => {
    const { notes, connector } = createNotes();
    const test = await startTestApi({ connectors: { notes: connector } });
    const connect = async (containerTag: string) => {
      const metadata = { server: `${containerTag}.example.com`, password: 'sesame' };
      const { body } = await test.call('POST', '/v3/connections/notes', { containerTag, metadata });
      await runDueSync(test, connector, body.id);
      return body.id;
    };
    notes.set('first', { text: 'One.', metadata: { department: 'ops' } });
    const left = await connect('left');
    test.clock.advance(1_000);
    notes.clear();
    notes.set('second', { text: 'Two.' });
    await connect('right');
    await test.call('POST', '/v3/documents', { content: 'An upload.', containerTag: 'left' });
    const list = async (body?: object, key?: string) => {
      const answer = await test.call('POST', '/v3/connections/notes/documents', body, key);
      return answer.body.map?.((one: { customId: string }) => one.customId) ?? answer.status;
    };
    expect(await list()).toEqual(['notes:second', 'notes:first']);
    expect(await list({ limit: '1', page: 2 })).toEqual(['notes:first']);
    expect(await list({ limit: 1001 })).toBe(400);
    expect(await list({ containerTags: ['nowhere'] })).toEqual([]);
    expect(await list({}, await test.newKey({ containerTags: ['right'] }))).toEqual(['notes:second']);
    expect(await list({ containerTag: 'left' }, await test.newKey({ containerTags: ['right'] }))).toBe(403);
    const { body } = await test.call('POST', '/v3/connections/notes/documents', { containerTags: ['left'] });
    expect(body).toEqual([
      {
        id: expect.any(String),
        createdAt: '2026-03-01T09:00:00.000Z',
        updatedAt: '2026-03-01T09:00:00.000Z',
        status: 'queued',
        title: expect.toSatisfy((title) => title === null || title === 'first'),
        summary: null,
        type: 'text',
        customId: 'notes:first',
        url: null,
        connectionId: left,
        metadata: { department: 'ops' },
      },
    ]);
    await test.close();
  });
});
