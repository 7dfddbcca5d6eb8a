import { withoutEscapes } from './escapes.ts';

/**
 * The lines of a roff page as nroff would take them up: without comments, definitions of macros and what holds only
 * for printers. Strings that the page defines are collected on the way, without escapes.
 */
export interface Page {
  lines: readonly string[];
  strings: ReadonlyMap<string, string>;
}

/** Of a string. A page that uses long ones often would grow without end. */
const mostLength = 64;
/** Of what follows a condition in its line: conditions in it are taken up one by one. */
const mostConditional = 1000;

export function pageOf(text: string): Page {
  const strings = new Map<string, string>();
  const lines: string[] = [];
  const queue = joined(text);
  let isTrue = false;
  for (let at = 0; at < queue.length; at += 1) {
    const line = queue[at]!;
    if (/^[.'][ \t]*(?:\\["#}]|$)/.test(line) || line.startsWith('\\"')) continue;
    const [, request = '', rest = ''] = /^[.'][ \t]*(\w+)[ \t]*(.*)$/.exec(line) ?? [];
    if (request === 'ig') at = endOfDefinition(queue, at, rest);
    else if (/^(?:de|am)1?$/.test(request)) at = endOfDefinition(queue, at, rest.split(/\s+/)[1]);
    else if (request === 'ds') define(rest, strings);
    else if (request === 'if' || request === 'ie') {
      const [condition, body] = conditionOf(rest);
      isTrue = condition === 'n';
      at = takeUp(queue, at, body, isTrue);
    } else if (request === 'el') at = takeUp(queue, at, rest, !isTrue);
    else lines.push(line);
  }
  return { lines, strings };
}

/** Lines; one that ends with a backslash goes on in the next. */
function joined(text: string): string[] {
  return text.replace(/(?<!\\)((?:\\\\)*)\\\n/g, '$1').split('\n');
}

function define(rest: string, strings: Map<string, string>): void {
  const [, name, value] = /^(\S+)[ \t]*"?(.*)$/.exec(rest) ?? [];
  if (name !== undefined) strings.set(name, withoutEscapes(value!, strings).slice(0, mostLength));
}

/** The place of the line that ends it: `..`, or the name that it gives. */
function endOfDefinition(lines: readonly string[], from: number, end = '.'): number {
  const last = `.${end === '' ? '.' : end}`;
  for (let at = from + 1; at < lines.length; at += 1) {
    if (lines[at]!.replace(/^[.'][ \t]+/, '.').trimEnd() === last) return at;
  }
  return lines.length;
}

const condition =
  /^(!?[a-z](?=\s|\\\{)|!?[dr][ \t]*[^\s\\]+|!?'[^']*'[^']*'|!?"[^"]*"[^"]*"|!?\((?:[^()]|\([^()]*\))*\)|[^\s{]+?(?=\\\{|\s|$))[ \t]*(.*)$/;

/** `n`, `t`, a comparison of numbers or of texts, and what is to be done where it holds. */
function conditionOf(rest: string): [condition: string, body: string] {
  const found = rest.length > mostConditional ? null : condition.exec(rest);
  return found ? [found[1]!, found[2]!] : ['', ''];
}

/** Puts what follows a condition in the place of its line, or leaves it out. Answers the last place that is done with. */
function takeUp(lines: string[], at: number, body: string, isTrue: boolean): number {
  const isBlock = body.startsWith('\\{');
  if (!isBlock && !isTrue) return at;
  lines[at] = isBlock ? body.slice(2).trimStart() : body;
  return isTrue ? at - 1 : endOfBlock(lines, at);
}

function endOfBlock(lines: readonly string[], from: number): number {
  let depth = 1;
  for (let at = from; at < lines.length; at += 1) {
    const line = lines[at]!;
    if (line.includes('\\')) depth += (line.match(/\\\{/g)?.length ?? 0) - (line.match(/\\\}/g)?.length ?? 0);
    if (depth <= 0) return at;
  }
  return lines.length;
}
