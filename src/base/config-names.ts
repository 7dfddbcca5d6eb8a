import { commandVariables, configFields } from './config-schema.ts';
import type { ConfigFile } from './config-file.ts';
import type { ValidationIssue } from './errors.ts';
import { nearest } from './nearest.ts';

const nowhere = '; docs/reference/configuration.md lists them all';

/** The names of settings by group; those outside any group stand under the empty name. */
const groups = Map.groupBy(configFields, ({ path }) => (path.includes('.') ? path.split('.')[0]! : ''));

/** One issue per key of the file that is no setting. Values are never quoted: they may be secrets. */
export function unknownKeys(file: ConfigFile & { path: string }): ValidationIssue[] {
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
  const lastName = (candidate: string) => candidate.split('.').at(-1)!;
  const name = nearest(path.at(-1)!, paths.map(lastName));
  const found =
    nearest(path.join('.'), [...paths, ...[...groups.keys()].filter((key) => key !== '')]) ??
    paths.find((candidate) => lastName(candidate) === name);
  if (!found) return nowhere;
  const [group, inner] = found.split('.');
  return `; did you mean ${inner ? `"${group}": { "${inner}": … }` : `"${group}"`}?`;
}

/** One issue per `MEMORYD_` variable that is no setting. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): ValidationIssue[] {
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
