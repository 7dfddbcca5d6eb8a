import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Environment } from '../base/config.ts';
import { nearest } from '../base/did-you-mean.ts';
import type { Json, JsonObject, JsonSchema } from '../connector/contract.ts';
import { CommandFailure, exitCodes } from './exit.ts';

/** A setting of a connection as the command line gives it: one text, or several for a list. */
export type SettingTexts = Map<string, string[]>;

/** Splits `key=value`. Throws a usage failure. */
export function splitSetting(pair: string): [key: string, value: string] {
  const at = pair.indexOf('=');
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
  throw new CommandFailure(exitCodes.usage, `--set ${pair} is not a setting.`, {
    remedy: 'Write it as --set key=value.',
  });
}

/** Values that stand in files, so that secrets stay out of the shell's history. `-` is the standard input. */
export async function readSettingFile(
  pair: string,
  cwd: string,
  input: () => Promise<string>,
): Promise<[string, string]> {
  const [key, path] = splitSetting(pair);
  try {
    const text = path === '-' ? await input() : await readFile(resolve(cwd, path), 'utf8');
    return [key, text.trimEnd()];
  } catch (error) {
    throw new CommandFailure(exitCodes.usage, `--set-file ${key}: ${path} cannot be read.`, { cause: error });
  }
}

/** Values that stand in the environment. Throws a usage failure for a variable that is not set. */
export function readSettingVariable(pair: string, env: Environment): [string, string] {
  const [key, name] = splitSetting(pair);
  const value = env[name];
  if (value) return [key, value];
  throw new CommandFailure(exitCodes.usage, `--set-env ${key}: the variable ${name} is not set.`);
}

interface Property {
  type?: string | string[];
}

/**
 * Gives texts the types that the connector's schema asks for. A key that the schema does not know
 * stays text: it becomes metadata of every document. Throws a usage failure for a text of the wrong type.
 */
export function typedSettings(texts: SettingTexts, schema: JsonSchema | undefined): JsonObject {
  const properties = (schema?.['properties'] ?? {}) as Record<string, Property>;
  return Object.fromEntries(
    [...texts].map(([key, values]) => [key, typed(key, values, properties[key]?.type)] as const),
  );
}

function typed(key: string, values: string[], types: string | string[] = 'string'): Json {
  const accepts = (type: string) => [types].flat().includes(type);
  if (accepts('array')) return values;
  const text = values.join(',');
  if (accepts('boolean') && /^(true|false)$/.test(text)) return text === 'true';
  if ((accepts('integer') || accepts('number')) && text.trim() !== '' && Number.isFinite(Number(text))) {
    return Number(text);
  }
  if (accepts('string')) return text;
  throw new CommandFailure(exitCodes.usage, `${key} must be ${accepts('boolean') ? 'true or false' : 'a number'}.`);
}

/** Throws a usage failure when options were given that this connector does not have. */
export function checkSettings(keys: readonly string[], provider: string, schema: JsonSchema | undefined): void {
  const known = schema?.['properties'] ?? {};
  const missing = keys.find((key) => !Object.hasOwn(known, key));
  if (missing !== undefined) throw new CommandFailure(exitCodes.usage, `${provider} has no setting ${missing}.`);
}

/** One note per key that is close to a setting but is none. */
export function doubtfulKeys(keys: Iterable<string>, schema: JsonSchema | undefined): string[] {
  const known = Object.keys(schema?.['properties'] ?? {});
  return [...keys]
    .filter((key) => !known.includes(key))
    .flatMap((key) => {
      const near = nearest(key, known);
      return near ? [`${key} is not a setting, so it becomes metadata of every document. Did you mean ${near}?`] : [];
    });
}
