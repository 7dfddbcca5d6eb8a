import { afterEach, describe, expect, it } from 'vitest';
import { addFile } from '../../fixtures/servers/notion/files.ts';
import { idFor, type StoredBlock, type Workspace } from '../../fixtures/servers/notion/workspace.ts';
import { textOf } from '../../fixtures/servers/notion/answers.ts';
import { sql } from '../../src/store/sql.ts';
import { createNotionFixture, type NotionFixture, type NotionFixtureOptions } from './notion-fixture.ts';

let fixture: NotionFixture;
afterEach(() => fixture.close());

async function mirrored(fill: (workspace: Workspace) => void, options: NotionFixtureOptions = {}) {
  fixture = await createNotionFixture({ ...options, fill });
  const run = await fixture.mirror.sync();
  expect(run.error).toBeNull();
  return fixture;
}

const textOfPage = async (name: string) => (await fixture.mirror.texts()).get(idFor(name));

async function rowOf(name: string): Promise<{ title: string; metadata: Record<string, unknown> }> {
  const [row] = await fixture.database.query<{ title: string; metadata: Record<string, unknown> }>(sql`
    select title, metadata from documents where custom_id = ${`notion:${idFor(name)}`} and deleted_at is null`);
  return row!;
}

const block = (name: string, type: string, holds: object, children: string[] = []): StoredBlock => ({
  id: idFor(name),
  type,
  holds,
  children: children.map(idFor),
});

describe('the text of a page', () => {
  it('is asked for part by part where Notion leaves parts out, also of parts', async () => {
    await mirrored((all) => {
      const at = 'long';
      all.addPage(at, {
        text: `Begin.\n<unknown url="https://app.notion.com/p/${idFor('a').replaceAll('-', '')}"/>\nEnd.`,
      });
      all.leftOut.set(idFor(at), [idFor('a'), idFor('b')]);
      all.parts.set(idFor('a'), 'Middle.');
      all.parts.set(idFor('b'), 'Further.');
      all.leftOut.set(idFor('b'), [idFor('c')]);
      all.parts.set(idFor('c'), 'Deeper.');
    });
    expect(await textOfPage('long')).toBe('Begin.\nMiddle.\nEnd.\n\nFurther.\n\nDeeper.');
    expect(fixture.takeRequests().filter((line) => line.endsWith('/markdown'))).toHaveLength(4);
  });

  it('ends when a page contains itself, and says what is not shown', async () => {
    await mirrored((all) => {
      all.addPage('circle', { text: 'Around.' });
      all.leftOut.set(idFor('circle'), [idFor('circle'), idFor('half')]);
      all.parts.set(idFor('half'), 'Half.');
      all.leftOut.set(idFor('half'), [idFor('circle'), idFor('hidden')]);
    });
    expect(await textOfPage('circle')).toBe(
      'Around.\n\nHalf.\n\n*1 parts of this page are not shown to the integration.*',
    );
  });

  it('is read block by block where there is no Markdown, through synced blocks in a circle and unknown types', async () => {
    await mirrored((all) => {
      all.addPage('old', { text: 'No Markdown.' });
      all.withoutMarkdown.add(idFor('old'));
      const first = block('first', 'synced_block', { synced_from: null }, ['inner']);
      const blocks = [
        {
          ...block('old', 'child_page', {}, ['heading', 'todo', 'table', 'first', 'copy', 'lost', 'new']),
          id: idFor('old'),
        },
        block('heading', 'heading_2', { rich_text: textOf('Plan') }),
        block('todo', 'to_do', { rich_text: textOf('Paint'), checked: true }, ['note']),
        block('note', 'paragraph', { rich_text: textOf('In blue') }),
        block('table', 'table', {}, ['row']),
        block('row', 'table_row', { cells: [textOf('a'), textOf('b')] }),
        first,
        block('inner', 'synced_block', { synced_from: { type: 'block_id', block_id: idFor('first') } }, ['words']),
        block('words', 'paragraph', { rich_text: textOf('Said once') }),
        block('copy', 'synced_block', { synced_from: { type: 'block_id', block_id: idFor('first') } }),
        block('lost', 'synced_block', { synced_from: { type: 'block_id', block_id: idFor('not shared') } }),
        block('new', 'hologram', { depth: 3 }),
      ];
      for (const one of blocks) all.blocks.set(one.id, one);
    });
    expect(await textOfPage('old')).toBe(
      '## Plan\n\n- [x] Paint\n\n  In blue\n\n| a | b |\n\n*1 parts of this page are not shown to the integration.*',
    );
  });

  it('holds no signed address, and is the same although these are new each time', async () => {
    const { workspace, clock, mirror } = await mirrored((all) => {
      addFile(all, 'plan.txt', Buffer.from('The plan of the harbour.'));
      addFile(all, 'view.png', Buffer.from('89504e47', 'hex'));
      all.addPage('files', {
        text: 'See [plan]({{file plan.txt}}) and ![view]({{file view.png}}) and https://example.com/?sig=1.',
      });
    });
    const before = await textOfPage('files');
    expect(before).toContain('https://prod-files-secure.s3.us-west-2.amazonaws.com/space/file/plan.txt)');
    expect(before).toContain('The plan of the harbour.');
    expect(before).toContain('https://example.com/?sig=1');
    const everything = JSON.stringify([await mirror.rows(), await mirror.items(), await mirror.partitions(), before]);
    expect(everything).not.toContain('X-Amz-Signature');
    clock.advance(600_000);
    workspace.edit(idFor('files'), {});
    await mirror.sync();
    expect(await textOfPage('files')).toBe(before);
  });

  it('has the comments, each by who wrote it', async () => {
    await mirrored(
      (all) => {
        all.addPage('discussed', { text: 'A plan.' });
        all.comments.set(idFor('discussed'), [
          { id: idFor('remark'), text: 'I like it.', at: Date.parse('2026-02-01') },
        ]);
      },
      { config: { comments: true } },
    );
    const text = await textOfPage('discussed');
    expect(text).toContain('A plan.');
    expect(text).toContain('Comment, Mira, 2026-02-01');
    expect(text).toContain('I like it.');
  });

  it('is skipped as empty when there is only a title, and a title may be 300 emoji', async () => {
    const title = '🌊'.repeat(300);
    await mirrored((all) => {
      all.addPage('empty');
      all.addPage('emoji', { title, text: 'Waves.' });
    });
    const items = await fixture.mirror.items();
    expect(items.find(({ ext_id: id }) => id === idFor('empty'))).toMatchObject({ state: 'skipped' });
    expect((await rowOf('emoji')).title).toBe(title);
  });
});

