import { failed, type Extracted } from './extracted.ts';
import { markdownTable } from './csv.ts';
import { propertiesOf, readXmlEvents } from './office-xml.ts';
import { openParts } from './parts.ts';

type Page = Omit<Extracted, 'type'>;

/** Empty cells and rows at the end of a sheet are written as one that repeats itself a million times. */
const maxRepeats = 100;

/** A text, spreadsheet or presentation of OpenDocument 1.3 as Markdown. Throws `extract_failed`. */
export function openDocumentText(bytes: Uint8Array): Page {
  const parts = openParts(bytes, 'OpenDocument file');
  if (/<manifest:encryption-data/.test(parts.text('META-INF/manifest.xml') ?? ''))
    throw failed('The document is protected by a password.');
  const xml = parts.text('content.xml');
  if (xml === null) throw failed('The OpenDocument file is damaged: it has no content.');
  const { title, metadata } = propertiesOf(parts);
  return { text: createReader().read(xml), format: 'markdown', title: title ?? null, metadata };
}

function createReader() {
  const blocks: string[] = [];
  const state = { text: '', depth: 0, lists: 0, isHidden: 0 };
  let rows: string[][] | null = null;
  let cell: { text: string[]; repeats: number } | null = null;

  function openTable(attributes: Readonly<Record<string, string>>): void {
    const name = attributes['table:name'] ?? '';
    if (state.depth === 0 && name !== '') blocks.push(`## ${name}`);
    rows = [];
  }

  function closeCell(): void {
    const row = rows?.at(-1);
    for (let times = 0; row && cell && times < cell.repeats; times++) row.push(cell.text.join(' '));
    cell = null;
  }

  function closeTable(): void {
    const trimmed = (rows ?? []).map(withoutEnd).filter((row) => row.length > 0);
    const heading = blocks.at(-1)?.startsWith('## ') === true;
    if (trimmed.length > 0) blocks.push(markdownTable(trimmed));
    else if (heading) blocks.pop();
    rows = null;
  }

  function closeText(level: number | null): void {
    const text = state.text.replace(/\s+/g, ' ').trim();
    state.text = '';
    if (text === '') return;
    if (cell) cell.text.push(text);
    else if (level !== null) blocks.push(`${'#'.repeat(Math.min(Math.max(level, 1), 6))} ${text}`);
    else blocks.push(state.lists > 0 ? `${'  '.repeat(state.lists - 1)}- ${text}` : text);
  }

  return {
    read(xml: string): string {
      let level: number | null = null;
      let isRead = 0;
      readXmlEvents(xml, {
        open(name, attributes) {
          if (name === 'text:h' || name === 'text:p') {
            isRead += 1;
            level = name === 'text:h' ? Number(attributes['text:outline-level'] ?? 1) : null;
          }
          if (name === 'text:list') state.lists += 1;
          if (name === 'text:note' || name === 'office:annotation' || name === 'text:tracked-changes')
            state.isHidden += 1;
          if (name === 'text:s') state.text += ' ';
          if (name === 'text:tab' || name === 'text:line-break') state.text += ' ';
          if (name === 'draw:page') blocks.push(`## ${attributes['draw:name'] ?? 'Page'}`);
          if (name === 'table:table') openTable(attributes);
          if (name === 'table:table-row') rows?.push([]);
          if (name === 'table:table-cell' || name === 'table:covered-table-cell') {
            cell = {
              text: [],
              repeats: Math.min(Number(attributes['table:number-columns-repeated'] ?? 1), maxRepeats),
            };
          }
        },
        text(part) {
          if (isRead > 0 && state.isHidden === 0) state.text += part;
        },
        close(name) {
          if (name === 'text:h' || name === 'text:p') {
            isRead -= 1;
            if (state.isHidden === 0) closeText(level);
            level = null;
          }
          if (name === 'text:list') state.lists -= 1;
          if (name === 'text:note' || name === 'office:annotation' || name === 'text:tracked-changes')
            state.isHidden -= 1;
          if (name === 'table:table-cell' || name === 'table:covered-table-cell') closeCell();
          if (name === 'table:table') closeTable();
        },
      });
      return joined(blocks);
    },
  };
}

function withoutEnd(row: readonly string[]): string[] {
  return row.slice(0, row.findLastIndex((one) => one !== '') + 1);
}

/** Items of a list stand below each other. */
function joined(blocks: readonly string[]): string {
  const isItem = (block: string | undefined) => /^ *- /.test(block ?? '');
  return blocks.reduce((text, block, index) => {
    if (index === 0) return block;
    return `${text}${isItem(block) && isItem(blocks[index - 1]) ? '\n' : '\n\n'}${block}`;
  }, '');
}
