/** A part of a text, and whether the query has its word. */
export interface MarkedPart {
  text: string;
  isMatch: boolean;
}

/** Words that say nothing of what is looked for. */
const smallWords = new Set(
  'a an and are as at be by can do does for from how i in is it of on or the to was we what when where which who why with you'.split(
    ' ',
  ),
);

const wordPattern = /[\p{L}\p{N}]+(?:['’][\p{L}]+)?/gu;

/** A rough stem: words of one root are marked, too. */
function stemOf(word: string): string {
  const plain = word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const singular = plain.length > 3 ? plain.replace(/s$/, '') : plain;
  return singular.length > 4 ? singular.replace(/(?:ation|ing|ed|e)$/, '') : singular;
}

/** The text in parts, cut where words of the query begin and end. Its parts joined are the text. */
export function markWords(text: string, query: string): MarkedPart[] {
  const words = (query.match(wordPattern) ?? []).map((word) => word.toLowerCase());
  const telling = words.filter((word) => !smallWords.has(word));
  const stems = new Set((telling.length > 0 ? telling : words).map(stemOf));
  const parts: MarkedPart[] = [];
  let end = 0;
  for (const match of text.matchAll(wordPattern)) {
    if (!stems.has(stemOf(match[0]))) continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index), isMatch: false });
    parts.push({ text: match[0], isMatch: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isMatch: false });
  return parts;
}

/** At most so many characters around the first word that the query has, cut at words. */
export function excerptOf(text: string, query: string, maxCharacters: number): string {
  const plain = text.replace(/\s+/gu, ' ').trim();
  if (plain.length <= maxCharacters) return plain;
  const parts = markWords(plain, query);
  const first = parts.findIndex((part) => part.isMatch);
  const before = parts.slice(0, Math.max(first, 0)).reduce((sum, part) => sum + part.text.length, 0);
  const wanted = Math.min(Math.max(before - maxCharacters / 4, 0), plain.length - maxCharacters);
  const start = wanted <= 0 ? 0 : plain.indexOf(' ', wanted) + 1;
  const end = start + maxCharacters;
  const body = end >= plain.length ? plain.slice(start) : plain.slice(start, end).replace(/\s+\S*$/u, '');
  return `${start > 0 ? '… ' : ''}${body}${end >= plain.length ? '' : ' …'}`;
}
