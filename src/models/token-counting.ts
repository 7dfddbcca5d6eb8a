import { readFileSync } from 'node:fs';
import { MemorydError } from '../base/errors.ts';
import type { TokenCounting } from './embedder.ts';
import type { Tokenizer } from './tokenizer.ts';

type CountTokens = (text: string) => number;

const words = /[\p{L}\p{N}]+/gu;
/** A longer word counts as several, so that an endless one cannot make an endless chunk. */
const maxWordCharacters = 100;
const wordPieces = new Map<string, CountTokens>();

/** Counts the tokens that a model sees for a text. A tokenizer is read once in each thread. */
export function createTokenCounter(counting: TokenCounting): CountTokens {
  switch (counting.kind) {
    case 'word-piece':
      return wordPieceCounter(counting.path);
    case 'estimate':
      return estimateTokens;
    case 'words':
      return countWords;
  }
}

function wordPieceCounter(path: string): CountTokens {
  const known = wordPieces.get(path);
  if (known) return known;
  const { count } = parseTokenizer(readFileSync(path, 'utf8'), path);
  wordPieces.set(path, count);
  return count;
}

function countWords(text: string): number {
  let count = 0;
  for (const [word] of text.matchAll(words)) count += Math.ceil(word.length / maxWordCharacters);
  return count;
}

/** Runs of letters, runs of digits, and any other visible character by itself. */
const pieces = /[A-Za-z]+|\d+|[^\sA-Za-z\d]/g;
const lettersPerToken = 4;
const digitsPerToken = 2;

/**
 * Tokens a text may come to at a tokenizer we do not know. Meant to be too high rather than too
 * low: a word counts at least once, four letters or two digits at the most go into one token, and
 * every other UTF-16 unit (an ideograph, half an emoji, a sign) is one.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(pieces)) tokens += tokensOf(piece);
  return tokens;
}

/** The start of a text that is estimated at `maxTokens` or less, cut between pieces where possible. */
export function cutToTokens(text: string, maxTokens: number): string {
  if (text.length <= maxTokens) return text;
  let rest = maxTokens;
  for (const match of text.matchAll(pieces)) {
    const tokens = tokensOf(match[0]);
    if (tokens > rest) return text.slice(0, match.index + (tokens > maxTokens ? rest : 0)).toWellFormed();
    rest -= tokens;
  }
  return text;
}

function tokensOf(piece: string): number {
  const first = piece.charCodeAt(0);
  if (first >= 0x30 && first <= 0x39) return Math.ceil(piece.length / digitsPerToken);
  const isLetter = (first >= 0x41 && first <= 0x5a) || (first >= 0x61 && first <= 0x7a);
  return isLetter ? Math.ceil(piece.length / lettersPerToken) : 1;
}

/** Cuts text as BERT and its descendants read it. */
interface WordPiece extends Tokenizer {
  /** Number of tokens of the whole text, without the two that frame it. Counts of parts add up at whitespace. */
  count(text: string): number;
}

export interface WordPieceOptions {
  vocabulary: ReadonlyMap<string, number>;
  unknownToken: string;
  startToken: string;
  endToken: string;
  continuingPrefix: string;
  /** A word of more characters is not looked up; it becomes one unknown token for each such length. */
  maxWordCharacters: number;
  normalizer: BertNormalizerOptions;
}

const maxRememberedWords = 30_000;
/** V8 copies parts up to this length; a longer key would keep the whole text it was cut from alive. */
const maxRememberedLength = 12;
/** How much text is looked at per token wanted: far more than any real language needs. */
const charactersPerToken = 128;
/**
 * Whitespace that stays whitespace; other control characters vanish. What stands between can be
 * normalized by itself: no rule of the normalizer reaches over a space.
 */
const betweenSpaces = /[^\t\n\r\p{Z}]+/gu;

/**
 * A WordPiece tokenizer: greedy, longest piece first. Special tokens that stand in the text
 * (`[SEP]`) are read as plain text, so a document cannot forge them.
 */
