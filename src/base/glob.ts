import { at, firstOf } from './collections.ts';

/**
 * Globs over paths, matched in time proportional to pattern times path whatever they are: they come
 * from callers, and a backtracking expression can be made to run for years.
 *
 * `*` any characters but `/`, `?` one of them, `[a-z]` and `[!a-z]` one of a set, `{a,b}` either,
 * `**` any number of names, also none.
 */
export type PathMatcher = (path: string) => boolean;

/** Why a pattern is refused. */
export class GlobProblem extends Error {}

/** No path is longer. */
const maxLength = 4_096;
/** `{a,b}{c,d}` stands for four patterns. */
const maxAlternatives = 64;

type Token = { kind: 'unit'; test(unit: string): boolean } | { kind: 'any' };
/** A name with wildcards. Most begin or end with text, which alone tells that most names are others. */
interface NamePattern {
  tokens: readonly Token[];
  start: string;
  end: string;
  /** Anything may stand between start and end. */
  isOpen: boolean;
}
/** One name of a path. Text without wildcards is compared as it is; null stands for any number of names. */
type Segment = string | NamePattern | null;

/**
 * Matches whole paths, from the first name to the last. `inFull` says what each of the patterns that the glob stands for
 * is as one of whole paths. Throws `GlobProblem` for what is not a pattern.
 */
export function compileGlob(glob: string, inFull = (pattern: string) => pattern): PathMatcher {
  const patterns = alternatives(glob).map((each) => namesOf(inFull(each)).map(compileSegment));
  if (patterns.some((pattern) => pattern.length === 0)) throw new GlobProblem('is empty');
  return (path) => {
    const names = namesOf(path);
    return patterns.some((pattern) => matchesSequence(pattern, names, isAnyNames, matchesName));
  };
}

/** Most paths that are asked about are the name of one file. */
const namesOf = (path: string) =>
  path !== '' && !path.includes('/') ? [path] : path.split('/').filter((name) => name !== '');
const compileSegment = (part: string): Segment => (part === '**' ? null : compileName(part));
const isAnyNames = (segment: Segment) => segment === null;

function matchesName(segment: Segment, name: string): boolean {
  if (segment === null) return false;
  if (typeof segment === 'string') return segment === name;
  const { tokens, start, end, isOpen } = segment;
  if (!name.startsWith(start) || !name.endsWith(end) || name.length < start.length + end.length) return false;
  return isOpen || matchesSequence(tokens, [...name], isAny, fits);
}

const isAny = (token: Token) => token.kind === 'any';
const fits = (token: Token, unit: string) => token.kind !== 'any' && token.test(unit);

/** The last wildcard alone is ever extended: what those before it took does not matter any more. */
function matchesSequence<Part, Unit>(
  parts: readonly Part[],
  units: readonly Unit[],
  isWild: (part: Part) => boolean,
  matches: (part: Part, unit: Unit) => boolean,
): boolean {
  let part = 0;
  let wild = -1;
  let wildUnit = 0;
  for (let unit = 0; unit < units.length;) {
    if (part < parts.length && isWild(at(parts, part))) {
      wild = part++;
      wildUnit = unit;
    } else if (part < parts.length && matches(at(parts, part), at(units, unit))) {
      part += 1;
      unit += 1;
    } else if (wild >= 0) {
      part = wild + 1;
      unit = ++wildUnit;
    } else return false;
  }
  return parts.slice(part).every(isWild);
}

function compileName(glob: string): string | NamePattern {
  const wildcards = [...glob.matchAll(/[*?[]/g)];
  if (wildcards.length === 0) return glob;
  const start = glob.slice(0, wildcards[0]!.index);
  const end = glob.slice(Math.max(glob.lastIndexOf('*'), glob.lastIndexOf('?'), glob.lastIndexOf(']')) + 1);
  const isOpen = /^\*+$/.test(glob.slice(start.length, glob.length - end.length));
  return { tokens: tokensOf(glob), start, end, isOpen };
}

function tokensOf(glob: string): Token[] {
  const tokens: Token[] = [];
  for (let rest = glob; rest !== '';) {
    const unit = String.fromCodePoint(rest.codePointAt(0)!);
    const set = setAt(rest);
    if (set) tokens.push({ kind: 'unit', test: compileSet(set[2]!, set[1] !== '') });
    else if (unit === '[') throw new GlobProblem('has a [ without ]');
    else if (unit !== '*') tokens.push({ kind: 'unit', test: unit === '?' ? () => true : (other) => other === unit });
    else if (tokens.at(-1)?.kind !== 'any') tokens.push({ kind: 'any' });
    rest = rest.slice(set ? set[0].length : unit.length);
  }
  return tokens;
}

/** The set that a text begins with: all of it, whether it is negated, and what is in it. */
function setAt(text: string): RegExpExecArray | null {
  return text.startsWith('[') ? /^\[([!^]?)(\]?[^\]]*)\]/u.exec(text) : null;
}

function compileSet(text: string, negated: boolean): (unit: string) => boolean {
  const units = [...text];
  const ranges: [string, string][] = [];
  for (let index = 0; index < units.length; index++) {
    const isRange = units[index + 1] === '-' && index + 2 < units.length;
    ranges.push([at(units, index), isRange ? at(units, index + 2) : at(units, index)]);
    if (isRange) index += 2;
  }
  if (ranges.length === 0) throw new GlobProblem('has an empty [ ]');
  return (unit) => ranges.some(([from, to]) => unit >= from && unit <= to) !== negated;
}

/** The patterns that one with `{a,b}` stands for. */
function alternatives(glob: string): string[] {
  if (glob.length > maxLength) throw new GlobProblem(`is longer than ${maxLength} characters`);
  let texts = [''];
  for (let rest = glob; rest !== '';) {
    const set = setAt(rest);
    const group = rest[0] === '{' ? /^\{([^{}]*)\}/.exec(rest) : null;
    if (!group && (rest[0] === '{' || rest[0] === '}'))
      throw new GlobProblem('has braces within braces, or one without its other half');
    const choices = group ? group[1]!.split(',') : [set?.[0] ?? firstOf(rest)];
    texts = texts.flatMap((text) => choices.map((choice) => text + choice));
    if (texts.length > maxAlternatives) throw new GlobProblem(`stands for more than ${maxAlternatives} patterns`);
    rest = rest.slice((group ?? set)?.[0].length ?? 1);
  }
  return texts;
}
