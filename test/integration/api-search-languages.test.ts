import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

describe('a word in another form than it has in a text', () => {
  let test: TestApi;
  beforeAll(async () => {
    test = await startTestApi();
  });
  afterAll(() => test.close());

  const add = async (content: string, containerTag: string): Promise<string> => {
    const { body } = await test.call('POST', '/v3/documents', { content, containerTag });
    await test.process();
    return body.id;
  };
  const found = async (q: string, containerTag?: string): Promise<number> => {
    const where = containerTag === undefined ? {} : { containerTag };
    const { body } = await test.call('POST', '/v4/search', { q, searchMode: 'documents', threshold: 0.6, ...where });
    return body.results.length;
  };

  it('is found in a document, in its container and in all', async () => {
    await add('Die Verlobung wird im Garten gefeiert, und alle bringen Kuchen mit.', 'garden');
    expect(await found('Kuchens', 'garden')).toBe(1);
    expect(await found('Kuchens')).toBe(1);
  });

  it('is found in a memory', async () => {
    const memories = [{ content: 'Die Wohnung hat zwei Balkone, und der Keller ist trocken.' }];
    await test.call('POST', '/v4/memories', { memories, containerTag: 'flat' });
    const { body } = await test.call('POST', '/v4/search', { q: 'Balkonen', containerTag: 'flat', threshold: 0.6 });
    expect(body.results).toHaveLength(1);
  });

  it('is found where its document was moved to', async () => {
    const id = await add('Der Zahnarzt hat zwei Füllungen gemacht, und die Krone kommt noch.', 'before');
    await test.call('PATCH', `/v3/documents/${id}`, { containerTag: 'after' });
    await test.process();
    expect(await found('Kronen', 'after')).toBe(1);
  });

  it('is found where its container was merged into', async () => {
    await add('Les factures sont dans le tiroir, et la clé est chez les voisins.', 'left');
    await add('Nothing else is here.', 'right');
    await test.services.merges.start(['left'], 'right');
    await expect.poll(() => found('voisine', 'right')).toBe(1);
  });

  it('leaves no language behind in a container that is deleted', async () => {
    await add('Die Reifen liegen im Keller, und die Felgen sind sauber.', 'gone');
    await test.call('DELETE', '/v3/container-tags/gone');
    const rows = await test.database.query(sql`select language from text_languages where container_tag = 'gone'`);
    expect(rows).toEqual([]);
  });
});
