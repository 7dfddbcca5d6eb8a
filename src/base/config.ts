import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Value from 'typebox/value';
import { firstOf, lastOf } from './collections.ts';
import { ConfigFileError, parseConfigFile, type ConfigFile } from './config-file.ts';
import {
  configFields,
  type Config,
  type ConfigField,
  commandVariables,
  expectation,
  type FieldSchema,
} from './config-schema.ts';
import { MemorydError, type ValidationIssue } from './errors.ts';
import { nearest } from './did-you-mean.ts';

export type { Config } from './config-schema.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. The only reader of `process.env`. */
export function processEnvironment(): Environment {
  return process.env;
}

export interface ConfigInputs {
  /** Options of the command line by field, e.g. `{ port: '8080' }`. */
  flags?: Readonly<Record<string, string | undefined>>;
  /** Path of the file (`--config`). Default: MEMORYD_CONFIG, else `memoryd.config.json` in `cwd` when it exists. */
  configFile?: string | undefined;
  env: Environment;
  /** Absolute; relative paths are read from here (those of a file from the file's folder). */
  cwd: string;
}

/** Where an effective value comes from. */
export type ConfigSource =
  | { kind: 'default' }
  | { kind: 'file'; file: string; line: number }
  | { kind: 'environment'; name: string }
  | { kind: 'flag'; name: string };

export interface LoadedConfig {
  config: Config;
  /** By field, e.g. `embedder.kind`. */
  sources: Readonly<Record<string, ConfigSource>>;
  /** The file that was read. */
  file: string | null;
}

const standardFile = 'memoryd.config.json';

interface OpenedFile extends ConfigFile {
  path: string;
}

/**
 * Defaults < file < environment < flags. No input at all is embedded mode.
 * Throws `config_invalid` with every problem at once: the field, where its value comes from, what
 * is wrong with it and what would be right. Secrets are never quoted.
 */
export function loadConfig(inputs: ConfigInputs): LoadedConfig {
  const problems: ValidationIssue[] = [];
  const file = openFile(inputs, problems);
  problems.push(...(file ? unknownKeys(file) : []), ...unknownVariables(inputs.env));
  const sources: Record<string, ConfigSource> = {};
  const config: Record<string, unknown> = {};
  for (const field of configFields) {
    const found = findRaw(field, inputs, file);
    sources[field.path] = found.source;
    const value = checkedValue(field, found, problems);
    place(config, field, absolute(field, value, found.source, inputs.cwd));
  }
  if (problems.length === 0) problems.push(...contradictions(config as Config, sources));
  if (problems.length > 0) throw invalid(problems);
  return { config: config as Config, sources, file: file?.path ?? null };
}

function openFile(inputs: ConfigInputs, problems: ValidationIssue[]): OpenedFile | null {
  const variable = inputs.env['MEMORYD_CONFIG'];
  const named = inputs.configFile ?? (variable === '' ? undefined : variable);
  const path = resolve(inputs.cwd, named ?? standardFile);
  try {
    return { path, ...parseConfigFile(readFileSync(path, 'utf8')) };
  } catch (error) {
    if (named === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    const where = error instanceof ConfigFileError ? `${path} line ${error.line}` : path;
    const what = error instanceof ConfigFileError ? error.message : 'the configuration file cannot be read';
    problems.push({ message: `${where}: ${what}` });
    return null;
  }
}

interface FoundValue {
  raw: unknown;
  source: ConfigSource;
}

function findRaw(field: ConfigField, inputs: ConfigInputs, file: OpenedFile | null): FoundValue {
  const flag = inputs.flags?.[field.path];
  if (flag !== undefined) {
    return { raw: flag, source: { kind: 'flag', name: firstOf((field.flag ?? field.path).split(' ')) } };
  }
  // An empty variable counts as absent: Compose files and CI pass `NAME=` for what is not set.
  const name = field.environment.find((candidate) => inputs.env[candidate]);
  if (name !== undefined) return { raw: inputs.env[name], source: { kind: 'environment', name } };
  const inFile = file ? lookUp(file.content, field.path) : undefined;
  if (file && inFile !== undefined && inFile !== null) {
    return { raw: inFile, source: { kind: 'file', file: file.path, line: file.lines.get(field.path) ?? 1 } };
  }
  return { raw: field.schema.default, source: { kind: 'default' } };
}

function lookUp(content: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? (value as Record<string, unknown>)[key]
      : undefined;
  }, content);
}

