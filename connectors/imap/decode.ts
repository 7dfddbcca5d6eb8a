import { simpleParser } from 'mailparser';
import type { TextPart } from './parts.ts';

/** Removes a transfer encoding (RFC 2045 section 6). What is not of the encoding is left out or kept as it is. */
export function decodeBytes(bytes: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(bytes.toString('latin1'), 'base64');
  if (encoding === 'quoted-printable') return fromQuotedPrintable(bytes);
  return bytes;
}

function fromQuotedPrintable(bytes: Buffer): Buffer {
  const text = bytes
    .toString('latin1')
    .replace(/[ \t]+(?=\r?\n|$)/g, '')
    .replace(/=\r?\n/g, '');
  return Buffer.from(
    text.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  );
}

/**
 * Text by the charset that the mail claims. UTF-8 is taken for what it is whatever the mail says;
 * otherwise the claim counts if it is known and fits, and Windows-1252, which always fits, if not:
 * then `isGuess`.
 */
export function decodeCharset(bytes: Uint8Array, charset: string): { text: string; isGuess: boolean } {
  const label = charset.trim().toLowerCase().replace(/^"|"$/g, '');
  // These are ASCII with escapes, so that they look like UTF-8.
  const isEscaped = /^iso-2022|^hz-gb|^utf-?7/.test(label);
  if (!isEscaped) {
    const text = decodeStrictly(bytes, 'utf-8');
    if (text !== undefined) return { text, isGuess: false };
  }
  const claimed = /^(?:|us-ascii|ascii|utf-?8|unknown-8bit|x-unknown)$/.test(label)
    ? undefined
    : decodeStrictly(bytes, label);
  if (claimed !== undefined) return { text: claimed, isGuess: false };
  return { text: new TextDecoder('windows-1252').decode(bytes), isGuess: true };
}

function decodeStrictly(bytes: Uint8Array, label: string): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Longer HTML is cut: its conversion costs more than its length. */
const maxHtmlLength = 2 * 1024 * 1024;

/** The text of a part as it was downloaded. */
export async function textOf(part: TextPart, bytes: Buffer): Promise<{ text: string; isGuess: boolean }> {
  const { text, isGuess } = decodeCharset(decodeBytes(bytes, part.encoding), part.charset);
  if (part.type === 'text/html') return { text: await htmlToText(text), isGuess };
  return { text: part.isFlowed ? unflow(text, part.deletesSpace) : text, isGuess };
}

async function htmlToText(html: string): Promise<string> {
  const source = Buffer.from(
    `Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${html}`,
  );
  const options = { skipImageLinks: true, skipTextToHtml: true, maxHtmlLengthToParse: maxHtmlLength };
  return (await simpleParser(source, options)).text ?? '';
}

/** RFC 3676: a line that ends with a space goes on in the next one of the same depth of quotation. */
export function unflow(text: string, deletesSpace: boolean): string {
  const lines: string[] = [];
  let open = false;
  let depth = '';
  for (const line of text.split(/\r?\n/)) {
    const quote = /^>*/.exec(line)![0];
    const content = line.slice(quote.length).replace(/^ /, '');
    const isSignature = content === '-- ';
    if (open && quote === depth && !isSignature) lines[lines.length - 1] += content;
    else lines.push(quote === '' ? content : `${quote} ${content}`);
    depth = quote;
    open = content.endsWith(' ') && !isSignature;
    if (open && deletesSpace) lines[lines.length - 1] = lines.at(-1)!.slice(0, -1);
  }
  return lines.join('\n');
}
