import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { DocumentInput } from '../../src/engine/document.ts';
import { createDocuments } from '../../src/engine/document-service.ts';
import { createProcessor, type Processor } from '../../src/engine/process.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

const textWork = createTextWork({ log: silentLogger });
afterAll(() => textWork.close());

/** A file as the folder connector hands it over. */
const file = (filepath: string, text: string, more: Partial<DocumentInput> = {}): DocumentInput => ({
  containerTag: 'notes',
  customId: 'file',
  source: 'folder',
  connectionId: 'folder',
  filepath,
  body: { kind: 'file', bytes: Buffer.from(text), name: filepath.slice(filepath.lastIndexOf('/') + 1) },
  ...more,
});

describe('a mirrored file', () => {
  let opened: TestDatabase;
  let documents: ReturnType<typeof createDocuments>;
  let processor: Processor;
  beforeEach(async () => {
    opened = await openTestDatabase();
    const { database } = opened;
    const clock = createTestClock();
    documents = createDocuments({ database, clock, wake: async () => {} });
    const embedder = createHashingEmbedder();
    processor = createProcessor({ database, clock, log: silentLogger, textWork, embedder });
    const now = clock.now();
    await database.execute(sql`
      insert into connections (id, provider, container_tag, status, created_at, updated_at)
      values ('folder', 'folder', 'notes', 'active', ${now}, ${now})`);
  });
  afterEach(() => opened.close());

  const add = (input: DocumentInput) => documents.add([input]);
  const process = () => processor.drain(new AbortController().signal);
  const titles = async () => {
    const rows = await opened.database.query<{ title: string | null }>(
      rawSql('select title from documents order by id'),
    );
    return rows.map(({ title }) => title);
  };
  const contexts = async () => {
    const rows = await opened.database.query<{ context: string | null }>(
      rawSql('select context from chunks order by id'),
    );
    return rows.map(({ context }) => context);
  };

  it('is called by its name until it is read, and then as its text calls itself', async () => {
    await add(file('home/trips/lisbon/plan.md', '# Four days in Lisbon\n\nWe fly on 9 May.'));
    expect(await titles()).toEqual(['plan.md']);
    await process();
    expect(await titles()).toEqual(['Four days in Lisbon']);
  });

  it('is found by its name and the folders that it lies in, and by its title', async () => {
    await add(file('home/trips/lisbon/plan.md', '# Four days in Lisbon\n\nWe fly on 9 May.'));
    await add(file('bill.txt', 'Forty euros.', { customId: 'bill' }));
    await add(file('a/b.html', '<title>Tide tables</title><p>High water at four.', { customId: 'page' }));
    await process();
    expect(new Set(await contexts())).toEqual(new Set(['a/b.html', 'bill.txt', 'trips/lisbon/plan.md']));
  });

  it('keeps its own title under a new name, and takes the new name where it has none', async () => {
    await add(file('plan.md', '# Lisbon\n\nWe fly on 9 May.'));
    await add(file('bill.txt', 'Forty euros.', { customId: 'bill' }));
    await process();
    await add(file('trip.md', '# Lisbon\n\nWe fly on 9 May.'));
    await add(file('plumber.txt', 'Forty euros.', { customId: 'bill' }));
    expect(await titles()).toEqual(['Lisbon', 'plumber.txt']);
  });

  it('that was given its name as title before is called as its text calls itself once it changes', async () => {
    await add(file('plan.md', '# Lisbon\n\nWe fly on 9 May.'));
    await opened.database.execute(sql`update documents set given_title = 'plan.md', title = 'plan.md'`);
    await add(file('plan.md', '# Lisbon\n\nWe fly on 10 May.'));
    await process();
    expect(await titles()).toEqual(['Lisbon']);
  });

  it('is called as its text calls itself also where its source names it, as services for files do', async () => {
    await add(file('trips/plan.md', '# Lisbon\n\nWe fly on 9 May.', { title: 'plan.md' }));
    await add(file('bill.txt', 'Forty euros.', { title: 'bill.txt', customId: 'bill' }));
    await add(file('sheet.md', '# Draft\n\nTides.', { title: 'Tide tables', customId: 'sheet' }));
    expect(await titles()).toEqual(['plan.md', 'bill.txt', 'Tide tables']);
    await process();
    expect(await titles()).toEqual(['Lisbon', 'bill.txt', 'Tide tables']);
  });

  it('keeps a title that somebody gave it', async () => {
    await add(file('plan.md', '# Lisbon\n\nWe fly on 9 May.', { title: 'The big trip' }));
    await add(file('plan.md', '# Lisbon\n\nWe fly on 10 May.'));
    await process();
    expect(await titles()).toEqual(['The big trip']);
  });
});
