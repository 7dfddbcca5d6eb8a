import TurndownService from 'turndown';
import { markdownTable } from './csv.ts';
import type { DomElement, DomNode } from './dom.ts';
import { fenced } from './plain.ts';

/** Control characters that no text holds: they separate cells and rows until the table is complete. */
const cellMark = '\u001f';
const rowMark = '\u001e';
/** Stands for white space of which the writer's expressions would try every start, until the text is complete. */
const spaceMark = '\u001d';
const lineMark = '\u001c';
const maxAddress = 200;
const textNode = 3;

/**
 * Writes Markdown for people and search: links keep their addresses only when they lead to another
 * site, images are their descriptions, tables of data have a header row, tables for layout are
 * dissolved, and nothing is escaped.
 */
export function createMarkdownWriter(url: string | undefined): (element: DomElement) => string {
  const service = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
    hr: '---',
  });
  service.escape = (text) => text;
  addTableRules(service);
  const numbers = new Map<DomElement, number>();
  addRule(service, 'item', 'li', (content, node) => itemText(content, node, numbers));
  addRule(service, 'link', 'a', (content, node) => linkText(content, node, url));
  addRule(service, 'image', 'img', (_content, node) => (node.getAttribute('alt') ?? '').replace(/\s+/g, ' ').trim());
  addRule(service, 'code block', 'pre', (_content, node) => codeBlock(node));
  addRule(service, 'struck', ['del', 's'], (content) => (content.trim() === '' ? '' : `~~${content}~~`));
  return (element) => {
    markSpaces(element);
    return tidy(unmarked(service.turndown(element)));
  };
}

type Filter = string | string[] | ((node: DomElement) => boolean);

function addRule(
  service: TurndownService,
  name: string,
  filter: Filter,
  replacement: (content: string, node: DomElement) => string,
): void {
  service.addRule(name, {
    filter,
    replacement: (content, node) => replacement(content, node),
  });
}

function addTableRules(service: TurndownService): void {
  const known = new Map<DomElement | null, boolean>();
  const isData = (table: DomElement | null) => {
    const found = known.get(table) ?? isDataTable(table);
    known.set(table, found);
    return found;
  };
  const inData = (node: DomElement) => isData(tableOf(node));
  const isCell = (node: DomElement) => /^(?:TD|TH)$/.test(node.nodeName);
  addRule(
    service,
    'cell',
    (node) => isCell(node) && inData(node),
    (content) => cellMark + cellText(content),
  );
  addRule(
    service,
    'row',
    (node) => node.nodeName === 'TR' && inData(node),
    (content) => rowMark + content,
  );
  addRule(
    service,
    'rows',
    (node) => /^(?:THEAD|TBODY|TFOOT)$/.test(node.nodeName) && inData(node),
    (content) => content,
  );
  addRule(service, 'table', (node) => node.nodeName === 'TABLE' && isData(node), writeTable);
}

function tableOf(node: DomElement): DomElement | null {
  let above = node.parentNode;
  while (above && above.nodeName !== 'TABLE') above = above.parentNode;
  return above;
}

/** Rows and columns of values; not a table that holds tables, or one column that only places things. */
function isDataTable(table: DomElement | null): boolean {
  if (!table || /^(?:presentation|none)$/.test(table.getAttribute('role') ?? '')) return false;
  if (table.querySelector('table')) return false;
  const rows = [...table.querySelectorAll('tr')];
  const columns = Math.max(0, ...rows.map((row) => row.children.length));
  return rows.length >= 2 && columns >= 2;
}

function writeTable(content: string): string {
  const [caption = '', ...rows] = content.split(rowMark);
  const cells = rows.map((row) => row.split(cellMark).slice(1));
  const filled = cells.filter((row) => row.some((cell) => cell.trim() !== ''));
  return `\n\n${caption.trim()}\n\n${markdownTable(filled)}\n\n`;
}

/** A list in a cell becomes an enumeration. */
function cellText(content: string): string {
  return content
    .trim()
    .replace(/^- /, '')
    .replace(/\n+ *- /g, ', ');
}

/** Items come in order, so counting them is enough to number them. */
function itemText(content: string, node: DomElement, numbers: Map<DomElement, number>): string {
  const list = node.parentNode;
  let marker = '- ';
  if (list?.nodeName === 'OL') {
    const number = numbers.get(list) ?? (Number(list.getAttribute('start')) || 1);
    numbers.set(list, number + 1);
    marker = `${number}. `;
  }
  const body = content.trim().replace(/\n(?=[^\n])/g, `\n${' '.repeat(marker.length)}`);
  return body === '' ? '' : `${marker}${body}\n`;
}

function linkText(content: string, node: DomElement, url: string | undefined): string {
  const text = content.replace(/\s+/g, ' ');
  const address = node.getAttribute('href') ?? '';
  if (text.trim() === '' || !leadsElsewhere(address, url)) return text;
  return text.trim() === address || `mailto:${text.trim()}` === address ? text : `[${text.trim()}](${address})`;
}

function leadsElsewhere(address: string, url: string | undefined): boolean {
  if (!/^(?:https?:\/\/|mailto:)/i.test(address) || address.length > maxAddress || /\s/.test(address)) return false;
  return url === undefined || URL.parse(address)?.host !== URL.parse(url)?.host;
}

function codeBlock(node: DomElement): string {
  const classes = [node, node.querySelector('code'), node.parentNode].map((each) => each?.className ?? '').join(' ');
  const language = /\b(?:language|lang|highlight-source|highlight-text)-([\w+#-]+)/.exec(classes)?.[1] ?? '';
  const block = fenced(node.textContent ?? '', language);
  return `\n\n${block.replaceAll(' ', spaceMark).replaceAll('\n', lineMark)}\n\n`;
}

/** White space that HTML keeps: all but plain spaces and line ends, of which runs become one. */
function markSpaces(element: DomElement): void {
  const open: DomNode[] = [element];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.nodeType === textNode) node.textContent = marked(node.textContent ?? '');
    for (const child of node.childNodes) open.push(child);
  }
}

function marked(text: string): string {
  return /\S/.test(text) ? text.replace(/[^\S \t\r\n\f]/g, spaceMark) : text.replace(/[^\S \t\r\n\f]/g, ' ');
}

function unmarked(markdown: string): string {
  return markdown.replaceAll(spaceMark, ' ').replaceAll(lineMark, '\n');
}

/** No invisible hyphens and spaces, no white space at line ends, no more than one blank line. */
function tidy(markdown: string): string {
  return markdown
    .replace(/[\u00ad\u200b]/g, '')
    .replace(/(?<![ \t])[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
