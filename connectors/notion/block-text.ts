import { plainText } from './shown.ts';

/** A block as Notion lists it; what it holds stands under the name of its type. */
export interface ShownBlock {
  id: string;
  type: string;
  has_children?: boolean;
  [key: string]: unknown;
}

interface Holding {
  rich_text?: { plain_text: string }[];
  caption?: { plain_text: string }[];
  checked?: boolean;
  language?: string;
  expression?: string;
  title?: string;
  url?: string;
  name?: string;
  cells?: { plain_text: string }[][];
  external?: { url: string };
  file?: { url: string };
}

/** Before the text of each type. */
const marks: Record<string, string> = {
  heading_1: '# ',
  heading_2: '## ',
  heading_3: '### ',
  heading_4: '#### ',
  bulleted_list_item: '- ',
  numbered_list_item: '1. ',
  toggle: '- ',
  quote: '> ',
  callout: '> ',
};

/** The Markdown of one block without its children; '' for one that only holds others, or of a kind not known yet. */
export function blockText(block: ShownBlock): string {
  const held = (block[block.type] ?? {}) as Holding;
  const text = plainText(held.rich_text ?? []);
  if (block.type === 'to_do') return `- [${held.checked ? 'x' : ' '}] ${text}`;
  if (block.type === 'code') return `\`\`\`${held.language ?? ''}\n${text}\n\`\`\``;
  if (block.type === 'equation') return `$$${held.expression ?? ''}$$`;
  if (block.type === 'divider') return '---';
  if (block.type === 'child_page' || block.type === 'child_database') return held.title ?? '';
  if (block.type === 'table_row') return `| ${(held.cells ?? []).map(plainText).join(' | ')} |`;
  if (text !== '') return `${marks[block.type] ?? ''}${text}`;
  const address = held.external?.url ?? held.file?.url ?? held.url;
  if (address === undefined) return '';
  const label = plainText(held.caption ?? []) || held.name || block.type;
  return `${block.type === 'image' ? '!' : ''}[${label}](${address})`;
}
