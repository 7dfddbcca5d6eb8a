import type { Extracted } from '../extracted.ts';
import { argumentsOf, withoutEscapes, pageOf, type Page } from './roff.ts';
import { mdocText } from './mdoc.ts';
import { createWriter, type Writer } from './writer.ts';

/** A page of a manual, in the macros of man(7) or mdoc(7), as Markdown without them. Title: its name and what it does. */
export function manualText(text: string): Omit<Extracted, 'type'> {
  const page = pageOf(text);
  const isMdoc = page.lines.some((line) => /^[.'][ \t]*(?:Dd|Dt|Sh)\b/.test(line));
  return { ...(isMdoc ? mdocText(page) : manText(page)), format: 'markdown' };
}

/** Macros that set their arguments in a font, and those that change between two without a space. */
const fonts = new Set(['B', 'I', 'R', 'SM', 'SB', 'CW', 'C', 'V']);
const alternating = /^(?:[BIR]{2}|BC|CB|IC|CI|RC|CR)$/;
const paragraphs = new Set(['P', 'PP', 'LP', 'HP', 'sp', 'RS', 'RE', 'Sp', 'ti', 'in', 'bp', 'ne']);

/** A page in the macros of man(7) as Markdown, and its title. */
export function manText(page: Page): { text: string; title: string | null } {
  const writer = createWriter();
  const plain = (text: string) => withoutEscapes(text, page.strings);
  const speaker = createSpeaker(writer, plain);
  let name: string | null = null;
  for (let at = 0; at < page.lines.length; at += 1) {
    const line = page.lines[at]!;
    const [, macro, rest = ''] = /^[.'][ \t]*([^\s\\]+)(.*)$/.exec(line) ?? [];
    if (macro === 'TS') {
      const end = endOfTable(page.lines, at);
      writer.table(tableRows(page.lines.slice(at + 1, end), plain));
      at = end;
    } else if (macro === 'TH') name = pageName(argumentsOf(rest).map(plain));
    else if (macro !== undefined) speaker.call(macro, argumentsOf(rest));
    else if (/^[ \t]*$/.test(line)) writer.end();
    else if (!/^[.']/.test(line)) speaker.line(line);
  }
  const text = writer.text();
  const summary = writer.summary();
  return { text, title: summary !== null && / [-–—] /.test(summary) ? summary : name };
}

function endOfTable(lines: readonly string[], from: number): number {
  for (let at = from + 1; at < lines.length; at += 1) if (lines[at]!.startsWith('.TE')) return at;
  return lines.length;
}

/** `fuser(1)`. */
function pageName([name = '', section = '']: readonly string[]): string | null {
  const own = name.trim().toLowerCase();
  return own === '' ? null : `${own}${section.trim() === '' ? '' : `(${section.trim()})`}`;
}

interface Speaker {
  line(line: string): void;
  call(macro: string, args: readonly string[]): void;
}

/** Writes lines of text and macros; some macros say what the line after them is. */
function createSpeaker(writer: Writer, plain: (text: string) => string): Speaker {
  let next: 'text' | 'term' | 2 | 3 = 'text';
  let isGlued = false;

  function say(raw: string): void {
    const text = plain(raw);
    if (next === 'text') {
      writer.add(text, { isGlued });
      isGlued = raw.endsWith('\\c');
    } else if (text.trim() !== '') {
      if (next === 'term') writer.term(text.trim());
      else writer.heading(next, text.trim());
      next = 'text';
    }
  }

  function item([tag = '']: readonly string[]): void {
    next = 'text';
    const text = plain(tag).trim();
    writer.end({ unlessTerm: text === '' });
    if (text !== '') writer.term(text);
  }

  return {
    line(line) {
      // White space begins a line, as in examples.
      if (/^[ \t]/.test(line)) writer.breakLine();
      say(line);
    },
    call(macro, args) {
      if (macro === 'SH' || macro === 'SS') {
        next = macro === 'SH' ? 2 : 3;
        if (args.length > 0) say(args.join(' '));
      } else if (macro === 'TP' || macro === 'TQ') {
        if (macro === 'TP') writer.end();
        next = 'term';
      } else if (macro === 'IP') item(args);
      else if (macro === 'UE' || macro === 'ME') writer.add(plain(args[0] ?? ''), { isGlued: true });
      else {
        layOut(writer, macro);
        const said = spoken(macro, args);
        if (said !== '') say(said);
      }
    },
  };
}

/** What a macro says; nothing where it only changes how a page looks. */
function spoken(macro: string, args: readonly string[]): string {
  if (fonts.has(macro)) return args.join(' ');
  if (alternating.test(macro)) return args.join('');
  if (macro === 'UR' || macro === 'MT') return args[0] ?? '';
  if (macro === 'URL' || macro === 'MTO') return linked(args);
  if (macro === 'SY') return args.join(' ');
  if (macro === 'OP') return `[${args.join(' ')}]`;
  if (macro === 'MR') return `${args[0] ?? ''}(${args[1] ?? ''})${args[2] ?? ''}`;
  return macro === 'so' ? `See ${args.join(' ')}.` : '';
}

/** Of pages that Asciidoctor made: an address, the text that is linked, and what stands behind it. */
function linked([address = '', text = '', after = '']: readonly string[]): string {
  return text === '' ? address + after : `${text} <${address}>${after}`;
}

function layOut(writer: Writer, macro: string): void {
  if (paragraphs.has(macro) || macro === 'YS') writer.end();
  else if (macro === 'br' || macro === 'SY') writer.breakLine();
  else if (macro === 'nf' || macro === 'EX' || macro === 'Vb') writer.example(true);
  else if (macro === 'fi' || macro === 'EE' || macro === 'Ve') writer.example(false);
}

/** The rows of a table of tbl(1), their cells between bars. `lines` are those between `.TS` and `.TE`. */
export function tableRows(lines: readonly string[], plain: (line: string) => string): string[] {
  const options = lines[0]?.trimEnd().endsWith(';') ? lines[0] : '';
  const separator = /tab[ \t]*\((.)\)/.exec(options)?.[1] ?? '\t';
  const first = lines.findIndex((line) => /\.[ \t]*$/.test(line)) + 1;
  const rows: string[] = [];
  let row: string[] = [];
  let isInCell = false;
  for (const line of lines.slice(first)) {
    const isRule = /^[-_=\s]*$/.test(line) || /^[.']/.test(line);
    if (isRule && !isInCell) continue;
    // Within a cell that goes over several lines, macros set its text in fonts.
    const text = line.replace(/^[.']\S*[ \t]*/, '');
    const ends = text.startsWith('T}');
    if (isInCell && !ends) row.push(' ');
    row.push(ends ? text.slice(2).replace(/T\{[ \t]*$/, '') : text.replace(/T\{[ \t]*$/, ''));
    isInCell = /T\{[ \t]*$/.test(text) || (isInCell && !ends);
    if (isInCell) continue;
    const cells = row
      .join('')
      .split(separator)
      .map((cell) => plain(cell).trim());
    row = [];
    if (cells.some((cell) => cell !== '')) rows.push(cells.join(' | '));
  }
  return rows;
}
