import type { JsonSchema } from './types.ts';

/** One field of a form that a JSON Schema describes. */
export interface FormField {
  name: string;
  kind: 'text' | 'secret' | 'long-text' | 'number' | 'switch' | 'choice' | 'choices' | 'lines';
  title: string;
  help: string;
  isRequired: boolean;
  options: string[];
  initial: FieldValue;
  minimum: number | undefined;
  maximum: number | undefined;
  pattern: string | undefined;
  /** Whether the number counts bytes, which people do not read well. */
  countsBytes: boolean;
}

export type FieldValue = string | boolean | string[];
export type FormValues = Readonly<Record<string, FieldValue>>;

/** The fields of an object's schema, in the order that it asks for. */
export function fieldsOf(schema: JsonSchema | undefined): FormField[] {
  const required = new Set(schema?.required);
  const order = (property: JsonSchema) => Number(property['x-order'] ?? 1_000);
  return Object.entries(schema?.properties ?? {})
    .toSorted(([, one], [, other]) => order(one) - order(other))
    .map(([name, property]) => fieldOf(name, property, required.has(name)));
}

function fieldOf(name: string, schema: JsonSchema, isRequired: boolean): FormField {
  const kind = kindOf(schema);
  return {
    name,
    kind,
    title: schema.title ?? name,
    help: schema.description ?? '',
    isRequired,
    options: (schema.enum ?? schema.items?.enum ?? []).map(String),
    initial: initialOf(kind, schema.default),
    minimum: schema.minimum,
    maximum: schema.maximum,
    pattern: schema.pattern ?? schema.items?.pattern,
    countsBytes: kind === 'number' && /bytes$/i.test(name),
  };
}

function kindOf(schema: JsonSchema): FormField['kind'] {
  if (schema.enum) return 'choice';
  if (schema.type === 'boolean') return 'switch';
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  if (schema.type === 'array') return schema.items?.enum ? 'choices' : 'lines';
  if (/\b(PEM|JSON)\b/.test(`${schema.title} ${schema.description}`)) return 'long-text';
  return schema['x-secret'] === true ? 'secret' : 'text';
}

function initialOf(kind: FormField['kind'], value: unknown): FieldValue {
  if (kind === 'switch') return value === true;
  if (kind === 'choices') return Array.isArray(value) ? value.map(String) : [];
  if (kind === 'lines') return Array.isArray(value) ? value.join('\n') : '';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export function initialValues(fields: readonly FormField[]): FormValues {
  return Object.fromEntries(fields.map((field) => [field.name, field.initial]));
}

export type FieldProblem = 'missing' | 'not-a-number' | 'too-small' | 'too-large' | 'wrong-form';

/** What is wrong with what was typed; undefined where nothing is. */
export function problemOf(field: FormField, value: FieldValue): FieldProblem | undefined {
  if (typeof value === 'boolean') return undefined;
  const entries = Array.isArray(value)
    ? value
    : field.kind === 'lines'
      ? linesOf(value)
      : [value.trim()].filter(Boolean);
  if (entries.length === 0) return field.isRequired ? 'missing' : undefined;
  if (field.kind === 'number') return numberProblem(field, Number(entries[0]));
  const { pattern } = field;
  return pattern && entries.some((entry) => !new RegExp(pattern, 'u').test(entry)) ? 'wrong-form' : undefined;
}

function numberProblem({ minimum, maximum }: FormField, value: number): FieldProblem | undefined {
  if (!Number.isFinite(value)) return 'not-a-number';
  if (minimum !== undefined && value < minimum) return 'too-small';
  return maximum !== undefined && value > maximum ? 'too-large' : undefined;
}

function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}

/** What is sent: only what is filled in and not what the source does anyway. */
export function answersOf(fields: readonly FormField[], values: FormValues): Record<string, unknown> {
  const answers: Record<string, unknown> = {};
  for (const field of fields) {
    const value = values[field.name] ?? field.initial;
    if (JSON.stringify(value) === JSON.stringify(field.initial)) continue;
    answers[field.name] = answerOf(field, value);
  }
  return answers;
}

function answerOf({ kind }: FormField, value: FieldValue): unknown {
  if (typeof value !== 'string') return value;
  if (kind === 'lines') return linesOf(value);
  if (kind === 'number') return Number(value);
  return kind === 'secret' || kind === 'long-text' ? value : value.trim();
}
