import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FetchedDocument } from '../../src/connector/contract.ts';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { runDueSync } from '../support/api-sync.ts';
import { scriptedConnector } from '../support/scripted-connector.ts';

/** A source that shows what a test puts into it. */
function shelf() {
  const items = new Map<string, FetchedDocument & { rev: string }>();
  const connector = scriptedConnector({
    name: 'shelf',
    list: () => ({ refs: [...items].map(([id, { rev }]) => ({ id, rev })), done: true }),
    fetch: (_, ref) => items.get(ref.id),
  });
  let edits = 0;
  const put = (id: string, document: FetchedDocument) => void items.set(id, { ...document, rev: `${edits++}` });
  return { connector, put, remove: (id: string) => items.delete(id), clear: () => items.clear() };
}

describe('trust in statements', () => {
  const source = shelf();
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi({ connectors: { shelf: source.connector } });
  });
  beforeEach(() => source.clear());
  afterAll(() => test.close());

  async function connect(containerTag: string, settings: object = {}): Promise<string> {
    const { body } = await test.call('POST', '/v3/connections/shelf', { containerTag, ...settings });
    return body.id as string;
  }
  async function sync(id: string): Promise<void> {
    await test.call('POST', `/v3/connections/${id}/sync`, {});
    await runDueSync(test, source.connector, id);
    await test.process();
    await test.dream();
  }
  const tell = async (containerTag: string, content: string, more: object = {}) => {
    const { body } = await test.call('POST', '/v3/documents', { containerTag, content, dreaming: 'instant', ...more });
    await test.process();
    return body.id as string;
  };
  const rows = (tag: string) =>
    test.database.query<Record<string, any>>(sql`
      select memory, author, trust, version, is_latest as latest, is_forgotten as forgotten, forgotten_by as by from memories
      where container_tag = ${tag} and kind = 'fact' order by created_at, id`);
  const standing = async (tag: string) =>
    (await rows(tag))
      .filter(({ latest, forgotten }) => latest && !forgotten)
      .map(({ memory }): string => memory)
      .sort((left, right) => left.localeCompare(right));

  it('mirrored sources make no memories unless they are set to, and never speak as the user', async () => {
    source.put('mail', {
      text: 'I live in Porto. The API rate limit is 600 requests.',
      author: 'Lena Weber <lena@example.com>',
    });
    const off = await connect('quiet');
    await sync(off);
    expect(await rows('quiet')).toEqual([]);
    await test.call('DELETE', `/v3/connections/${off}`);
    await sync(await connect('facts', { memories: 'facts' }));
    const found = await rows('facts');
    expect(found).toMatchObject([{ author: 'Lena Weber <lena@example.com>', trust: 'read' }, { trust: 'read' }]);
    expect(found.some(({ memory }) => /the user/i.test(memory))).toBe(false);
  });

  it('is the author of each part of a document', async () => {
    source.put('thread', {
      parts: [
        { title: 'Alice, 2026-02-01', text: 'I live in Bonn.', author: 'Alice <alice@example.com>', own: true },
        { title: 'Lena, 2026-02-02', text: 'I live in Porto.', author: 'Lena <lena@example.com>' },
        { title: 'notes.txt', text: 'I live in Rome.' },
      ],
    });
    const id = await connect('thread');
    await sync(id);
    expect(await rows('thread')).toMatchObject([
      { memory: 'Alice lives in Bonn.', author: 'Alice <alice@example.com>', trust: 'own' },
    ]);
    const { body } = await test.call('POST', '/v3/documents/list', { containerTags: ['thread'] });
    expect(body.memories).toHaveLength(1);
  });

  it('told facts give way to nothing that was read, and what was read gives way to them', async () => {
    await tell('limits', "Falcon's deadline is 4 March 2026.");
    test.clock.advance(60_000);
    source.put('news', { text: "Falcon's deadline is 9 March 2026.", updatedAt: '2026-03-01T12:00:00Z' });
    const id = await connect('limits', { memories: 'facts' });
    await sync(id);
    expect(await standing('limits')).toEqual([
      "Falcon's deadline is 4 March 2026.",
      "Falcon's deadline is 9 March 2026.",
    ]);
    test.clock.advance(24 * 60 * 60_000);
    await tell('limits', "Falcon's deadline is 12 March 2026.");
    const found = await rows('limits');
    expect(found.filter(({ trust, latest }) => trust === 'told' && latest)).toMatchObject([
      { memory: "Falcon's deadline is 12 March 2026.", version: 2 },
    ]);
  });

  it('the same words are one memory of several sources only where they are equally trusted', async () => {
    await tell('equal', "Falcon's budget is 10,000 euros.");
    await tell('equal', "Falcon's budget is 10,000 euros.");
    source.put('copy', { text: "Falcon's budget is 10,000 euros." });
    await sync(await connect('equal', { memories: 'facts' }));
    expect((await rows('equal')).map(({ trust }) => trust)).toEqual(['told', 'read']);
  });

  it('a fact read about one person is not changed by statements about another', async () => {
    source.put('a', { text: "Falcon's manager is Alice.", author: 'Alice', updatedAt: '2026-01-01T00:00:00Z' });
    source.put('b', { text: "Falcon's manager is Bob.", author: 'Bob', updatedAt: '2026-01-02T00:00:00Z' });
    source.put('c', { text: "Falcon's manager is Carol.", author: 'Alice', updatedAt: '2026-01-03T00:00:00Z' });
    await sync(await connect('voices', { memories: 'facts' }));
    expect(await standing('voices')).toEqual(["Falcon's manager is Bob.", "Falcon's manager is Carol."]);
  });

  it('an older document that comes later does not replace a newer statement, and takes over when that goes', async () => {
    const newer = await tell('late', 'I moved to Berlin.', { documentDate: '2026-02-01' });
    await tell('late', 'I live in Porto.', { documentDate: '2026-01-01' });
    expect(await standing('late')).toEqual(['The user moved to Berlin.']);
    expect(await rows('late')).toMatchObject([
      { version: 2, latest: true },
      { version: 1, latest: false },
    ]);
    await test.call('DELETE', `/v3/documents/${newer}`);
    expect(await rows('late')).toMatchObject([{ memory: 'The user lives in Porto.', version: 1, latest: true }]);
  });

  it('a text that goes back to what it said has its old memory back', async () => {
    await tell('back', 'I live in Porto.', { customId: 'note' });
    const [first] = await rows('back');
    await tell('back', 'I live in Berlin.', { customId: 'note' });
    expect(await standing('back')).toEqual(['The user lives in Berlin.']);
    await tell('back', 'I live in Porto.', { customId: 'note' });
    expect(await standing('back')).toEqual([first!['memory']]);
    expect((await rows('back')).filter(({ latest }) => latest)).toHaveLength(1);
  });

  it('a forgotten fact comes back when it is told again, and from no source', async () => {
    source.put('again', { text: "Falcon's budget is 10,000 euros." });
    const id = await connect('forgotten', { memories: 'facts' });
    await sync(id);
    const forget = { containerTag: 'forgotten', content: "Falcon's budget is 10,000 euros." };
    expect((await test.call('DELETE', '/v4/memories', forget)).status).toBe(200);
    source.put('again', { text: "Falcon's budget is 10,000 euros. Bob works at Acme." });
    await sync(id);
    expect(await standing('forgotten')).toEqual(['Bob works at Acme.']);
    await test.call('DELETE', `/v3/connections/${id}`);
    await sync(await connect('forgotten', { memories: 'facts' }));
    expect(await standing('forgotten')).toEqual(['Bob works at Acme.']);
    await tell('forgotten', "Falcon's budget is now 10,000 euros!", { documentDate: '2026-01-01' });
    expect(await standing('forgotten')).toEqual(['Bob works at Acme.']);
    test.clock.advance(1_000);
    await tell('forgotten', "Falcon's budget is 10,000 euros.");
    expect(await standing('forgotten')).toEqual(['Bob works at Acme.', "Falcon's budget is 10,000 euros."]);
  });

  it('front matter names the author of a file, and the connection that of all others', async () => {
    source.put('file', { file: { bytes: Buffer.from('---\nauthor: Bob\n---\n\nI live in Porto.\n'), name: 'a.md' } });
    source.put('other', { file: { bytes: Buffer.from('# Notes\n\nI live in Bonn.\n'), name: 'b.md' } });
    await sync(await connect('matter', { trust: 'own', author: 'Alice' }));
    expect(await rows('matter')).toMatchObject([{ memory: 'Alice lives in Bonn.', author: 'Alice', trust: 'own' }]);
    await sync(await connect('every', { trust: 'own', author: 'Alice', memories: 'facts' }));
    const trusted = new Map((await rows('every')).map(({ memory, trust }) => [memory, trust]));
    expect(Object.fromEntries(trusted)).toEqual({ 'Alice lives in Bonn.': 'own', 'Bob lives in Porto.': 'read' });
  });

  it('a changed setting is applied to what is there, and back again', async () => {
    source.put('note', { text: 'Carol lives in Rome.' });
    const id = await connect('settings', { memories: 'facts' });
    await sync(id);
    const before = await rows('settings');
    expect(before).toMatchObject([{ memory: 'Carol lives in Rome.', trust: 'read', forgotten: false }]);
    const set = async (path: string, body: object) => {
      expect((await test.call('PATCH', path, body)).body).toMatchObject(body);
      await test.dream();
    };
    await set(`/v3/connections/${id}`, { memories: 'off' });
    expect(await rows('settings')).toMatchObject([{ forgotten: true, by: 'source' }]);
    await set('/v3/container-tags/settings', { memories: 'facts' });
    expect(await standing('settings')).toEqual([]);
    await set(`/v3/connections/${id}`, { memories: null });
    expect(await rows('settings')).toEqual(before);
    await set(`/v3/connections/${id}`, { trust: 'own', author: 'Alice' });
    expect((await rows('settings')).filter(({ forgotten }) => !forgotten)).toMatchObject([
      { memory: 'Carol lives in Rome.', trust: 'own', author: 'Alice' },
    ]);
  });

  it('a document that goes takes its version along, and brings it back', async () => {
    source.put('old', { text: 'I live in Porto.', author: 'Lena', updatedAt: '2026-01-01T00:00:00Z' });
    source.put('new', { text: 'I live in Berlin.', author: 'Lena', updatedAt: '2026-02-01T00:00:00Z' });
    const id = await connect('gone', { memories: 'facts' });
    await sync(id);
    expect(await standing('gone')).toEqual(['Lena lives in Berlin.']);
    source.remove('new');
    await sync(id);
    expect(await standing('gone')).toEqual(['Lena lives in Porto.']);
    source.put('new', { text: 'I live in Berlin.', author: 'Lena', updatedAt: '2026-02-01T00:00:00Z' });
    await sync(id);
    expect(await standing('gone')).toEqual(['Lena lives in Berlin.']);
    expect((await rows('gone')).filter(({ latest }) => latest)).toHaveLength(1);
  });

  it('read facts enter a profile only where that is allowed, and episodes never', async () => {
    await tell('profile', 'I live in Porto.');
    source.put('about', { text: 'Carol lives in Rome.' });
    const id = await connect('profile', { memories: 'facts' });
    await sync(id);
    const shown = async () => {
      const { body } = await test.call('POST', '/v4/profile', { containerTag: 'profile' });
      return [...body.profile.static, ...body.profile.dynamic].sort((left: string, right: string) =>
        left.localeCompare(right),
      );
    };
    expect(await shown()).toEqual(['The user lives in Porto.']);
    await test.call('PATCH', `/v3/connections/${id}`, { inProfile: true });
    expect(await shown()).toEqual(['Carol lives in Rome.', 'The user lives in Porto.']);
  });
});
