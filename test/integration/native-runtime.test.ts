import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unpackNative } from '../../src/models/worker/native-runtime.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const own = `bin/napi-v6/${process.platform}/${process.arch}`;
const other = 'bin/napi-v6/plan9/mips';
const nobody = 65_534;

describe('the library that runs models', () => {
  let parent: string;
  let library: string;
  let cache: string;
  beforeEach(async () => {
    parent = await temporaryFolder('memoryd-native-');
    library = join(parent, 'node_modules/onnxruntime-node');
    cache = join(parent, 'cache');
    const files = {
      'onnxruntime-node/package.json': '{ "version": "1.2.3" }',
      'onnxruntime-node/LICENSE': 'MIT',
      'onnxruntime-node/dist/index.js': 'exports.common = require("onnxruntime-common").common;',
      [`onnxruntime-node/${own}/onnxruntime_binding.node`]: 'binding',
      [`onnxruntime-node/${other}/onnxruntime_binding.node`]: 'binding',
      'onnxruntime-common/package.json': '{ "main": "index.js" }',
      'onnxruntime-common/index.js': 'exports.common = 1;',
    };
    for (const [path, text] of Object.entries(files)) await write(join(parent, 'node_modules', path), text);
    for (const folder of [own, other]) await write(join(library, folder, 'lib.so.1.br'), packed(folder));
    await mkdir(cache);
  });
  afterEach(() => rm(parent, { recursive: true }));

  const packed = (text: string) => brotliCompressSync(`library of ${text}`);
  const write = async (path: string, content: string | Buffer) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  };

  it('is unpacked beside the package, also by several threads at once, and only once', async () => {
    const places = await Promise.all([1, 2, 3].map(() => unpackNative(library, cache)));
    expect(places).toEqual([null, null, null]);
    expect(await readFile(join(library, own, 'lib.so.1'), 'utf8')).toBe(`library of ${own}`);
    expect(await readdir(join(library, own))).toHaveLength(3);
    expect(existsSync(join(library, other, 'lib.so.1'))).toBe(false);
    await write(join(library, own, 'lib.so.1.br'), 'no longer read');
    expect(await unpackNative(library, cache)).toBe(null);
  });

  it('is loaded as it was installed where it is not packed', async () => {
    await write(join(library, own, 'lib.so.1'), 'installed');
    expect(await unpackNative(library, cache)).toBe(null);
    expect(await readFile(join(library, own, 'lib.so.1'), 'utf8')).toBe('installed');
  });

  it('is copied into the cache of a user who may not write where it was installed', async () => {
    const places = await asUnprivileged(() => Promise.all([1, 2, 3].map(() => unpackNative(library, cache))));
    const place = join(cache, `onnxruntime-1.2.3-${process.platform}-${process.arch}/node_modules/onnxruntime-node`);
    expect(places).toEqual([place, place, place]);
    expect(await readFile(join(place, own, 'lib.so.1'), 'utf8')).toBe(`library of ${own}`);
    expect(existsSync(join(place, other))).toBe(false);
    expect((await import(join(place, 'dist/index.js'))).default).toEqual({ common: 1 });
    expect(await readdir(cache)).toHaveLength(1);
    expect(await asUnprivileged(() => unpackNative(library, cache))).toBe(place);
  });

  it('that is damaged is an error, and leaves nothing behind', async () => {
    await write(join(library, own, 'lib.so.1.br'), 'torn');
    await expect(unpackNative(library, cache)).rejects.toThrow();
    expect((await readdir(join(library, own))).toSorted()).toEqual(['lib.so.1.br', 'onnxruntime_binding.node']);
  });

  /** Runs it as somebody who may read the package, and write only the cache. */
  async function asUnprivileged<Result>(run: () => Promise<Result>): Promise<Result> {
    const isRoot = process.getuid!() === 0;
    await chmod(parent, 0o755);
    await chmod(cache, 0o777);
    await chmod(join(library, own), 0o555);
    if (isRoot) process.seteuid!(nobody);
    try {
      return await run();
    } finally {
      if (isRoot) process.seteuid!(0);
      await chmod(join(library, own), 0o755);
    }
  }
});
