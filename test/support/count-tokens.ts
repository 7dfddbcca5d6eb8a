const piece = /[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu;
const charactersOfPiece = 5;

/** Counts tokens as word-piece tokenizers do: pieces of words, single signs, and two marks around the text. */
export function countTokens(text: string): number {
  let tokens = 2;
  for (const [word] of text.matchAll(piece)) tokens += Math.ceil(word.length / charactersOfPiece);
  return tokens;
}
