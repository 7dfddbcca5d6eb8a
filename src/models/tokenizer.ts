/** Cuts text into the numbers of a vocabulary. Special tokens that stand in the text are not read as such. */
export interface Tokenizer {
  /** Ids of at most `maxTokens` tokens, without those that frame a text. Cheap for a long text: it reads no further. */
  encode(text: string, maxTokens: number): number[];
  /** Ids that stand before a text, such as that of `[CLS]`; most models want one. */
  readonly start: readonly number[];
  /** Ids that stand after it, such as that of `[SEP]`. */
  readonly end: readonly number[];
}