describe('properties of a page', () => {
  const properties = {
    Status: { id: 'a', type: 'status', status: { id: '1', name: 'Done', color: 'green' } },
    Tags: { id: 'b', type: 'multi_select', multi_select: [{ name: 'sea' }, { name: 'boat' }] },
    Due: { id: 'c', type: 'date', date: { start: '2026-04-01', end: null, time_zone: null } },
    Effort: { id: 'd', type: 'number', number: 3 },
    Urgent: { id: 'e', type: 'checkbox', checkbox: true },
    Owner: { id: 'f', type: 'people', people: [{ object: 'user', id: idFor('user mira') }] },
    Needs: { id: 'g', type: 'relation', relation: [{ id: idFor('other') }, { id: idFor('hidden') }], has_more: false },
    Notes: { id: 'h', type: 'rich_text', rich_text: textOf('Two\nlines: here') },
    Nothing: { id: 'i', type: 'select', select: null },
    Press: { id: 'j', type: 'button', button: {} },
    Sum: { id: 'k', type: 'rollup', rollup: { type: 'number', number: 7, function: 'sum' } },
    Later: { id: 'l', type: 'of_a_later_version', of_a_later_version: { x: 1 } },
  };

  it('stand before the text and in the metadata, with names for ids', async () => {
    await mirrored((all) => {
      const source = all.addSource('Tasks');
      all.addPage('other', { title: 'The other page', text: 'Other.' });
      all.addPage('task', { text: 'Body.', properties, parent: { type: 'source', id: source.id } });
      all.addPage('hidden', { isHidden: true });
    });
    expect(await textOfPage('task')).toBe(
      [
        '---',
        'Due: 2026-04-01',
        'Effort: 3',
        'Needs: The other page',
        'Notes: Two lines: here',
        'Owner: Mira',
        'Status: Done',
        'Sum: 7',
        'Tags: sea, boat',
        'Urgent: yes',
        '---',
        '',
        'Body.',
      ].join('\n'),
    );
    const { title, metadata } = await rowOf('task');
    expect(title).toBe('task');
    expect(metadata).toMatchObject({
      Status: 'Done',
      Tags: ['sea', 'boat'],
      Effort: 3,
      Urgent: true,
      createdBy: 'Mira',
    });
  });

  it('with more entries than a page shows are read whole', async () => {
    const related = Array.from({ length: 40 }, (_, index) => ({ id: idFor(`related ${index}`) }));
    await mirrored((all) => {
      for (let index = 0; index < 40; index++)
        all.addPage(`related ${index}`, { title: `Related ${index}`, text: 'x' });
      const property = { id: 'r', type: 'relation', relation: related.slice(0, 25), all: related, has_more: true };
      all.addPage('hub', { text: 'Hub.', properties: { All: property } });
    });
    expect((await rowOf('hub')).metadata['All']).toHaveLength(40);
    const requests = fixture.takeRequests();
    expect(requests.filter((line) => line.includes('/properties/'))).toHaveLength(1);
    // Titles that a list has shown are not asked for.
    expect(requests.filter((line) => /^GET \/v1\/pages\/[^/]+$/.test(line))).toEqual([]);
  });

  it('that are too long for the ledger cost one request more', async () => {
    const long = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `Text ${index}`,
        { id: String(index), type: 'rich_text', rich_text: textOf('word '.repeat(390)) },
      ]),
    );
    await mirrored((all) => void all.addPage('long', { text: 'Body.', properties: long }));
    expect(await textOfPage('long')).toContain('Text 19: word word');
    expect(fixture.takeRequests().filter((line) => line === `GET /v1/pages/${idFor('long')}`)).toHaveLength(1);
  });
});
