/** Four special tokens come first: `<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3. */
const specialTokens = ['<s>', '<pad>', '</s>', '<unk>'];

/** A `tokenizer.json` as XLM-RoBERTa has it; `▁` stands for the space before a word. */
export function unigramTokenizer(pieces: readonly string[], changes: object = {}): object {
  const vocabulary = [...specialTokens, ...pieces].map((piece, id) => [piece, id < specialTokens.length ? 0 : -1]);
  return {
    added_tokens: specialTokens.map((content, id) => ({ id, content, special: true, normalized: false })),
    normalizer: { type: 'NFKC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'WhitespaceSplit' },
        { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
      ],
    },
    post_processor: {
      type: 'TemplateProcessing',
      single: [
        { SpecialToken: { id: '<s>', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '</s>', type_id: 0 } },
      ],
    },
    model: { type: 'Unigram', unk_id: 3, vocab: vocabulary },
    ...changes,
  };
}

/** A `tokenizer.json` as ModernBERT has it: merges of bytes, `Ġ` stands for a space. */
export function bytePairTokenizer(pieces: readonly string[], merges: readonly string[]): object {
  return {
    added_tokens: [],
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: { type: 'BPE', vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])), merges },
  };
}
