import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { firstOf } from '../base/collections.ts';
import { MemorydError, type ValidationIssue } from '../base/errors.ts';
import { compileGlob, GlobProblem, type PathMatcher } from '../base/glob.ts';
import type { JsonSchema, Ref } from '../connector/contract.ts';

/** Which items of a source are mirrored: those that pass every filter given. The same for all connectors. */
export interface Filters {
  include?: string[];
  exclude?: string[];
  mimeTypes?: string[];
  excludeMimeTypes?: string[];
  /** Bytes. */
  minBytes?: number;
  maxBytes?: number;
  /** Items leave when they grow older. */
  updatedWithinDays?: number;
  /** ISO 8601. */
  updatedSince?: string;
  labels?: string[];
  excludeLabels?: string[];
}

/** Why an item is left out: the filter that it does not pass. */
export type FilterName = keyof Filters;

const globs = (description: string) => ({
  type: 'array',
  description: `${description} A pattern without / matches a name in any folder, one with / counts from the root; what matches a folder takes everything in it.`,
  items: { type: 'string', minLength: 1, maxLength: 500 },
  maxItems: 100,
  examples: [['docs/**/*.md', '*.pdf']],
});

const mimeTypes = (description: string) => ({
  type: 'array',
  description,
  items: {
    type: 'string',
    maxLength: 200,
    pattern: '^([A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*|\\*)/([A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*|\\*)$',
  },
  maxItems: 100,
  examples: [['text/*', 'application/pdf']],
});

const labels = (description: string) => ({
  type: 'array',
  description,
  items: { type: 'string', minLength: 1, maxLength: 200 },
  maxItems: 100,
  examples: [['important']],
});

const bytes = (description: string) => ({
  type: 'integer',
  description,
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  examples: [1_048_576],
});

/** JSON Schema (draft 2020-12) of `Filters`, as the API shows it. */
export const filtersSchema = {
  type: 'object',
  description: 'Which items are mirrored: those that pass every filter given. Changing them removes what falls out.',
  additionalProperties: false,
  properties: {
    include: globs('Only items whose path (or title, where the source has no paths) matches one of these globs.'),
    exclude: globs('No items whose path (or title, where the source has no paths) matches one of these globs.'),
    mimeTypes: mimeTypes('Only items of these media types; * stands for any part. Items of unknown type are left out.'),
    excludeMimeTypes: mimeTypes('No items of these media types; * stands for any part.'),
    minBytes: bytes('Only items of at least so many bytes. Items of unknown size pass.'),
    maxBytes: bytes('Only items of at most so many bytes. Items of unknown size pass.'),
    updatedWithinDays: {
      type: 'number',
      description: 'Only items that changed within so many days; older ones leave. Items of unknown age pass.',
      exclusiveMinimum: 0,
      maximum: 36_500,
      examples: [365],
    },
    updatedSince: {
      type: 'string',
      description: 'Only items that changed at or after this time. Items of unknown age pass.',
      maxLength: 40,
      pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$',
      examples: ['2026-01-01', '2026-01-01T00:00:00Z'],
    },
    labels: labels('Only items with at least one of these labels (case does not matter).'),
    excludeLabels: labels('No items with one of these labels (case does not matter).'),
  },
} as const satisfies JsonSchema;

/** Advice for each field that is wrong. */
const remedies: Record<FilterName, string> = {
  include: 'Give globs such as "docs/**/*.md".',
  exclude: 'Give globs such as "drafts/".',
  mimeTypes: 'Give media types such as "text/*".',
  excludeMimeTypes: 'Give media types such as "image/*".',
  minBytes: 'Give a whole number of bytes, at least 0.',
  maxBytes: 'Give a whole number of bytes, not below minBytes.',
  updatedWithinDays: 'Give a number of days above 0, such as 365.',
  updatedSince: 'Give a time such as "2026-01-01" or "2026-01-01T00:00:00Z".',
  labels: 'Give labels as texts.',
  excludeLabels: 'Give labels as texts.',
};

let checkOfFilters: ValidateFunction | undefined;

