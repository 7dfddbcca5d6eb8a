import type { FilteredRef } from './filters.ts';
import type { Ref } from '../connector/contract.ts';

/** The organization's rules for new and changed items: `includeItems` and `excludeItems` of its settings. */
export interface ItemRules {
  /** Equal for equal rules. */
  key: string;
  admits(ref: RuledRef): boolean;
}

export type RuledRef = FilteredRef & Pick<Ref, 'url'>;

/** Shown for items that a rule leaves out. */
export const ruledOutDetail = 'The settings includeItems and excludeItems leave it out.';

/** The rules of section 20.2 of the API; what is to be left out goes before what is wanted. */
export function createItemRules(included: unknown, excluded: unknown): ItemRules | null {
  const isWanted = testsOf(included);
  const isUnwanted = testsOf(excluded);
  if (isWanted.length === 0 && isUnwanted.length === 0) return null;
  return {
    key: JSON.stringify([included ?? null, excluded ?? null]),
    admits: (ref) =>
      !isUnwanted.some((test) => test(ref)) && (isWanted.length === 0 || isWanted.some((test) => test(ref))),
  };
}

type Test = (ref: RuledRef) => boolean;

/** Each pattern of a setting as a test of its own. Settings are checked when they are written. */
function testsOf(setting: unknown): Test[] {
  if (Array.isArray(setting)) return setting.filter(isText).map(hasWord);
  if (typeof setting !== 'object' || setting === null) return [];
  const lists = setting as Record<string, unknown>;
  return Object.entries(kinds).flatMap(([name, kind]) => {
    const list = lists[name];
    return Array.isArray(list) ? list.filter(isText).map(kind) : [];
  });
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

const kinds: Record<string, (pattern: string) => Test> = {
  patterns: (pattern) => on(pattern, ({ path, title }) => [path, path && nameOf(path), title]),
  folders: (pattern) => on(pattern.replace(/^\/+|\/+$/g, ''), ({ path }) => foldersOf(path)),
  folderNames: (pattern) => on(pattern, ({ path }) => partsOf(path).slice(0, -1)),
  fileTypes: (pattern) => onFileType(pattern),
  titlePatterns: (pattern) => on(pattern, ({ title }) => [title]),
  urlPatterns: (pattern) => on(pattern, ({ url }) => [url]),
  databases: (pattern) => on(pattern, ({ metadata }) => [metadata?.['database'], metadata?.['databaseId']]),
  pageTypes: (pattern) => on(pattern, ({ metadata }) => [metadata?.['pageType']]),
};

/** The word stands alone in the title or the path, whatever its case. */
function hasWord(word: string): Test {
  const alone = new RegExp(`(?<![\\p{L}\\p{N}])${escaped(word.trim())}(?![\\p{L}\\p{N}])`, 'iu');
  return ({ path, title }) => [path, title].some((text) => text !== undefined && alone.test(text));
}

function on(pattern: string, valuesOf: (ref: RuledRef) => readonly unknown[]): Test {
  const whole = wildcard(pattern);
  return (ref) => valuesOf(ref).some((value) => typeof value === 'string' && whole(value));
}

/** An ending such as `pdf`, or a media type such as `image/*`. */
function onFileType(pattern: string): Test {
  if (pattern.includes('/')) return on(pattern, ({ mimeType }) => [mimeType?.split(';', 1)[0]?.trim()]);
  const ending = pattern.replace(/^\*?\./, '');
  return on(`*.${ending}`, ({ path, title }) => [path ?? title]);
}

/** `*` is any text; the case does not matter. Time in proportion to the text, whatever the pattern. */
function wildcard(pattern: string): (text: string) => boolean {
  const [start = '', ...others] = pattern.trim().toLowerCase().split('*');
  const end = others.pop();
  return (text) => {
    const whole = text.toLowerCase();
    if (end === undefined) return whole === start;
    if (!whole.startsWith(start)) return false;
    let position = start.length;
    for (const part of others) {
      const found = whole.indexOf(part, position);
      if (found === -1) return false;
      position = found + part.length;
    }
    return whole.length - end.length >= position && whole.endsWith(end);
  };
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function partsOf(path: string | undefined): string[] {
  return (path ?? '').split('/').filter((part) => part !== '');
}

function nameOf(path: string): string | undefined {
  return partsOf(path).at(-1);
}

/** Every folder that a path leads through, from the root. */
function foldersOf(path: string | undefined): string[] {
  const parts = partsOf(path).slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
