import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Embedder } from '../embedder.ts';
import type { Check } from '../self-test.ts';
import { measureRelatedness, relatedThreshold } from '../related-texts.ts';
import { createBertTokenizer, isBertTokenizer, parseTokenizerJson } from '../tokenizer-file.ts';
import {
  createTransformer,
  createTransformerEmbedder,
  type LocalModelOptions,
  type Transformer,
} from '../transformer-embedder.ts';
import { createLibraryTokenizer } from './library-tokenizer.ts';
import { describeFolder, hashModel, type FolderDescription, type ModelSettings } from './folder-files.ts';

export interface OnnxFolderOptions extends LocalModelOptions, ModelSettings {
  /** A sentence-transformers folder: `model.onnx` or `onnx/model.onnx`, `tokenizer.json`, `config.json`. */
  folder: string;
  /** Measured at creation with a dozen known pairs when absent. */
  relatedAt?: number;
  /** Checks that `verify` runs first. */
  checkFiles?(): Promise<Check[]>;
}

const idHashLength = 12;

/**
 * Any local sentence-transformers model in ONNX form. The model is opened at
 * creation: `model_unavailable` says what is missing or not supported.
 */
export async function createOnnxFolderEmbedder(options: OnnxFolderOptions): Promise<Embedder> {
  const folder = resolve(options.folder);
  const description = await describeFolder(folder, options);
  const { tokenizer, tokens } = await openTokenizer(description);
  const transformer = createTransformer({
    ...options,
    source: {
      kind: 'file',
      path: description.modelPath,
      pooling: description.pooling,
      pooledOnly: description.hasDenseLayer,
    },
    maxTokens: description.maxTokens,
    prefixes: description.prefixes,
    loadTokenizer: () => tokenizer,
  });
  try {
    return createTransformerEmbedder({
      id: await identify(folder, description),
      dimensions: (await transformer.facts()).dimensions,
      relatedAt: options.relatedAt ?? (await measureRelatedAt(transformer)),
      tokens,
      transformer,
      checkFiles: options.checkFiles ?? (async () => []),
    });
  } catch (error) {
    await transformer.close();
    throw error;
  }
}

/** Tokens are counted in many threads, where a large vocabulary has no room: without WordPiece they are estimated. */
async function openTokenizer({ tokenizerPath: path, tokenizerConfig }: FolderDescription) {
  const json = parseTokenizerJson(await readFile(path, 'utf8'), path);
  if (isBertTokenizer(json))
    return { tokenizer: createBertTokenizer(json), tokens: { kind: 'word-piece', path } as const };
  const tokenizer = await createLibraryTokenizer(json, tokenizerConfig, path);
  return { tokenizer, tokens: { kind: 'estimate' } as const };
}

/** The folder's name for people, and a hash of all that changes the vectors. */
async function identify(folder: string, description: FolderDescription): Promise<string> {
  const { maxTokens, pooling, prefixes } = description;
  const hash = await hashModel(description, JSON.stringify({ maxTokens, pooling, prefixes }));
  return `onnx:${basename(folder)}:${hash.slice(0, idHashLength)}`;
}

async function measureRelatedAt({ embed }: Transformer): Promise<number> {
  return relatedThreshold(await measureRelatedness(embed));
}
