import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/log.ts';
import { loadPlugins } from '../../../src/connector/plugins.ts';
import { createRegistry } from '../../../src/connector/registry.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let lines: string[];
beforeEach(async () => {
  folder = await temporaryFolder();
  lines = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const connector = (name: string, { version = 1, more = '' }: { version?: number | string; more?: string } = {}) => `{
  contractVersion: ${version},
  spec: { name: '${name}', version: '1.0.0', title: 'Acme', kind: 'notes', description: 'Notes.', config: {}, auth: [] },
  check: async () => [], partitions: async () => [], list: async () => ({ refs: [] }), fetch: async () => ({ text: '' }),
  ${more}
}`;

const load = (names: string[], clock: Clock = systemClock) => {
  const log = createLogger('error', { write: (line) => void lines.push(line) });
  return loadPlugins(names, { folder, builtIn: ['folder'], log, clock });
};

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

let modules = 0;

/** The one reason why a module is left out. */
async function reasonOf(text: string): Promise<string> {
  // Node loads a file once, so each has a name of its own.
  const name = `module-${++modules}.mjs`;
  await write({ [name]: text });
  const { broken, loaders } = await load([`./${name}`]);
  expect(Object.keys(loaders)).toEqual([]);
  expect(broken).toHaveLength(1);
  return broken[0]!.reason;
}

it('loads TypeScript files and installed packages, and several connectors of one module', async () => {
  const acme = 'node_modules/memoryd-connector-acme';
  const modern = 'node_modules/@acme/modern';
  await write({
    'mine.ts': `const one: object = ${connector('mine')};\nexport default one;\n`,
    [`${acme}/package.json`]: '{ "name": "memoryd-connector-acme", "main": "index.mjs" }',
    [`${acme}/index.mjs`]: `export default [${connector('acme')}, ${connector('acme-mail')}];\n`,
    [`${modern}/package.json`]:
      '{ "name": "@acme/modern", "exports": { ".": { "types": "./a.d.ts", "import": "./main.mjs" } } }',
    [`${modern}/main.mjs`]: `export default ${connector('modern')};\n`,
  });
  const { loaders, broken } = await load(['./mine.ts', 'memoryd-connector-acme', '@acme/modern']);
  expect(Object.keys(loaders)).toEqual(['mine', 'acme', 'acme-mail', 'modern']);
  expect((await createRegistry(loaders).load('acme-mail')).spec.title).toBe('Acme');
  expect(broken).toEqual([]);
  expect(lines).toEqual([]);
});

it('leaves broken ones out, each with its reason, and keeps the others', async () => {
  await write({
    'good.mjs': `export default ${connector('good')};\n`,
    'throws.mjs': `throw new Error('no such service');\n`,
    'needs.mjs': `import 'a-package-that-is-not-here';\n`,
    'other.mjs': `export default { hello: 1 };\n`,
    'twin.mjs': `export default ${connector('folder')};\n`,
    'two.mjs': `export default [${connector('good')}, ${connector('fine')}, ${connector('old', { version: 0 })}];\n`,
    'typed.ts': `enum Nothing { A }\n`,
  });
  const names = ['./throws.mjs', './absent.mjs', './needs.mjs', './other.mjs', './twin.mjs', './typed.ts'];
  const { loaders, broken } = await load([...names, 'memoryd-connector-absent', './good.mjs', './two.mjs']);
  expect(Object.keys(loaders)).toEqual(['good', 'fine']);
  expect(broken.map(({ plugin, provider }) => [plugin, provider])).toEqual([
    ['./throws.mjs', null],
    ['./absent.mjs', null],
    ['./needs.mjs', null],
    ['./other.mjs', null],
    ['./twin.mjs', 'folder'],
    ['./typed.ts', null],
    ['memoryd-connector-absent', null],
    ['./two.mjs', 'good'],
    ['./two.mjs', 'old'],
  ]);
  const reasons = broken.map(({ reason }) => reason);
  expect(reasons[0]).toBe('It cannot be loaded: no such service (throws.mjs, line 1)');
  expect(reasons[1]).toBe(`There is no file ${join(folder, 'absent.mjs')}.`);
  expect(reasons[2]).toContain("'a-package-that-is-not-here'");
  expect(reasons[4]).toBe('A connector named "folder" is there already, from memoryd itself.');
  expect(reasons[6]).toContain('npm install memoryd-connector-absent');
  expect(reasons[7]).toBe('A connector named "good" is there already, from ./good.mjs.');
  expect(lines.map((line) => (JSON.parse(line) as { plugin: string }).plugin)).toEqual(
    broken.map(({ plugin }) => plugin),
  );
});

it('says what is wrong with a default export', async () => {
  expect(await reasonOf(`export const acme = ${connector('acme')};`)).toMatch(/no default export.*exports acme/);
  expect(await reasonOf('export default [];')).toContain('Its default export is no connector');
  expect(await reasonOf('export default null;')).toContain('Its default export is no connector');
});

it('says for which version of the contract a connector was made, and what to install', async () => {
  expect(await reasonOf(`export default ${connector('acme', { version: 2 })};`)).toBe(
    'It was made for version 2 of the connector contract, and this memoryd has version 1. Install a newer memoryd, or an older version of it.',
  );
});
it('says that a connector names no version of the contract', async () => {
  expect(await reasonOf(`export default ${connector('acme', { version: 'undefined' })};`)).toContain('defineConnector');
});

it('says which verbs and fields are missing or wrong', async () => {
  const more = `fetch: 1, head: async () => 1, hooks: {}, spec: { name: 'acme', version: '1', title: ' ', kind: 'shop',
    description: 'Notes.', config: { type: 'nothing' }, auth: [{ type: 'oauth2', tokenUrl: '' }, { type: 'magic' }] },`;
  const reason = await reasonOf(`export default ${connector('acme', { more })};`);
  for (const part of ['`fetch`', '`head` and `changes`', '`receive`', 'spec.version', 'spec.title', 'spec.kind'])
    expect(reason).toContain(part);
  for (const part of ['spec.config', 'spec.auth[0].authorizeUrl', 'spec.auth[0].scopes', 'spec.auth[1].type'])
    expect(reason).toContain(part);
});

it('does not wait for ever for a module that loads for ever', async () => {
  await write({ 'slow.mjs': 'setTimeout(() => {}, 1); await new Promise(() => {});' });
  let slept = 0;
  const clock: Clock = { now: () => new Date(0), sleep: async (ms) => void (slept += ms) };
  const { broken } = await load(['./slow.mjs'], clock);
  expect(broken[0]!.reason).toBe('It did not finish loading within 30 s.');
  expect(slept).toBe(30_000);
});

it('answers why a connector that is asked for is not there', async () => {
  await write({ 'old.mjs': `export default ${connector('old', { version: 0 })};\n`, 'throws.mjs': `throw 1;\n` });
  const { loaders, broken } = await load(['./old.mjs', './throws.mjs']);
  const registry = createRegistry(loaders, broken);
  expect(registry.broken()).toEqual(broken);
  await expect(registry.load('old')).rejects.toMatchObject({
    code: 'connector_invalid',
    message: 'The connector old of ./old.mjs is broken.',
    details: broken[0]!.reason,
  });
  await expect(registry.load('unknown')).rejects.toMatchObject({
    details: 'These plugins could not be loaded: ./throws.mjs.',
  });
});

it('keeps the other connectors when one that comes with memoryd cannot be loaded', async () => {
  await write({ 'good.mjs': `export default ${connector('good')};\n` });
  const { loaders } = await load(['./good.mjs']);
  const registry = createRegistry({
    ...loaders,
    heavy: () => Promise.reject(new Error('its library is not installed')),
  });
  expect((await registry.specs()).map(({ name }) => name)).toEqual(['good']);
  expect(registry.broken()).toEqual([
    { plugin: 'heavy', provider: 'heavy', reason: 'It cannot be loaded: its library is not installed' },
  ]);
});
