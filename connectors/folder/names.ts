/**
 * File names are bytes; ids, cursors and documents are Unicode. Three forms:
 *
 * - raw: one character per byte (`latin1`). What folders are read and sorted in, so that the order
 *   is byte order whatever the names hold.
 * - text: what everyone else sees. Bytes that are not UTF-8 stand as U+F780 to U+F7FF (private use,
 *   0xF700 + byte), and names that hold such a character themselves have its bytes escaped the same
 *   way, so that every name has exactly one text and back.
 * - file path: what Node's file system functions take; a Buffer where text would lose bytes.
 */
const printableAscii = /^[ -~]*$/;
const escapedByte = /[\uf780-\uf7ff]/;
const escapeBase = 0xf700;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function toText(raw: string): string {
  if (printableAscii.test(raw)) return raw;
  const bytes = Buffer.from(raw, 'latin1');
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') || escapedByte.test(text) ? toEscapedText(bytes) : text;
}

export function toRaw(text: string): string {
  if (printableAscii.test(text)) return text;
  if (!escapedByte.test(text)) return Buffer.from(text, 'utf8').toString('latin1');
  let raw = '';
  for (const character of text) {
    raw += escapedByte.test(character)
      ? String.fromCharCode(character.charCodeAt(0) - escapeBase)
      : Buffer.from(character, 'utf8').toString('latin1');
  }
  return raw;
}

export function toFilePath(text: string): string | Buffer {
  return escapedByte.test(text) ? Buffer.from(toRaw(text), 'latin1') : text;
}

/** The `file:` URL of an absolute path in text form (RFC 8089), non-ASCII bytes percent-encoded. */
export function toFileUrl(path: string): string {
  const encoded = toRaw(path).replace(
    /[^\w\-.~!$&'()*+,;=:@/]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  if (encoded.startsWith('//')) return `file:${encoded}`;
  return encoded.startsWith('/') ? `file://${encoded}` : `file:///${encoded}`;
}

/** The text of a path below a root; `relative` may be empty. */
export function joinPath(root: string, relative: string): string {
  if (relative === '') return root;
  return root.endsWith('/') ? root + relative : `${root}/${relative}`;
}

/** The path below `root`, empty for the root itself; undefined for what is not a clean path inside it. */
export function relativePath(root: string, path: string): string | undefined {
  if (path === root) return '';
  const prefix = root.endsWith('/') ? root : `${root}/`;
  if (!path.startsWith(prefix)) return undefined;
  const relative = path.slice(prefix.length);
  return relative.split('/').some((part) => part === '' || part === '.' || part === '..') ? undefined : relative;
}

function toEscapedText(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const character = decodeOne(bytes, at);
    text += character ?? String.fromCharCode(escapeBase + bytes[at]!);
    at += character === undefined ? 1 : Buffer.byteLength(character);
  }
  return text;
}

function decodeOne(bytes: Buffer, at: number): string | undefined {
  const lead = bytes[at]!;
  const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return undefined;
  try {
    const character = strictUtf8.decode(bytes.subarray(at, at + length));
    return escapedByte.test(character) ? undefined : character;
  } catch {
    return undefined;
  }
}
