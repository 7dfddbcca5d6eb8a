import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { loadPlugins } from '../../src/connect/plugins.ts';
import { createRegistry } from '../../src/connect/registry.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
let lines: string[];
beforeEach(async () => {
  folder = await temporaryFolder();
  lines = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const connector = (name: string, version = 1) => `{
  contractVersion: ${version},
  spec: { name: '${name}', version: '1.0.0', title: 'Acme', kind: 'notes', description: 'Notes.', config: {}, auth: [] },
  check: async () => [], partitions: async () => [], list: async () => ({ refs: [] }), fetch: async () => ({ text: '' }),
}`;

const load = (...names: string[]) => {
  const log = createLogger('error', { write: (line) => void lines.push(line) });
  return loadPlugins(names, { folder, builtIn: ['folder'], log });
};

it('loads TypeScript files and installed packages, and several connectors of one module', async () => {
  await writeFile(join(folder, 'mine.ts'), `const one: object = ${connector('mine')};\nexport default one;\n`);
  const installed = join(folder, 'node_modules/memoryd-connector-acme');
  await mkdir(installed, { recursive: true });
  await writeFile(join(installed, 'package.json'), '{ "name": "memoryd-connector-acme", "main": "index.mjs" }');
  await writeFile(join(installed, 'index.mjs'), `export default [${connector('acme')}, ${connector('acme-mail')}];\n`);
  const loaders = await load('./mine.ts', 'memoryd-connector-acme');
  expect(Object.keys(loaders)).toEqual(['mine', 'acme', 'acme-mail']);
  expect((await createRegistry(loaders).load('acme-mail')).spec.title).toBe('Acme');
  expect(lines).toEqual([]);
});

it('leaves broken ones out, each with its reason, and keeps the others', async () => {
  await writeFile(join(folder, 'good.mjs'), `export default ${connector('good')};\n`);
  await writeFile(join(folder, 'throws.mjs'), `throw new Error('no such service');\n`);
  await writeFile(join(folder, 'other.mjs'), `export default { hello: 1 };\n`);
  await writeFile(join(folder, 'twin.mjs'), `export default ${connector('folder')};\n`);
  const loaders = await load(
    './throws.mjs',
    './absent.mjs',
    './other.mjs',
    './twin.mjs',
    'memoryd-connector-absent',
    './good.mjs',
  );
  expect(Object.keys(loaders)).toEqual(['good']);
  const reasons = lines.map((line) => JSON.parse(line) as { plugin: string; reason: string });
  expect(reasons.map(({ plugin }) => plugin)).toEqual([
    './throws.mjs',
    './absent.mjs',
    './other.mjs',
    './twin.mjs',
    'memoryd-connector-absent',
  ]);
  expect(reasons[0]!.reason).toBe('no such service');
  expect(reasons[3]!.reason).toContain('"folder"');
});

it('refuses a connector of another version of the contract when it is used', async () => {
  await writeFile(join(folder, 'old.mjs'), `export default ${connector('old', 0)};\n`);
  const registry = createRegistry(await load('./old.mjs'));
  await expect(registry.load('old')).rejects.toMatchObject({ code: 'connector_invalid' });
});
