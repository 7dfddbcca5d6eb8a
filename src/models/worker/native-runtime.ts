import { randomUUID } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire, findPackageJSON } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

type NativeRuntime = typeof import('onnxruntime-node');

/** The published package holds the libraries of all platforms compressed: they would take 170 MB. */
const packedEnding = '.br';

/** Of the user: nobody else may write there, for what lies there is run. */
const cacheFolder = () => join(homedir(), '.cache/memoryd');

/** The library that runs models natively. Throws when there is none for this platform, or when it cannot be unpacked. */
export async function importNative(): Promise<NativeRuntime> {
  const place = await unpackNative(dirname(findPackageJSON('onnxruntime-node', import.meta.url)!), cacheFolder());
  if (place === null) return import('onnxruntime-node');
  return createRequire(join(place, 'package.json'))('onnxruntime-node') as NativeRuntime;
}

/**
 * Unpacks the library of this platform beside the package in `folder`, or, where that may not be written, with the
 * package into `cache`. Answers where the package is that can be loaded; null: in `folder`, as it was installed.
 */
export async function unpackNative(folder: string, cache: string): Promise<string | null> {
  const packed = packedFile(folder);
  if (packed === null || existsSync(unpackedPath(packed))) return null;
  try {
    await unpack(packed, unpackedPath(packed));
    return null;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return copyToCache(folder, packed, cache);
  }
}

function packedFile(folder: string): string | null {
  const [file] = globSync(`bin/*/${process.platform}/${process.arch}/*${packedEnding}`, { cwd: folder });
  return file === undefined ? null : join(folder, file);
}

function unpackedPath(file: string): string {
  return file.slice(0, -packedEnding.length);
}

/** Several threads and processes may do it at once: each writes a file of its own, and the last one stays. */
async function unpack(packed: string, target: string): Promise<void> {
  const draft = `${target}.${randomUUID()}`;
  try {
    await writeFile(draft, await promisify(brotliDecompress)(await readFile(packed)), { mode: 0o644 });
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
}

function isRefusal(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** What the library needs. */
const common = 'onnxruntime-common';

/** The package, what it needs, and the library of this platform; under its version, so that an upgrade is another one. */
async function copyToCache(folder: string, packed: string, cache: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  const home = join(cache, `onnxruntime-${version}-${process.platform}-${process.arch}`);
  const name = 'node_modules/onnxruntime-node';
  const place = join(home, name);
  if (existsSync(place)) return place;
  const draft = `${home}.${randomUUID()}`;
  try {
    const library = relative(folder, packed);
    await copyFiles(folder, ['*.json', 'LICENSE', 'dist/**', `${dirname(library)}/*.node`], join(draft, name));
    await copyFiles(join(dirname(folder), common), ['**'], join(draft, 'node_modules', common));
    await unpack(packed, join(draft, name, unpackedPath(library)));
    await rename(draft, home).catch((error: unknown) => {
      // Another process was faster.
      if (!existsSync(place)) throw error;
    });
    return place;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** One by one: folders that are copied whole may not be written either. */
async function copyFiles(folder: string, patterns: readonly string[], target: string): Promise<void> {
  const found = globSync([...patterns], { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const entry of found) {
    const file = join(entry.parentPath, entry.name);
    const copy = join(target, relative(folder, file));
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(file, copy);
  }
}
