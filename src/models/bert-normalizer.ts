/** The switches of the `BertNormalizer` section of a `tokenizer.json`. */
export interface BertNormalizerOptions {
  cleanText: boolean;
  spaceIdeographs: boolean;
  stripAccents: boolean;
  lowercase: boolean;
}

/** Unprintable: control, format, private, unassigned, halves of surrogate pairs, the replacement character. */
const unprintable = /[\p{C}\uFFFD]/gu;
const accents = /\p{Mn}/gu;
/** What a canonical decomposition can change, less the ideographs of everyday text. */
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
export function createBertNormalizer(options: BertNormalizerOptions): (segment: string) => string[] {
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
