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