function checkedValue(field: ConfigField, found: FoundValue, problems: ValidationIssue[]): unknown {
  if (found.raw === undefined) return undefined;
  const result = readValue(field, found.raw);
  if ('value' in result) return result.value;
  problems.push({
    message: `${field.path} (${describeSource(found.source)}): ${result.problem}`,
    path: field.path.split('.'),
  });
  return undefined;
}

function absolute(field: ConfigField, value: unknown, source: ConfigSource, cwd: string): unknown {
  if (!field.schema.path || typeof value !== 'string') return value;
  return resolve(source.kind === 'file' ? dirname(source.file) : cwd, value);
}

/** Makes the groups even when they are empty, and leaves fields without a value out. */
function place(config: Record<string, unknown>, field: ConfigField, value: unknown): void {
  const segments = field.path.split('.');
  let group = config;
  for (const segment of segments.slice(0, -1)) group = (group[segment] ??= {}) as Record<string, unknown>;
  if (value !== undefined) group[lastOf(segments)] = value;
}

/** Rules between fields. */
function contradictions(config: Config, sources: Record<string, ConfigSource>): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const add = (field: string, message: string) =>
    issues.push({ message: `${field} (${describeSource(sources[field]!)}): ${message}`, path: field.split('.') });
  if (config.role !== 'all' && config.databaseUrl === undefined) {
    add('role', `"${config.role}" needs databaseUrl: the embedded database serves one process with role all`);
  } else if (config.role !== 'all' && config.redisUrl === undefined) {
    add('role', `"${config.role}" needs redisUrl: without it processes cannot wake each other`);
  } else if (config.role !== 'all' && config.encryptionKey === undefined) {
    add('role', `"${config.role}" needs encryptionKey: processes share the credentials in the database`);
  }
  const { url, model } = config.llm;
  if (url !== undefined && model === undefined) add('llm.url', 'it needs llm.model');
  if (url === undefined && model !== undefined) add('llm.model', 'it needs llm.url');
  const { kind } = config.embedder;
  const needed = { chosen: [], minilm: [], hashing: [], onnx: ['folder'], http: ['baseUrl', 'model'] } as const;
  for (const name of needed[kind]) {
    if (config.embedder[name as keyof typeof config.embedder] === undefined) {
      add('embedder.kind', `"${kind}" needs embedder.${name}`);
    }
  }
  return issues;
}

function invalid(problems: ValidationIssue[]): MemorydError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  const lines = problems.map((problem) => `  ${problem.message}`).join('\n');
  return new MemorydError('config_invalid', `The configuration has ${count}:\n${lines}`, { issues: problems });
}

/** `environment variable PORT`, `memoryd.config.json line 4`. */
export function describeSource(source: ConfigSource): string {
  if (source.kind === 'file') return `${source.file} line ${source.line}`;
  if (source.kind === 'environment') return `environment variable ${source.name}`;
  return source.kind === 'flag' ? `option ${source.name}` : 'default';
}

/** Stands in for a secret wherever a configuration is shown. */
const mask = '********';

export interface ConfigRow {
  field: string;
  /** JSON value; null when there is none; `********` for a secret. */
  value: unknown;
  source: string;
}

/** The effective values in the order of the schema, secrets masked. */
export function describeConfig(loaded: LoadedConfig): ConfigRow[] {
  return configFields.map((field) => ({
    field: field.path,
    value: shownValue(field, lookUp(loaded.config, field.path) ?? null),
    source: describeSource(loaded.sources[field.path]!),
  }));
}

function shownValue(field: ConfigField, value: unknown): unknown {
  if (field.secret && value !== null) return mask;
  return typeof value === 'string' ? withoutCredentials(value) : value;
}

const nowhere = '; docs/reference/configuration.md lists them all';

/** The names of settings by group; those outside any group stand under the empty name. */
const groups = Map.groupBy(configFields, ({ path }) => (path.includes('.') ? firstOf(path.split('.')) : ''));