/** Checks what a caller gave; throws `validation_failed` with field, problem and remedy of each mistake. */
export function parseFilters(input: unknown): Filters {
  const validate = (checkOfFilters ??= new Ajv2020({ allErrors: true, strict: false }).compile(filtersSchema));
  const issues = validate(input) ? meaningIssues(input as Filters) : (validate.errors ?? []).map(schemaIssue);
  if (issues.length > 0) throw new MemorydError('validation_failed', 'The filters are not valid.', { issues });
  return structuredClone(input as Filters);
}

function schemaIssue(error: ErrorObject): ValidationIssue {
  const path = error.instancePath.split('/').slice(1);
  if (error.keyword === 'additionalProperties') {
    const field = String(error.params.additionalProperty);
    const message = `is not a filter. The filters are ${Object.keys(remedies).join(', ')}.`;
    return { message, path: ['filters', field] };
  }
  const remedy = remedies[path[0] as FilterName] ?? 'Give an object such as {"include": ["docs/**"]}.';
  return issue(
    path,
    error.keyword === 'pattern' ? 'is not of the right form' : (error.message ?? 'is not valid'),
    remedy,
  );
}

function issue(path: readonly (string | number)[], problem: string, remedy: string): ValidationIssue {
  return { message: `${problem}. ${remedy}`, path: ['filters', ...path] };
}

/** Checks that a schema cannot express. */
function meaningIssues(filters: Filters): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  for (const field of ['include', 'exclude'] as const) {
    for (const [index, glob] of (filters[field] ?? []).entries()) {
      const problem = globProblem(glob);
      if (problem) issues.push(issue([field, index], problem, remedies[field]));
    }
  }
  const { minBytes = 0, maxBytes = Infinity, updatedSince } = filters;
  if (minBytes > maxBytes) issues.push(issue(['maxBytes'], `is below minBytes (${minBytes})`, remedies.maxBytes));
  if (updatedSince !== undefined && Number.isNaN(Date.parse(updatedSince)))
    issues.push(issue(['updatedSince'], 'is not a time that exists', remedies.updatedSince));
  return issues;
}

function globProblem(glob: string): string | null {
  try {
    compileGlob(glob, wholePath);
    return null;
  } catch (error) {
    if (error instanceof GlobProblem) return error.message;
    throw error;
  }
}

/** The fields of a `Ref` that filters test. */
export type FilteredRef = Pick<Ref, 'path' | 'title' | 'mimeType' | 'size' | 'updatedAt' | 'metadata'>;

type Test = (ref: FilteredRef, nowMs: number) => boolean;
const compiled = new WeakMap<Filters, readonly [FilterName, Test][]>();

/**
 * The first filter that the item does not pass; null when it passes all. Lists of what is wanted
 * leave out an item that the source says nothing about, limits do not.
 */
export function passes(filters: Filters, ref: FilteredRef, now: Date): FilterName | null {
  let tests = compiled.get(filters);
  if (!tests) compiled.set(filters, (tests = compile(filters)));
  const nowMs = now.getTime();
  return tests.find(([, test]) => !test(ref, nowMs))?.[0] ?? null;
}

/** When an item must have changed at the earliest, as seen now; null without a filter that moves with time. */
export function oldestUpdate(filters: Filters, now: Date): Date | null {
  const { updatedWithinDays } = filters;
  return updatedWithinDays === undefined ? null : new Date(now.getTime() - updatedWithinDays * dayMs);
}

const dayMs = 86_400_000;

function compile(filters: Filters): [FilterName, Test][] {
  const { include, exclude, mimeTypes: types, excludeMimeTypes, minBytes, maxBytes } = filters;
  const { updatedWithinDays, updatedSince, labels: wanted, excludeLabels } = filters;
  const tests: [FilterName, Test | undefined][] = [
    ['exclude', exclude && not(onPath(exclude))],
    ['include', include?.length ? onPath(include) : undefined],
    ['excludeMimeTypes', excludeMimeTypes && not(onType(excludeMimeTypes))],
    ['mimeTypes', types?.length ? onType(types) : undefined],
    ['minBytes', minBytes === undefined ? undefined : ({ size }) => size === undefined || size >= minBytes],
    ['maxBytes', maxBytes === undefined ? undefined : ({ size }) => size === undefined || size <= maxBytes],
    [
      'updatedWithinDays',
      updatedWithinDays === undefined ? undefined : notBefore((now) => now - updatedWithinDays * dayMs),
    ],
    ['updatedSince', updatedSince === undefined ? undefined : notBefore(() => Date.parse(updatedSince))],
    ['excludeLabels', excludeLabels && not(onLabels(excludeLabels))],
    ['labels', wanted?.length ? onLabels(wanted) : undefined],
  ];
  return tests.filter((one): one is [FilterName, Test] => one[1] !== undefined);
}

