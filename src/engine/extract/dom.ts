/** The part of the DOM that is used here; linkedom gives it, and TypeScript's own DOM types stay out of the project. */
export interface DomNode {
  nodeName: string;
  nodeType: number;
  textContent: string | null;
  parentNode: DomElement | null;
  childNodes: ArrayLike<DomNode> & Iterable<DomNode>;
}

export interface DomElement extends DomNode {
  children: ArrayLike<DomElement> & Iterable<DomElement>;
  className: string;
  getAttribute(name: string): string | null;
  querySelector(selector: string): DomElement | null;
  querySelectorAll(selector: string): Iterable<DomElement>;
  getElementsByTagName(name: string): ArrayLike<DomElement>;
  remove(): void;
}

export interface DomDocument extends DomElement {
  documentElement: DomElement | null;
  cloneNode(deep: boolean): DomDocument;
}

/**
 * A page with `html` and `body` elements. linkedom does not add those that are missing, so a
 * fragment is put into a body first.
 */
export async function parseHtml(html: string): Promise<DomDocument> {
  const { parseHTML } = await import('linkedom');
  const complete = /<body[\s>]/i.test(html) ? html : wrap(html);
  return parseHTML(complete).document;
}

function wrap(html: string): string {
  const language = /<html[^>]*\slang\s*=\s*["']?([\w-]+)/i.exec(html.slice(0, 2000))?.[1] ?? '';
  const content = html.replace(/<!doctype[^>]*>|<\/?(?:html|head)(?:\s[^>]*)?>/gi, '');
  return `<!doctype html><html lang="${language}"><head></head><body>${content}</body></html>`;
}

export async function parseXml(xml: string): Promise<DomDocument> {
  const { DOMParser } = await import('linkedom');
  return new DOMParser().parseFromString(xml, 'text/xml') as unknown as DomDocument;
}

/**
 * Elements may stand in each other this deep. Parsers, and what walks their trees, take time for each level that a
 * text is under; browsers stop at 512.
 */
const maxDepth = 256;

/** HTML whose end may be left out, or which has none. */
const unclosed = new Set(
  'area base br col dd dt embed hr img input li link meta option p source tbody td tfoot th thead tr track wbr'.split(
    ' ',
  ),
);
const tag = /<(\/?)([a-z][\w:.-]*)[^<>]*?(\/?)>/gi;

/** Whether elements stand in each other deeper than is read. */
export function isTooDeep(markup: string, kind: 'html' | 'xml'): boolean {
  let depth = 0;
  let inDrawing = false;
  for (const [, end, written, closed] of markup.matchAll(tag)) {
    const name = written!.toLowerCase();
    if (name === 'svg') inDrawing = end === '';
    // `<div/>` is open in HTML, but not in a drawing.
    const isEmpty = kind === 'html' ? unclosed.has(name) || (inDrawing && closed === '/') : closed === '/';
    if (isEmpty) continue;
    depth = Math.max(0, depth + (end === '' ? 1 : -1));
    if (depth > maxDepth) return true;
  }
  return false;
}
