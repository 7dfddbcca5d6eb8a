import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { runCommand } from '../support/command-line.ts';
import { sized } from '../support/length.ts';
import { projectFolder } from '../support/imports-of.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const run = (...args: string[]) =>
  runCommand(['connector', ...args], { cwd: folder, version: packageJson.version, env: { NO_COLOR: '1' } });

/** As `npm install` would leave it, with this project as the package memoryd. */
function install(packageFolder: string): void {
  const modules = join(packageFolder, 'node_modules');
  mkdirSync(join(modules, '@types'), { recursive: true });
  symlinkSync(projectFolder, join(modules, 'memoryd'));
  for (const name of ['vitest', 'typescript', '@types/node']) {
    symlinkSync(join(projectFolder, 'node_modules', name), join(modules, name));
  }
}

it('a new connector passes its kit, compiles, and is loaded as it is written', { timeout: 240_000 }, async () => {
  const made = await run('new', 'acme-notes');
  expect(made).toMatchObject({ exitCode: 0, stderr: '' });
  expect(made.stdout).toContain('cd memoryd-connector-acme-notes');
  const packageFolder = join(folder, 'memoryd-connector-acme-notes');
  const source = readFileSync(join(packageFolder, 'src/connector.ts'), 'utf8');
  expect(source.split('\n').length).toBeLessThan(100);
  expect(source).toContain("title: 'Acme Notes'");
  const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  // A clone has a version that the registry need not have, so what it writes depends on the clone itself.
  expect(manifest.devDependencies['memoryd']).toMatch(/^file:/);
  expect(resolve(packageFolder, manifest.devDependencies['memoryd']!.slice(5))).toBe(resolve(projectFolder));
  install(packageFolder);
  const test = join(packageFolder, 'test/connector.test.ts');
  const few = `world: createWorld,\n  manyItems: ${sized(5_000, 100_000)},\n  places: '${sized('some', 'every')}',`;
  await writeFile(test, readFileSync(test, 'utf8').replace('world: createWorld,', few));

  const tested = await run('test', 'acme-notes');
  expect(tested.stdout + tested.stderr).toContain('passed');
  expect(tested).toMatchObject({ exitCode: 0 });

  const tsc = join(projectFolder, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '--noEmit'], { cwd: packageFolder });
  await promisify(execFile)(process.execPath, [tsc, '--project', 'tsconfig.build.json'], { cwd: packageFolder });
  const { name, exports } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    name: string;
    exports: { '.': Record<string, string> };
  };
  expect(name).toBe('memoryd-connector-acme-notes');
  for (const file of Object.values(exports['.'])) expect(existsSync(join(packageFolder, file)), file).toBe(true);
  const { default: connector } = (await import(join(packageFolder, 'dist/connector.js'))) as {
    default: { spec: { name: string } };
  };
  expect(connector.spec.name).toBe('acme-notes');
});

it('a check that fails is named, with what to do to see it again', { timeout: 120_000 }, async () => {
  await run('new', 'acme', '--into', '.', '--title', 'The "Acme"');
  install(folder);
  const file = join(folder, 'src/connector.ts');
  const source = readFileSync(file, 'utf8');
  expect(source).toContain("title: 'The Acme'");
  await writeFile(file, source.replace('rev: String(version), title, url', 'rev: String(Math.random()), title, url'));
  const tested = await run('test', '--check', '3');
  expect(tested.exitCode).toBe(1);
  const output = tested.stdout + tested.stderr;
  expect(output).toContain('Check 3 unchanged failed');
  expect(output).toContain('Their `rev` changes although their content does not.');
  expect(output).toContain('seed 1');
});

it('says what is wrong with a name, a folder, or a connector that is not there', async () => {
  expect(await run('new', 'Acme Notes')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('is no name for a connector') as unknown,
  });
  await writeFile(join(folder, 'mine.txt'), 'mine');
  expect(await run('new', 'acme', '--into', '.')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('is not empty') as unknown,
  });
  expect(await run('test', 'absent')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('memoryd connector new absent') as unknown,
  });
});
