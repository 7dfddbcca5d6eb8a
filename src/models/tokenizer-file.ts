import { MemorydError } from '../base/errors.ts';
import { createWordPiece, type WordPiece } from './word-piece.ts';

export interface TokenizerJson {
  normalizer?: {
    type?: string;
    clean_text?: boolean;
    handle_chinese_chars?: boolean;
    strip_accents?: boolean | null;
    lowercase?: boolean;
  } | null;
  pre_tokenizer?: { type?: string } | null;
  post_processor?: PostProcessor | null;
  model?: {
    type?: string;
    vocab?: Record<string, number>;
    unk_token?: string;
    continuing_subword_prefix?: string;
    max_input_chars_per_word?: number;
  };
}

/** How a text is framed: as a template, or in the older forms by the two tokens themselves. */
interface PostProcessor {
  type?: string;
  single?: { SpecialToken?: { id: string } }[];
  cls?: [token: string, id: number];
  sep?: [token: string, id: number];
}

/**
 * Reads a `tokenizer.json` of huggingface/tokenizers that is WordPiece with BERT's normalizer;
 * anything else throws `model_unavailable` and says what it found.
 */
export function parseTokenizer(text: string, path: string): WordPiece {
  const json = parseTokenizerJson(text, path);
  requireBert(json, path);
  return createBertTokenizer(json);
}

/** For a file of which `isBertTokenizer` is true. */
export function createBertTokenizer(json: TokenizerJson): WordPiece {
  const vocabulary = new Map(Object.entries(json.model?.vocab ?? {}));
  const lowercase = json.normalizer?.lowercase ?? true;
  return createWordPiece({
    vocabulary,
    unknownToken: json.model?.unk_token ?? '[UNK]',
    ...readFrame(json.post_processor ?? {}),
    continuingPrefix: json.model?.continuing_subword_prefix ?? '##',
    maxWordCharacters: json.model?.max_input_chars_per_word ?? 100,
    normalizer: {
      cleanText: json.normalizer?.clean_text ?? true,
      spaceIdeographs: json.normalizer?.handle_chinese_chars ?? true,
      stripAccents: json.normalizer?.strip_accents ?? lowercase,
      lowercase,
    },
  });
}

function readFrame({ single, cls, sep }: PostProcessor): { startToken: string; endToken: string } {
  return {
    startToken: single?.at(0)?.SpecialToken?.id ?? cls?.[0] ?? '[CLS]',
    endToken: single?.at(-1)?.SpecialToken?.id ?? sep?.[0] ?? '[SEP]',
  };
}

export function parseTokenizerJson(text: string, path: string): TokenizerJson {
  try {
    return JSON.parse(text) as TokenizerJson;
  } catch (cause) {
    throw new MemorydError('model_unavailable', `${path} is not valid JSON.`, { cause });
  }
}

/** Whether `parseTokenizer` reads it. Other tokenizers are read by a library, see onnx-folder. */
export function isBertTokenizer(json: TokenizerJson): boolean {
  return otherParts(json).length === 0;
}

function requireBert(json: TokenizerJson, path: string): void {
  const [other] = otherParts(json);
  if (other) throw new MemorydError('model_unavailable', `${path}: ${other}`);
}

function otherParts(json: TokenizerJson): string[] {
  const parts = [
    ['model', json.model?.type, 'WordPiece'],
    ['normalizer', json.normalizer?.type, 'BertNormalizer'],
    ['pre_tokenizer', json.pre_tokenizer?.type, 'BertPreTokenizer'],
  ] as const;
  return parts
    .filter(([_, found, wanted]) => found !== wanted)
    .map(([part, found, wanted]) => `the ${part} is of type "${found ?? 'none'}", not "${wanted}".`);
}
