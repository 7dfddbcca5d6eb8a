/**
 * Puts the libraries that run models into the package, as bundled dependencies without install scripts: the script of
 * onnxruntime-node downloads a build for graphics cards, and where it cannot, npm leaves the library out, so that
 * models run five times slower. Of both libraries only what a computation on the processor needs is taken.
 */
import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Runtime {
  name: string;
  /** Globs within the package. */
  files: readonly string[];
}

const runtimes: readonly Runtime[] = [
  {
    name: 'onnxruntime-node',
    files: [
      'dist/*.js',
      'bin/*/*/*/onnxruntime_binding.node',
      'bin/*/linux/*/libonnxruntime.so.1',
      // There under two names; the binding loads this one.
      'bin/*/darwin/*/libonnxruntime.1.dylib',
      // Without the libraries of graphics cards beside it.
      'bin/*/win32/*/onnxruntime.dll',
    ],
  },
  {
    name: 'onnxruntime-web',
    files: ['dist/ort.node.min.{mjs,js}', 'dist/ort-wasm-simd-threaded.{mjs,wasm}'],
  },
  { name: 'onnxruntime-common', files: ['dist/cjs/**/*.{js,json}', 'dist/esm/**/*.{js,json}'] },
];
/** What they need at run time; the others of their dependencies are for their install scripts, or built in. */
const common = 'onnxruntime-common';

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

/** Of the dependencies of the package; what both need comes with them. */
export const bundled: readonly string[] = runtimes.map(({ name }) => name).filter((name) => name !== common);

/** Throws when a file that is named is not there. */
export function bundleRuntimes(project: string, target: string): void {
  for (const { name, files } of runtimes) {
    const from = join(project, 'node_modules', name);
    const to = join(target, 'node_modules', name);
    for (const pattern of files) {
      const found = globSync(pattern, { cwd: from });
      if (found.length === 0) throw new Error(`${name} has no ${pattern}.`);
      for (const file of found) {
        mkdirSync(dirname(join(to, file)), { recursive: true });
        copyFileSync(join(from, file), join(to, file));
      }
    }
    copyFileSync(fileURLToPath(new URL('licenses/onnxruntime.txt', import.meta.url)), join(to, 'LICENSE'));
    writeFileSync(join(to, 'package.json'), `${JSON.stringify(withoutScripts(from), null, 2)}\n`);
  }
  for (const platform of nativePlatforms) {
    const [binding, library] = globSync(`node_modules/onnxruntime-node/bin/*/${platform}/*`, { cwd: target });
    if (!binding || !library) throw new Error(`onnxruntime-node has no library for ${platform}.`);
  }
}

function withoutScripts(folder: string): object {
  const described = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>;
  const dependencies = described['dependencies'] as Record<string, string> | undefined;
  const kept = [...keptFields, ...loadedFields].filter((field) => described[field] !== undefined);
  return {
    ...Object.fromEntries(kept.map((field) => [field, described[field]])),
    ...(dependencies?.[common] !== undefined && { dependencies: { [common]: dependencies[common] } }),
  };
}