/** One issue per key of the file that is no setting. Values are never quoted: they may be secrets. */
function unknownKeys(file: ConfigFile & { path: string }): ValidationIssue[] {
  const issue = (path: string[], message: string): ValidationIssue => ({
    message: `${path.join('.')} (${file.path} line ${file.lines.get(path.join('.')) ?? 1}): ${message}`,
    path,
  });
  return Object.entries(file.content).flatMap(([key, value]) => {
    // Editors find the description of a JSON file by "$schema".
    if (key === '$schema' || hasField('', key)) return [];
    if (!groups.has(key) || key === '') return [issue([key], `there is no such setting${likelyKey([key])}`)];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return [issue([key], 'must be an object, in braces')];
    }
    const unknown = Object.keys(value).filter((name) => !hasField(key, name));
    return unknown.map((name) => issue([key, name], `there is no such setting${likelyKey([key, name])}`));
  });
}

function hasField(group: string, name: string): boolean {
  const path = group === '' ? name : `${group}.${name}`;
  return (groups.get(group) ?? []).some((field) => field.path === path);
}

/** A key is often right but stands in the wrong place: names in other groups count too. */
function likelyKey(path: string[]): string {
  const paths = configFields.map((field) => field.path);
  const lastName = (candidate: string) => lastOf(candidate.split('.'));
  const name = nearest(lastOf(path), paths.map(lastName));
  const found =
    nearest(path.join('.'), [...paths, ...[...groups.keys()].filter((key) => key !== '')]) ??
    paths.find((candidate) => lastName(candidate) === name);
  if (!found) return nowhere;
  const [group, inner] = found.split('.');
  return `; did you mean ${inner ? `"${group}": { "${inner}": … }` : `"${group}"`}?`;
}

/** One issue per `MEMORYD_` variable that is no setting. */
function unknownVariables(env: Readonly<Record<string, string | undefined>>): ValidationIssue[] {
  const names = [...configFields.flatMap((field) => field.environment), ...commandVariables.map(({ name }) => name)];
  const known = new Set(names.filter((name) => name.startsWith('MEMORYD_')));
  return Object.keys(env)
    .filter((name) => name.startsWith('MEMORYD_') && !known.has(name))
    .sort()
    .map((name) => {
      const near = nearest(name, known);
      const hint = near ? `; did you mean ${near}?` : nowhere;
      return { message: `${name} (environment variable): there is no such setting${hint}`, path: [name] };
    });
}

/** Reads a value of a file (any JSON) or of the environment and flags (text). */
function readValue(field: ConfigField, raw: unknown): { value: unknown } | { problem: string } {
  const value = typeof raw === 'string' ? fromText(field.schema, raw) : raw;
  const expanded = Array.isArray(value) && field.schema.expand ? expand(value, field.schema.expand) : value;
  if (Value.Check(field.schema, expanded)) return { value: expanded };
  return { problem: `${shown(field, raw)} is not ${expectation(field.schema)}` };
}

function fromText(schema: FieldSchema, text: string): unknown {
  if (schema.type === 'integer') return schema.unit === 'bytes' ? readBytes(text) : readInteger(text);
  if (schema.type === 'boolean') return readBoolean(text);
  if (schema.type === 'object') return readJson(text);
  if (schema.type === 'array')
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  return text;
}

function readInteger(text: string): unknown {
  return /^\s*-?\d+\s*$/.test(text) ? Number(text) : text;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const byteUnits: Record<string, number> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

function readBytes(text: string): unknown {
  const [, amount, unit] = /^\s*(\d+)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const factor = byteUnits[unit?.toLowerCase() ?? 'none'];
  return factor === undefined ? text : Number(amount) * factor;
}

const booleans: Record<string, boolean> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
};

function readBoolean(text: string): unknown {
  return booleans[text.trim().toLowerCase()] ?? text;
}

function expand(values: unknown[], words: Record<string, string[]>): unknown[] {
  const all = values.flatMap((value) => (typeof value === 'string' ? (words[value] ?? [value]) : [value]));
  return [...new Set(all)];
}

/** A refused value as a message may show it. A secret is never shown, not even a wrong one. */
function shown(field: ConfigField, raw: unknown): string {
  if (field.secret) return 'the value (not shown)';
  const text = withoutCredentials(JSON.stringify(raw));
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Hides the `user:password@` of addresses. */
export function withoutCredentials(text: string): string {
  return text.replace(/:\/\/[^/@\s"]+@/g, '://********@');
}
