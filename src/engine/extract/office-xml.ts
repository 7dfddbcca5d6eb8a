import { present } from '../../base/collections.ts';
import { Parser } from 'htmlparser2';
import type { Metadata } from '../document.ts';
import type { Parts } from './parts.ts';
import { isoDate } from './plain.ts';

const names = [
  'dc:title',
  'dc:creator',
  'dcterms:modified',
  'dcterms:created',
  'dc:date',
  'meta:initial-creator',
] as const;

/** Title and properties in a document: Office files in `docProps/core.xml`, OpenDocument files in `meta.xml`. */
export function propertiesOf(parts: Parts): { title?: string; metadata: Metadata } {
  const found: Partial<Record<string, string>> = {};
  let current = '';
  readXmlEvents(parts.text('docProps/core.xml') ?? parts.text('meta.xml') ?? '', {
    open(name) {
      current = name;
    },
    text(part) {
      if ((names as readonly string[]).includes(current)) found[current] = (found[current] ?? '') + part;
    },
    close() {
      current = '';
    },
  });
  const title = found['dc:title']?.trim();
  const author = (found['meta:initial-creator'] ?? found['dc:creator'])?.trim();
  const date = isoDate((found['dcterms:modified'] ?? found['dc:date'] ?? found['dcterms:created'] ?? '').trim());
  return { ...present({ title: title || undefined }), metadata: present({ author: author || undefined, date }) };
}

export interface XmlEvents {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Reads XML from front to back without keeping a tree: sheets have millions of cells. Entities of a DTD are not read. */
export function readXmlEvents(xml: string, { open, text, close }: XmlEvents): void {
  const parser = new Parser(present({ onopentag: open, ontext: text, onclosetag: close }), {
    xmlMode: true,
    decodeEntities: true,
  });
  parser.end(xml);
}