function not(test: Test): Test {
  return (ref, now) => !test(ref, now);
}

function onPath(patterns: readonly string[]): Test {
  const matchers: PathMatcher[] = patterns.map((pattern) => compileGlob(pattern, wholePath));
  return ({ path, title }) => {
    const name = path ?? title;
    return name !== undefined && matchers.some((matches) => matches(name));
  };
}

/**
 * A pattern without `/` matches a name at any depth, one with `/` counts from the root. What matches a folder takes
 * everything in it; with `/` at its end it matches folders alone, which have a name before the end.
 */
function wholePath(pattern: string): string {
  const trimmed = pattern.replace(/^\/+|\/+$/g, '');
  if (trimmed === '') throw new GlobProblem('is empty');
  const isAnchored = trimmed.includes('/') || pattern.startsWith('/');
  const isInFolder = pattern.endsWith('/') || (isAnchored && trimmed.split('/').at(-1) === '**');
  return `${isAnchored ? '' : '**/'}${trimmed}${isInFolder ? '/*' : ''}/**`;
}

/** Parameters (`; charset=…`) do not count. */
function onType(types: readonly string[]): Test {
  const wanted = types.map((type) => type.toLowerCase().split('/') as [string, string]);
  return ({ mimeType }) => {
    if (mimeType === undefined) return false;
    const [main, sub] = firstOf(mimeType.split(';', 1)).trim().toLowerCase().split('/');
    return wanted.some(([wantedMain, wantedSub]) => fits(wantedMain, main) && fits(wantedSub, sub));
  };
}

function fits(wanted: string, part: string | undefined): boolean {
  return wanted === '*' || wanted === part;
}

function notBefore(oldest: (nowMs: number) => number): Test {
  return ({ updatedAt }, nowMs) => {
    const time = updateTime(updatedAt);
    return time === null || time.getTime() >= oldest(nowMs);
  };
}

/** When an item changed, as far as its source tells a time that a calendar has. */
export function updateTime(updatedAt: unknown): Date | null {
  if (typeof updatedAt !== 'string') return null;
  const time = new Date(updatedAt);
  const year = time.getUTCFullYear();
  return Number.isNaN(year) || year < 1 || year > 9999 ? null : time;
}

/** Labels are the texts of `metadata.labels`, a list or one text. */
function onLabels(wanted: readonly string[]): Test {
  const names = new Set(wanted.map((label) => label.toLowerCase()));
  return ({ metadata }) => {
    const held = metadata?.labels;
    const list = Array.isArray(held) ? held : [held];
    return list.some((label) => typeof label === 'string' && names.has(label.toLowerCase()));
  };
}

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

type RuleTest = (ref: RuledRef) => boolean;

/** Each pattern of a setting as a test of its own. Settings are checked when they are written. */
function testsOf(setting: unknown): RuleTest[] {
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

const kinds: Record<string, (pattern: string) => RuleTest> = {
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
function hasWord(word: string): RuleTest {
  const alone = new RegExp(`(?<![\\p{L}\\p{N}])${escaped(word.trim())}(?![\\p{L}\\p{N}])`, 'iu');
  return ({ path, title }) => [path, title].some((text) => text !== undefined && alone.test(text));
}

function on(pattern: string, valuesOf: (ref: RuledRef) => readonly unknown[]): RuleTest {
  const whole = wildcard(pattern);
  return (ref) => valuesOf(ref).some((value) => typeof value === 'string' && whole(value));
}

/** An ending such as `pdf`, or a media type such as `image/*`. */
function onFileType(pattern: string): RuleTest {
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
