import type { TextDecoder } from 'node:util';
import { lastOf } from '../../base/collections.ts';
import { decoderOfCodePage } from './charset.ts';
import { failed, type Extracted } from './extracted.ts';

/** Groups that hold no text of the document (Rich Text Format 1.9.1); one that begins with `\*` holds none either. */
const destinations = new Set(
  'fonttbl colortbl stylesheet listtable listoverridetable info pict object header headerl headerr headerf footer footerl footerr footerf themedata colorschememapping datastore latentstyles rsidtbl generator xmlnstbl fldinst bkmkstart bkmkend filetbl revtbl'.split(
    ' ',
  ),
);
const characters: Record<string, string> = {
  ...{ par: '\n\n', sect: '\n\n', page: '\n\n', line: '\n', row: '\n', cell: ' | ', tab: '\t' },
  ...{ emdash: '—', endash: '–', lquote: '‘', rquote: '’', ldblquote: '“', rdblquote: '”', bullet: '•' },
  ...{ emspace: ' ', enspace: ' ', '~': ' ', _: '-', '-': '' },
};
const mostGroups = 1000;

interface Group {
  /** Nothing in it is shown. */
  isHidden: boolean;
  /** Bytes that stand for a Unicode character, for programs that know none (`\ucN`). */
  fallback: number;
}

/** A rich text file (Rich Text Format 1.9.1) as plain text. Throws `extract_failed`. */
export function richText(bytes: Uint8Array): Omit<Extracted, 'type'> {
  const rtf = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const reader = createReader(decoderOf(rtf));
  const tokens = /\{|\}|\\'([0-9a-f]{2})|\\([a-z]{1,32})(-?\d{1,10})? ?|\\([^a-z])|[\r\n]+|([^{}\\\r\n]+)/giy;
  for (const [token, hex, word, number, symbol, text] of rtf.matchAll(tokens)) {
    if (token === '{') reader.open();
    else if (token === '}') reader.close();
    else if (hex !== undefined) reader.byte(Number.parseInt(hex, 16));
    else if (word !== undefined) reader.control(word.toLowerCase(), number === undefined ? null : Number(number));
    else if (symbol !== undefined) reader.symbol(symbol);
    else if (text !== undefined) reader.text(text);
  }
  const title = /\{\\title ([^{}\\]{1,500})\}/.exec(rtf)?.[1]?.trim() ?? null;
  return { text: reader.end(), format: 'text', title };
}

function decoderOf(rtf: string): TextDecoder {
  return decoderOfCodePage(Number(/\\ansicpg(\d{3,5})/.exec(rtf.slice(0, 4096))?.[1] ?? 1252));
}

function createReader(decoder: TextDecoder) {
  const groups: Group[] = [{ isHidden: false, fallback: 1 }];
  const found: string[] = [];
  let bytes: number[] = [];
  let skipped = 0;
  const group = () => lastOf(groups);

  function flush() {
    if (bytes.length > 0) found.push(decoder.decode(Uint8Array.from(bytes)));
    bytes = [];
  }

  function show(text: string) {
    if (group().isHidden) return;
    flush();
    found.push(text);
  }

  return {
    open() {
      if (groups.length > mostGroups) throw failed('The RTF file nests its groups too deep.');
      flush();
      groups.push({ ...group() });
    },
    close() {
      flush();
      skipped = 0;
      if (groups.length > 1) groups.pop();
    },
    byte(value: number) {
      if (skipped > 0) skipped -= 1;
      else if (!group().isHidden) bytes.push(value);
    },
    control(word: string, number: number | null) {
      if (destinations.has(word)) group().isHidden = true;
      else if (word === 'uc') group().fallback = Math.max(0, number ?? 1);
      else if (word === 'u' && number !== null) {
        show(String.fromCharCode(number & 0xffff));
        skipped = group().fallback;
      } else if (Object.hasOwn(characters, word)) show(characters[word]!);
    },
    symbol(symbol: string) {
      if (symbol === '*') group().isHidden = true;
      else if ('{}\\'.includes(symbol)) show(symbol);
      else if (Object.hasOwn(characters, symbol)) show(characters[symbol]!);
      else if (symbol === '\n' || symbol === '\r') show('\n\n');
    },
    text(text: string) {
      const rest = text.slice(skipped);
      skipped = Math.max(0, skipped - text.length);
      if (rest === '' || group().isHidden) return;
      flush();
      found.push(decoder.decode(Buffer.from(rest, 'latin1')));
    },
    end() {
      flush();
      return found
        .join('')
        .replace(/\n{3,}/g, '\n\n')
        .trim();
    },
  };
}
