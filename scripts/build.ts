/**
 * Makes `dist/`, the package that is published: the program in a few files of JavaScript, declarations in the layout of
 * the sources, what the code reads, and a package.json whose exports point there.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundled, bundlePackages, licenseFiles } from './bundle-packages.ts';
import { bundleProgram, copyFiles } from './bundle-program.ts';
import packageJson from '../package.json' with { type: 'json' };

const project = fileURLToPath(new URL('../', import.meta.url));
const dist = join(project, 'dist');

/** Published fields of package.json that are taken as they are. */
const keptFields = [
  ...['name', 'version', 'description', 'keywords', 'license', 'author', 'homepage', 'repository', 'bugs'],
  ...['type', 'engines', 'bin'],
];

/** Runs a script of Node; it says by itself what is wrong. */
function run(script: string, ...parameters: string[]): void {
  const { status } = spawnSync(process.execPath, [script, ...parameters], { cwd: project, stdio: 'inherit' });
  if (status === 0) return;
  rmSync(dist, { recursive: true, force: true });
  process.exit(1);
}

function programOf(packageName: string, file: string): string {
  return fileURLToPath(import.meta.resolve(`${packageName}/package.json`).replace('package.json', file));
}

/** `./src/app.ts` → the JavaScript and the declarations that were made of it. */
function publishedExport(target: string): string | { types: string; default: string } {
  if (!target.endsWith('.ts')) return target;
  const stem = target.slice(0, -'.ts'.length);
  return { types: `${stem}.d.ts`, default: `${stem}.js` };
}

function writePackageJson(): void {
  const kept = Object.entries(packageJson).filter(([field]) => keptFields.includes(field));
  const exports = Object.entries(packageJson.exports).map(([name, target]) => [name, publishedExport(target)]);
  const published = {
    ...Object.fromEntries(kept),
    exports: Object.fromEntries(exports),
    // All others are in the program itself.
    dependencies: Object.fromEntries(bundled.map((name) => [name, versionOf(join(dist, 'node_modules', name))])),
    bundleDependencies: bundled,
  };
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

/** The licences of all packages that are in the program, one after the other. */
function writeLicenses(folders: readonly string[]): void {
  const texts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      name: string;
      version: string;
      license?: string;
    };
    const files = globSync(licenseFiles, { cwd: folder }).toSorted();
    const text = files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
    return `${name} ${version} (${license ?? 'see below'})\n\n${text}\n`;
  });
  writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`));
}

/** A package that cannot be loaded must not leave the machine. Throws what is wrong with it. */
function verify(): void {
  const targets = Object.values(packageJson.exports)
    .map(publishedExport)
    .flatMap((target) => (typeof target === 'string' ? [target] : Object.values(target)));
  for (const target of [...targets, ...Object.values(packageJson.bin), 'console/dist/index.html']) {
    if (!existsSync(join(dist, target))) throw new Error(`The package promises ${target}, which was not built.`);
  }
}

rmSync(dist, { recursive: true, force: true });
run(programOf('typescript', 'bin/tsc'), '--project', 'tsconfig.build.json');
// A package without the page would answer JSON to browsers.
run(programOf('vite', 'bin/vite.js'), 'build', 'console', '--logLevel', 'warn');
// One without the database of a first start would make it at each first start, which takes seconds.
run(fileURLToPath(new URL('prepare-cluster.ts', import.meta.url)));
writeLicenses(await bundleProgram(dist, dist));
copyFiles(dist);
await bundlePackages(project, dist);
for (const file of ['bin/memoryd.js', 'README.md', 'LICENSE', 'CHANGELOG.md']) {
  mkdirSync(dirname(join(dist, file)), { recursive: true });
  copyFileSync(join(project, file), join(dist, file));
}
writePackageJson();
verify();
console.log(`dist/ is ready: ${globSync('{src,connectors,chunks}/**/*.js', { cwd: dist }).length} scripts.`);
