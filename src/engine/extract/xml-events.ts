import { Parser } from 'htmlparser2';

export interface XmlEvents {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Reads XML from front to back without keeping a tree: sheets have millions of cells. Entities of a DTD are not read. */
export function readXmlEvents(xml: string, { open, text, close }: XmlEvents): void {
  const parser = new Parser(
    {
      ...(open && { onopentag: open }),
      ...(text && { ontext: text }),
      ...(close && { onclosetag: close }),
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
}
