import { failed, type Extracted } from './extracted.ts';
import { htmlText } from './html.ts';
import { openParts, resolvePart, type Parts } from './parts.ts';
import { readXmlEvents } from './office-xml.ts';

type Page = Omit<Extracted, 'type'>;

/** A book (EPUB 3.3) as Markdown, its chapters in the order in which they are read. Throws `extract_failed`. */
export async function bookText(bytes: Uint8Array): Promise<Page> {
  const parts = openParts(bytes, 'EPUB book');
  if (parts.names.includes('META-INF/encryption.xml') && !parts.names.some((name) => /\.x?html?$/i.test(name)))
    throw failed('The book is protected.');
  const name = rootFile(parts);
  const { title, author, chapters } = readPackage(parts.text(name) ?? '', name.slice(0, name.lastIndexOf('/') + 1));
  const texts: string[] = [];
  for (const chapter of chapters) {
    const html = parts.text(chapter);
    if (html !== null) texts.push((await htmlText(html, {})).text);
  }
  return {
    ...{ text: texts.filter(Boolean).join('\n\n'), format: 'markdown', title: title || null },
    metadata: author ? { author } : {},
  };
}

function rootFile(parts: Parts): string {
  let path = '';
  readXmlEvents(parts.text('META-INF/container.xml') ?? '', {
    open(name, attributes) {
      if (name === 'rootfile' && path === '') path = attributes['full-path'] ?? '';
    },
  });
  if (path === '' || !parts.names.includes(path))
    throw failed('The EPUB book is damaged: it has no table of its parts.');
  return path;
}

function readPackage(xml: string, folder: string) {
  const files = new Map<string, string>();
  const chapters: string[] = [];
  const said = { 'dc:title': '', 'dc:creator': '' };
  let current = '';
  readXmlEvents(xml, {
    open(name, { id = '', href = '', idref = '' }) {
      current = name;
      if (name === 'item') files.set(id, resolvePart(folder, pathOf(href)));
      const file = name === 'itemref' ? files.get(idref) : undefined;
      if (file !== undefined) chapters.push(file);
    },
    text(part) {
      if (current === 'dc:title' || current === 'dc:creator') said[current] += part;
    },
    close() {
      current = '';
    },
  });
  return { title: said['dc:title'].trim(), author: said['dc:creator'].trim(), chapters };
}

function pathOf(href: string): string {
  const path = href.replace(/[?#].*$/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
