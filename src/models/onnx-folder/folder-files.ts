import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { MemorydError } from '../../base/errors.ts';
import type { Pooling } from '../worker/messages.ts';

/** The description of a model in a sentence-transformers folder. */
export interface FolderDescription {
  modelPath: string;
  tokenizerPath: string;
  /** The content of `tokenizer_config.json`. */
  tokenizerConfig: object;
  /** Tokens of a text, without the start and end tokens. */
  maxTokens: number;
  pooling: Pooling;
  /** Layers follow the pooling, which only an export of the whole model contains. */
  hasDenseLayer: boolean;
  prefixes: { query: string; document: string };
}

export const modelNames = ['model.onnx', 'onnx/model.onnx', 'model_quantized.onnx', 'onnx/model_quantized.onnx'];
const framingTokens = 2;
const defaultMaxLength = 512;

interface FolderSettings {
  config: { max_position_embeddings?: number };
  tokenizer: { model_max_length?: number };
  sentences: { max_seq_length?: number };
  pooling: Record<string, unknown>;
  prompts: { prompts?: Record<string, string> };
  modules: { type?: string }[];
}

/** Facts about a model that its folder does not state. */
export interface ModelSettings {
  /** Which `.onnx` file to take, relative to the folder. By default the usual names are tried. */
  modelFile?: string;
  pooling?: Pooling;
  /** Put before each text. Default: the prompts of `config_sentence_transformers.json`, else none. */
  prefixes?: { query: string; document: string };
  /** Tokens of a text, with those that frame it, beyond which the model need not read. */
  maxLength?: number;
}

/**
 * Reads the settings that stand beside the model. Throws `model_unavailable` when there is no
 * model or tokenizer, or the pooling is of a kind that is not supported.
 */
export async function describeFolder(folder: string, known: ModelSettings = {}): Promise<FolderDescription> {
  const settings = await readSettings(folder);
  const { modelFile, maxLength = Infinity } = known;
  return {
    modelPath: await findFile(folder, modelFile === undefined ? modelNames : [modelFile]),
    tokenizerPath: await findFile(folder, ['tokenizer.json', 'onnx/tokenizer.json']),
    tokenizerConfig: settings.tokenizer,
    maxTokens: Math.min(maxLengthOf(settings), maxLength) - framingTokens,
    pooling: known.pooling ?? poolingOf(settings.pooling, folder),
    hasDenseLayer: settings.modules.some((module) => module.type?.endsWith('.Dense') ?? false),
    prefixes: known.prefixes ?? prefixesOf(settings.prompts.prompts ?? {}),
  };
}

async function readSettings(folder: string): Promise<FolderSettings> {
  const read = (name: string): Promise<unknown> => readJson(join(folder, name));
  return {
    config: (await read('config.json')) ?? {},
    tokenizer: (await read('tokenizer_config.json')) ?? {},
    sentences: (await read('sentence_bert_config.json')) ?? {},
    pooling: (await read('1_Pooling/config.json')) ?? {},
    prompts: (await read('config_sentence_transformers.json')) ?? {},
    modules: (await read('modules.json')) ?? [],
  } as FolderSettings;
}

async function findFile(folder: string, names: readonly string[]): Promise<string> {
  for (const name of names) {
    const path = join(folder, name);
    if (await exists(path)) return path;
  }
  throw new MemorydError('model_unavailable', `${folder} holds none of ${names.join(', ')}.`);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Null when the file does not exist. */
async function readJson(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new MemorydError('model_unavailable', `${path} cannot be read.`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MemorydError('model_unavailable', `${path} is not valid JSON.`, { cause });
  }
}

/** A tokenizer without a limit of its own states an astronomic `model_max_length`. */
function maxLengthOf({ config, tokenizer, sentences }: FolderSettings): number {
  const positions = config.max_position_embeddings ?? defaultMaxLength;
  return Math.min(sentences.max_seq_length ?? tokenizer.model_max_length ?? positions, positions);
}

function poolingOf(settings: Record<string, unknown>, folder: string): Pooling {
  const modes = Object.keys(settings).filter((key) => key.startsWith('pooling_mode_') && settings[key] === true);
  if (modes.length === 0 || modes.join() === 'pooling_mode_mean_tokens') return 'mean';
  if (modes.join() === 'pooling_mode_cls_token') return 'cls';
  const message = `${join(folder, '1_Pooling/config.json')} asks for ${modes.join(' and ')}; only mean and cls are supported.`;
  throw new MemorydError('model_unavailable', message);
}

function prefixesOf(prompts: Record<string, string>): FolderDescription['prefixes'] {
  return { query: prompts.query ?? '', document: prompts.document ?? prompts.passage ?? '' };
}

/** SHA-256 over a model (with the weights that lie beside it), its tokenizer and further text, as hexadecimal digits. */
export async function hashModel({ modelPath, tokenizerPath }: FolderDescription, extra: string): Promise<string> {
  const hash = createHash('sha256').update(extra);
  const weightsPath = `${modelPath}_data`;
  const paths = [modelPath, tokenizerPath, ...((await exists(weightsPath)) ? [weightsPath] : [])];
  for (const path of paths) await pipeline(createReadStream(path), hash, { end: false });
  return hash.digest('hex');
}
