/**
 * Makes `dist/`, the package that is published: JavaScript and declarations in the layout of the
 * sources, the files that the code reads, and a package.json whose exports point to JavaScript.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundled, bundleRuntimes } from './bundle-runtimes.ts';
import packageJson from '../package.json' with { type: 'json' };

const project = fileURLToPath(new URL('../', import.meta.url));
const dist = join(project, 'dist');

/** Published fields of package.json that are taken as they are. */
const keptFields = [
  ...['name', 'version', 'description', 'keywords', 'license', 'author', 'homepage', 'repository', 'bugs'],
  ...['type', 'engines', 'bin', 'dependencies', 'optionalDependencies'],
];

function compile(): void {
  const tsc = fileURLToPath(import.meta.resolve('typescript/package.json').replace('package.json', 'bin/tsc'));
  const { status } = spawnSync(process.execPath, [tsc, '--project', 'tsconfig.build.json'], {
    cwd: project,
    stdio: 'inherit',
  });
  // The compiler has said what is wrong.
  if (status === 0) return;
  rmSync(dist, { recursive: true, force: true });
  process.exit(1);
}

/** The page at `/`. A package without it would answer JSON to browsers. */
function buildConsole(): void {
  const vite = fileURLToPath(import.meta.resolve('vite/package.json').replace('package.json', 'bin/vite.js'));
  const { status } = spawnSync(process.execPath, [vite, 'build', 'console', '--logLevel', 'warn'], {
    cwd: project,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}

/** The database of a first start. A package without it would make one at each first start, which takes seconds. */
function prepareCluster(): void {
  const script = fileURLToPath(new URL('prepare-cluster.ts', import.meta.url));
  const { status } = spawnSync(process.execPath, [script], { cwd: project, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

/** Everything beside the sources that they read or that belongs to them: SQL, templates, READMEs, the console. */
function copyFiles(): string[] {
  const assets = globSync(['src/**/*', 'connectors/**/*', 'console/dist/**/*'], { cwd: project, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(project.length));
  const files = [...assets, 'bin/memoryd.js', 'README.md', 'LICENSE', 'CHANGELOG.md'];
  for (const file of files) {
    mkdirSync(dirname(join(dist, file)), { recursive: true });
    copyFileSync(join(project, file), join(dist, file));
  }
  return files;
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
  const published = { ...Object.fromEntries(kept), exports: Object.fromEntries(exports), bundleDependencies: bundled };
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

/** A package that cannot be loaded must not leave the machine. Throws what is wrong with it. */
function verify(): void {
  const targets = Object.values(packageJson.exports)
    .map(publishedExport)
    .flatMap((target) => (typeof target === 'string' ? [target] : Object.values(target)));
  for (const target of [...targets, ...Object.values(packageJson.bin), 'console/dist/index.html']) {
    if (!existsSync(join(dist, target))) throw new Error(`The package promises ${target}, which was not built.`);
  }
  for (const file of globSync('**/*.js', { cwd: dist })) {
    const typescript = /(?:from|import\() ?'\.{1,2}\/[^']*\.ts'/.exec(readFileSync(join(dist, file), 'utf8'));
    if (typescript) throw new Error(`dist/${file} still imports TypeScript: ${typescript[0]}`);
  }
}

rmSync(dist, { recursive: true, force: true });
compile();
buildConsole();
prepareCluster();
const copied = copyFiles();
bundleRuntimes(project, dist);
writePackageJson();
verify();
console.log(`dist/ is ready: ${globSync('**/*.js', { cwd: dist }).length} scripts, ${copied.length} other files.`);
