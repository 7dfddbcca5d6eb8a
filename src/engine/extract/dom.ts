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
