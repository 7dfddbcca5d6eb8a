import Value from 'typebox/value';
import { expectation, type ConfigField, type FieldSchema } from './config-schema.ts';

/** Reads a value of a file (any JSON) or of the environment and flags (text). */
export function readValue(field: ConfigField, raw: unknown): { value: unknown } | { problem: string } {
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
