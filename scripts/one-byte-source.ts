import { parseAst } from 'rolldown/parseAst';

/**
 * JavaScript that means the same with characters up to U+00FF only. V8 keeps the source of a module for as long as it
 * runs, in two bytes for each character when one of them needs two, so a single quotation mark doubles a file. What is
 * made of such characters for the larger part would grow by that and stays as it is.
 */
export function oneByteSource(code: string): string {
  const wide = code.match(wideUnit)?.length ?? 0;
  if (wide === 0 || wide * escapedLength > code.length) return code;
  let [written, end] = ['', 0];
  for (const [from, to] of rawTemplates(parseAst(code))) {
    written += escaped(code.slice(end, from)) + code.slice(from, to);
    end = to;
  }
  written += escaped(code.slice(end));
  parseAst(written);
  return written;
}

const wideUnit = /[^\0-\xff]/g;
const escapedLength = String.raw`\u2019`.length;

/** A character that a backslash stands before, which changes nothing about it, takes that along. */
function escaped(code: string): string {
  return code.replaceAll(/(\\*)([^\0-\xff])/g, (_all, slashes: string, unit: string) => {
    const kept = slashes.length % 2 === 0 ? slashes : slashes.slice(1);
    return `${kept}\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Where templates with a tag stand, which may look at what is written in them. */
function rawTemplates(node: object): [from: number, to: number][] {
  const { type, start, end } = node as { type?: string; start?: number; end?: number };
  if (type === 'TaggedTemplateExpression') return [[start!, end!]];
  return Object.values(node).flatMap((part: unknown) =>
    typeof part === 'object' && part !== null ? rawTemplates(part) : [],
  );
}
