import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { references } from '../../scripts/generate-reference.ts';
import { configFields } from '../../src/base/config-schema.ts';

const generated = Object.entries(await references());

test.each(generated)('%s is what the code says; `node scripts/generate-reference.ts` renews it', async (path, text) => {
  expect(await readFile(join(import.meta.dirname, '../..', path), 'utf8')).toBe(text);
});

test('the references cover every setting and every command', () => {
  const [[, settings], [, commands]] = generated as [[string, string], [string, string]];
  for (const { path, environment } of configFields) {
    expect(settings).toContain(`| \`${path}\``);
    for (const name of environment) expect(settings).toContain(`\`${name}\``);
  }
  expect(commands.match(/^## memoryd /gm)).toHaveLength(47);
});
