import { describe, expect, it } from 'vitest';
import { answersOf, fieldsOf, initialValues, problemOf } from '../../../console/src/schema-form.ts';
import type { JsonSchema } from '../../../console/src/types.ts';

const schema: JsonSchema = {
  type: 'object',
  required: ['path'],
  properties: {
    watch: { type: 'boolean', title: 'Watch', default: true, 'x-order': 5 },
    path: { type: 'string', minLength: 1, title: 'Folder', 'x-order': 1 },
    include: { type: 'array', items: { type: 'string', pattern: '^[^!]' }, default: [], 'x-order': 2 },
    maxItemBytes: { type: 'integer', minimum: 1, maximum: 100, default: 50, 'x-order': 3 },
    content: { type: 'array', items: { enum: ['files', 'issues'] }, default: ['files'], 'x-order': 4 },
    firstLoad: { enum: ['api', 'imap'], default: 'api' },
    token: { type: 'string', 'x-secret': true },
    key: { type: 'string', title: 'Private key (PEM)', 'x-secret': true },
  },
};
const fields = fieldsOf(schema);
const field = (name: string) => fields.find((each) => each.name === name)!;

describe('a form from a JSON Schema', () => {
  it('has a control of the right kind for each property, in the order that is asked for', () => {
    expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
      ['path', 'text'],
      ['include', 'lines'],
      ['maxItemBytes', 'number'],
      ['content', 'choices'],
      ['watch', 'switch'],
      ['firstLoad', 'choice'],
      ['token', 'secret'],
      ['key', 'long-text'],
    ]);
    expect(field('maxItemBytes').countsBytes).toBe(true);
    expect(fieldsOf(undefined)).toEqual([]);
  });

  it('begins with the defaults, and sends only what differs from them', () => {
    const values = initialValues(fields);
    expect(values).toMatchObject({ path: '', watch: true, maxItemBytes: '50', content: ['files'], firstLoad: 'api' });
    expect(answersOf(fields, values)).toEqual({});
    expect(
      answersOf(fields, { ...values, path: ' /notes ', include: '*.md\n\n *.txt ', maxItemBytes: '7', watch: false }),
    ).toEqual({ path: '/notes', include: ['*.md', '*.txt'], maxItemBytes: 7, watch: false });
  });

  it('says what is wrong with what was typed', () => {
    expect(problemOf(field('path'), '  ')).toBe('missing');
    expect(problemOf(field('token'), '')).toBeUndefined();
    expect(problemOf(field('maxItemBytes'), 'many')).toBe('not-a-number');
    expect(problemOf(field('maxItemBytes'), '0')).toBe('too-small');
    expect(problemOf(field('maxItemBytes'), '101')).toBe('too-large');
    expect(problemOf(field('include'), '*.md\n!no')).toBe('wrong-form');
    expect(problemOf(field('include'), '*.md')).toBeUndefined();
  });
});
