import { afterEach, describe, expect, it } from 'vitest';
import type { DocumentInput } from '../../src/engine/document.ts';
import { ingest } from '../../src/engine/ingest.ts';
import { claimDocuments } from '../../src/store/processing.ts';
import { rawSql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';

const text = (content: string, more: Partial<DocumentInput> = {}): DocumentInput => ({
  containerTag: 'notes',
  customId: 'one',
  source: 'api',
  body: { kind: 'text', text: content },
  ...more,
});

describe('ingest', () => {
  let opened: TestDatabase;
  const clock = createTestClock();
  afterEach(() => opened.close());

  const open = async () => {
    opened = await openTestDatabase();
    const add = (...inputs: DocumentInput[]) => opened.database.transaction((tx) => ingest(tx, inputs, clock));
    const rows = () =>
      opened.database.query<Record<string, unknown>>(
        rawSql(
          `select d.*, c.raw, c.bytes, c.kind from documents d join document_contents c on c.document_id = d.id order by d.id`,
        ),
      );
    const claim = () => {
      const now = clock.now();
      return claimDocuments(opened.database, {
        limit: 10,
        leaseToken: 'a',
        now,
        leaseUntil: new Date(now.getTime() + 1000),
      });
    };
    return { add, rows, claim };
  };

  it('creates, leaves alone, changes fields in place, and queues new content under the same id', async () => {
    const { add, rows } = await open();
    const [created] = await add(text('first'));
    expect(created).toMatchObject({ outcome: 'created', status: 'queued' });
    expect(await add(text('first'))).toEqual([{ id: created!.id, outcome: 'unchanged', status: 'queued' }]);
    const fields = text('first', { metadata: { team: 'ops' }, filepath: '/a' });
    expect(await add(fields)).toEqual([{ id: created!.id, outcome: 'metadata', status: 'queued' }]);
    expect(await add(text('second'))).toEqual([{ id: created!.id, outcome: 'updated', status: 'queued' }]);
    const [row, ...rest] = await rows();
    expect(rest).toEqual([]);
    expect(row).toMatchObject({
      raw: 'second',
      revision: 2,
      metadata: { team: 'ops' },
      filepath: '/a',
      status: 'queued',
    });
  });

  it('touches no row when nothing changed', async () => {
    const { add, rows } = await open();
    await add(text('first', { metadata: { b: 1, a: ['x'] } }));
    const before = await rows();
    clock.advance(60_000);
    await add(text('first', { metadata: { a: ['x'], b: 1 } }));
    expect(await rows()).toEqual(before);
  });

  it('keeps one customId in two containers apart', async () => {
    const { add, rows } = await open();
    const [one, two] = await add(text('first'), text('first', { containerTag: 'other' }));
    expect(one!.id).not.toBe(two!.id);
    expect(await rows()).toHaveLength(2);
  });

  it('applies inputs with one customId in order, the last one wins', async () => {
    const { add, rows } = await open();
    const results = await add(text('first'), text('second'), text('third', { customId: 'two' }), text('fourth'));
    expect(new Set([results[0]!.id, results[1]!.id, results[3]!.id]).size).toBe(1);
    expect(new Set((await rows()).map((row) => row.raw))).toEqual(new Set(['fourth', 'third']));
  });

  it('appends on request, but not what is already there', async () => {
    const { add, rows } = await open();
    await add(text('first'));
    await add(text('second', { updateMode: 'append' }));
    expect(await add(text('second', { updateMode: 'append' }))).toMatchObject([{ outcome: 'unchanged' }]);
    expect((await rows())[0]!.raw).toBe('first\n\nsecond');
  });

  it('takes a document from its worker when a new revision arrives', async () => {
    const { add, rows, claim } = await open();
    await add(text('first'));
    expect(await claim()).toMatchObject([{ revision: 1, raw: 'first' }]);
    expect(await claim()).toEqual([]);
    await add(text('second'));
    expect((await rows())[0]).toMatchObject({ lease_token: null, status: 'queued', revision: 2 });
    expect(await claim()).toMatchObject([{ revision: 2, raw: 'second' }]);
  });

  it('stores bytes as they are and text with quotes, backslashes and emoji unchanged', async () => {
    const { add, rows } = await open();
    const bytes = Uint8Array.from([0, 1, 92, 39, 255]);
    const odd = `{"a":"\\"} 'x' 🦊 \t\n,null`;
    await add(text(odd), {
      ...text(''),
      customId: 'file',
      body: { kind: 'file', bytes, mimeType: 'application/pdf', name: 'a.pdf' },
    });
    const [first, second] = await rows();
    expect(first!.raw).toBe(odd);
    expect(Uint8Array.from(second!.bytes as Uint8Array)).toEqual(bytes);
  });

  it('lets two writers create one customId at once without an error or a twin', async () => {
    const { add, rows } = await open();
    const results = await Promise.all(Array.from({ length: 6 }, (_, index) => add(text(`version ${index}`))));
    expect(new Set(results.map(([one]) => one!.id)).size).toBe(1);
    expect(await rows()).toHaveLength(1);
  });
});
