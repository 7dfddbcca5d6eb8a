import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { encodeModel, type OnnxGraph } from '../../src/models/onnx/model-bytes.ts';

export interface ModelFolderOptions {
  /** Words of one list are near each other, words of different lists are not. */
  topics: string[][];
  /** `[1, tokens, dimensions]` under its usual name, or `[1, dimensions]`. Default `last_hidden_state`. */
  output?: 'last_hidden_state' | 'sentence_embedding' | 'logits';
  /** Element type of the inputs. Default int64. */
  idType?: 'int32' | 'int64';
  modelFile?: string;
  /** Further files of the folder by path; objects are written as JSON, null leaves one out. */
  files?: Record<string, unknown>;
}

export interface ModelFolder {
  path: string;
  remove(): Promise<void>;
}

/** Words of the known pairs by what the pair is about. */
export const topics = [
  ['meeting', 'meet', 'thursday', 'afternoon', 'lunch'],
  ['money', 'refunds', 'paid', 'card', 'back'],
  ['allergic', 'peanuts', 'nuts', 'eat', 'throat'],
  ['database', 'backup', 'postgresql', 'dumped', 'schedule'],
  ['design', 'leads', 'head', 'team', 'maria'],
  ['flight', 'berlin', 'lands', 'arrival', 'trip'],
  ['server', 'memory', 'heap', 'killed', 'process'],
  ['music', 'favourite', 'jazz', 'records', 'listens'],
  ['notice', 'flat', 'lease', 'period', 'months'],
  ['puppy', 'dog', 'bought', 'shoes', 'chewed'],
  ['deadline', 'quarterly', 'report', 'q3', 'due'],
  ['install', 'package', 'npm', 'run', 'daemon'],
];

const dimensions = 32;
const specialTokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'];
/** The word that the model has no vector for: running it fails inside the library. */
export const fatalWord = 'kaboom';

/** Writes a tiny sentence-transformers folder: each token's vector is looked up in a table. */
export async function writeModelFolder(options: ModelFolderOptions): Promise<ModelFolder> {
  const path = await mkdtemp(join(tmpdir(), 'memoryd-model-'));
  const words = options.topics.flat();
  const vocabulary = [...specialTokens, ...words, '.', ',', '?', fatalWord];
  const files: Record<string, unknown> = {
    [options.modelFile ?? 'model.onnx']: encodeModel(lookupGraph(vocabulary, options)),
    'tokenizer.json': tokenizerJson(vocabulary),
    'config.json': { model_type: 'bert', hidden_size: dimensions, max_position_embeddings: 64 },
    '1_Pooling/config.json': { pooling_mode_cls_token: false, pooling_mode_mean_tokens: true },
    ...options.files,
  };
  for (const [name, content] of Object.entries(files)) {
    if (content === null) continue;
    await mkdir(dirname(join(path, name)), { recursive: true });
    const bytes = content instanceof Uint8Array || typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(join(path, name), bytes);
  }
  return { path, remove: () => rm(path, { recursive: true }) };
}

export function tokenizerJson(vocabulary: readonly string[]) {
  return {
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])),
    },
  };
}

function lookupGraph(vocabulary: readonly string[], options: ModelFolderOptions): OnnxGraph {
  const { output = 'last_hidden_state', idType = 'int64' } = options;
  // One row less than there are words: the last one is out of range.
  const table = vocabulary.slice(0, -1).flatMap((word) => vectorOf(word, options.topics));
  const pooled = output === 'sentence_embedding';
  const inputs = ['input_ids', 'attention_mask', 'token_type_ids'] as const;
  return {
    nodes: [
      { type: 'Gather', inputs: ['table', 'input_ids'], outputs: [pooled ? 'tokens' : output] },
      ...(pooled
        ? [{ type: 'ReduceMean', inputs: ['tokens'], outputs: [output], attributes: { axes: [1], keepdims: 0 } }]
        : []),
    ],
    constants: [
      {
        name: 'table',
        elementType: 'float32',
        shape: [vocabulary.length - 1, dimensions],
        data: new Uint8Array(Float32Array.from(table).buffer),
      },
    ],
    inputs: inputs.map((name) => ({ name, elementType: idType, shape: ['batch', 'tokens'] })),
    outputs: [
      {
        name: output,
        elementType: 'float32',
        shape: pooled ? ['batch', dimensions] : ['batch', 'tokens', dimensions],
      },
    ],
  };
}

/** The topic's axis, and a little that is the word's own. What the model does not know says nothing. */
function vectorOf(word: string, topics: readonly string[][]): number[] {
  if (word === '[UNK]') return Array.from({ length: dimensions }, () => 0);
  const topic = topics.findIndex((words) => words.includes(word));
  return Array.from({ length: dimensions }, (_, axis) => {
    const own = Math.sin((axis + 1) * (word.charCodeAt(0) * 31 + word.length * 7 + word.charCodeAt(word.length - 1)));
    return (axis === topic ? 1 : 0) + own * 0.1;
  });
}
