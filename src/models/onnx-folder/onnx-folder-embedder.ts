import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Embedder } from '../embedder.ts';
import type { SelfCheck } from '../self-test.ts';
import { measureRelatedness, relatedThreshold } from '../related-texts.ts';
import { createBertTokenizer, isBertTokenizer, parseTokenizerJson, type TokenizerJson } from '../token-counting.ts';
import {
  createTransformer,
  createTransformerEmbedder,
  type LocalModelOptions,
  type Transformer,
} from '../transformer-embedder.ts';
import { describeFolder, hashModel, type FolderDescription, type ModelSettings } from './folder-files.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Tokenizer } from '../tokenizer.ts';

export interface OnnxFolderOptions extends LocalModelOptions, ModelSettings {
  /** A sentence-transformers folder: `model.onnx` or `onnx/model.onnx`, `tokenizer.json`, `config.json`. */
  folder: string;
  /** Measured at creation with a dozen known pairs when absent. */
  relatedAt?: number;
  /** Checks that `verify` runs first. */
  checkFiles?(): Promise<SelfCheck[]>;
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

interface AddedToken {
  content: string;
  special?: boolean;
}

/** More than any language needs for a token, and far less than a document has. */
const charactersPerToken = 16;
/** How much text is looked at per token when the first look gave too few: white space has none. */
const maxCharactersPerToken = 128;
/** Any text of one token or more shows what stands around it. */
const probe = 'a';

/**
 * Any tokenizer that `@huggingface/tokenizers` reads: BPE, Unigram, and WordPiece with other rules than
 * BERT's. Throws `model_unavailable` for one that it does not read.
 *
 * @param config what `tokenizer_config.json` says
 */
export async function createLibraryTokenizer(
  json: TokenizerJson & { added_tokens?: AddedToken[] },
  config: object,
  path: string,
): Promise<Tokenizer> {
  const { Tokenizer } = await import('@huggingface/tokenizers');
  const addedTokens = json.added_tokens ?? [];
  const noParts = { normalizer: null, pre_tokenizer: null, post_processor: null };
  // Nothing is decoded: a decoder that the library does not know is no reason to refuse the rest.
  const whole = { ...noParts, ...json, added_tokens: addedTokens, decoder: null };
  const library = attempt(path, () => new Tokenizer(whole, config));
  const idsOf = (text: string, framed: boolean) => library.encode(text, { add_special_tokens: framed }).ids;
  const plain = withoutSpecialTokens(addedTokens);
  return {
    ...attempt(path, () => frameOf(idsOf)),
    encode(text, maxTokens) {
      const most = maxTokens * maxCharactersPerToken;
      for (let length = maxTokens * charactersPerToken; ; length = most) {
        const ids = idsOf(plain(text.slice(0, length)), false);
        if (ids.length >= maxTokens || length === most || length >= text.length) return ids.slice(0, maxTokens);
      }
    },
  };
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unknown failure';
    const message = `${path} cannot be read as a tokenizer: ${reason}`;
    throw new MemorydError('model_unavailable', message, { cause });
  }
}

function frameOf(idsOf: (text: string, framed: boolean) => number[]): Pick<Tokenizer, 'start' | 'end'> {
  const [bare, framed] = [idsOf(probe, false), idsOf(probe, true)];
  const before = framed.findIndex((_, index) => bare.every((id, offset) => framed[index + offset] === id));
  if (bare.length === 0 || before < 0) throw new Error('it leaves no place for a text');
  return { start: framed.slice(0, before), end: framed.slice(before + bare.length) };
}

/** A document cannot forge what frames it: where it says `</s>` or `[SEP]`, a space is read. */
function withoutSpecialTokens(tokens: readonly AddedToken[]): (text: string) => string {
  const special = tokens.filter((token) => token.special && token.content !== '').map((token) => token.content);
  // The longest first: one may begin with another.
  special.sort((left, right) => right.length - left.length);
  return (text) => special.reduce((rest, content) => rest.replaceAll(content, ' '), text);
}