function createWordPiece(options: WordPieceOptions): WordPiece {
  const normalize = createBertNormalizer(options.normalizer);
  const idOf = requireId(options.vocabulary);
  const unknownId = idOf(options.unknownToken);
  const split = createWordSplitter(options, unknownId);
  const remembered = new Map<string, readonly number[]>();

  function idsOf(segment: string): readonly number[] {
    const known = remembered.get(segment);
    if (known) return known;
    const ids = normalize(segment).flatMap(split);
    if (segment.length <= maxRememberedLength) {
      if (remembered.size >= maxRememberedWords) remembered.clear();
      remembered.set(segment, ids);
    }
    return ids;
  }

  return {
    start: [idOf(options.startToken)],
    end: [idOf(options.endToken)],
    encode(text, maxTokens) {
      const ids: number[] = [];
      for (const [segment] of text.slice(0, maxTokens * charactersPerToken).matchAll(betweenSpaces)) {
        for (const id of idsOf(segment)) ids.push(id);
        if (ids.length >= maxTokens) break;
      }
      return ids.slice(0, maxTokens);
    },
    count(text) {
      let count = 0;
      for (const [segment] of text.matchAll(betweenSpaces)) count += idsOf(segment).length;
      return count;
    },
  };
}

function requireId(vocabulary: ReadonlyMap<string, number>): (token: string) => number {
  return (token) => {
    const id = vocabulary.get(token);
    if (id === undefined) throw new MemorydError('model_unavailable', `The tokenizer's vocabulary lacks "${token}".`);
    return id;
  };
}

function createWordSplitter(options: WordPieceOptions, unknownId: number): (word: string) => number[] {
  const { vocabulary, continuingPrefix, maxWordCharacters } = options;
  const maxPieceLength = Math.max(...[...vocabulary.keys()].map((piece) => piece.length));

  function longestPiece(word: string, start: number): { id: number; end: number } | null {
    const prefix = start === 0 ? '' : continuingPrefix;
    for (let end = Math.min(word.length, start + maxPieceLength); end > start; end--) {
      const id = vocabulary.get(prefix + word.slice(start, end));
      if (id !== undefined) return { id, end };
    }
    return null;
  }

  return (word) => {
    const overlong = word.length > maxWordCharacters ? Math.ceil([...word].length / maxWordCharacters) : 1;
    if (overlong > 1) return new Array<number>(overlong).fill(unknownId);
    const ids: number[] = [];
    for (let start = 0; start < word.length;) {
      const piece = longestPiece(word, start);
      if (!piece) return [unknownId];
      ids.push(piece.id);
      start = piece.end;
    }
    return ids;
  };
}

/** The switches of the `BertNormalizer` section of a `tokenizer.json`. */
interface BertNormalizerOptions {
  cleanText: boolean;
  spaceIdeographs: boolean;
  stripAccents: boolean;
  lowercase: boolean;
}

/** Unprintable: control, format, private, unassigned, halves of surrogate pairs, the replacement character. */
const unprintable = /[\p{C}\uFFFD]/gu;
const accents = /\p{Mn}/gu;
/** Characters that a canonical decomposition can change, without the ideographs of everyday text. */
const decomposable = /[^\0-\xBF\u4E00-\u9FFF]/gu;
const plainAscii = /^[a-z0-9]+$/;
/** CJK ideographs, each a word of its own: the blocks that BERT's `_is_chinese_char` lists. */
const ideograph =
  '\\u4E00-\\u9FFF\\u3400-\\u4DBF\\uF900-\\uFAFF' +
  '\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2B73F}\\u{2B740}-\\u{2B81F}\\u{2B820}-\\u{2CEAF}\\u{2F800}-\\u{2FA1F}';
/** `\p{P}` and the ASCII signs that Unicode calls symbols. */
const punctuation = '\\p{P}$+<=>^`|~';

/**
 * Makes words out of text that holds no whitespace, as the `BertNormalizer` and `BertPreTokenizer`
 * of huggingface/tokenizers do: unprintable characters gone, accents gone, lower case, each
 * punctuation mark and (if asked) each ideograph by itself.
 */
function createBertNormalizer(options: BertNormalizerOptions): (segment: string) => string[] {
  const alone = options.spaceIdeographs ? punctuation + ideograph : punctuation;
  const words = new RegExp(`[${alone}]|[^${alone}]+`, 'gu');
  return (segment) => {
    if (plainAscii.test(segment)) return [segment];
    let text = segment;
    if (options.cleanText) text = text.replace(unprintable, '');
    if (options.stripAccents) text = withoutAccents(text);
    if (options.lowercase) text = text.replaceAll('Σ', 'σ').toLowerCase();
    return text.match(words) ?? [];
  };
}

/** Character by character: `normalize` takes quadratic time for long runs of combining marks. */
function withoutAccents(text: string): string {
  return text.replace(decomposable, (character) => character.normalize('NFD')).replace(accents, '');
}

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
