import { MemorydError } from '../../base/errors.ts';
import type { TokenizerJson } from '../tokenizer-file.ts';
import type { Tokenizer } from '../tokenizer.ts';

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
  if (bare.length === 0 || before < 0) throw new Error('it says nothing that a text can be found in');
  return { start: framed.slice(0, before), end: framed.slice(before + bare.length) };
}

/** A document cannot forge what frames it: where it says `</s>` or `[SEP]`, a space is read. */
function withoutSpecialTokens(tokens: readonly AddedToken[]): (text: string) => string {
  const special = tokens.filter((token) => token.special && token.content !== '').map((token) => token.content);
  // The longest first: one may begin with another.
  special.sort((left, right) => right.length - left.length);
  return (text) => special.reduce((rest, content) => rest.replaceAll(content, ' '), text);
}
