/**
 * The stem of a German word in lower case, without umlauts, by CISTEM (Weissweiler and Fraser, "Developing a stemmer for
 * German based on a comparative analysis of publicly available stemmers", 2017). Snowball's stemmer leaves forms of a
 * verb apart (`gluckern`, `gluckert`). Women are found with men: `Fahrerin` has the stem of `Fahrer`.
 */
export function stemGerman(word: string): string {
  const plain = word.replace(feminine, '').replace(/[üöäß]/g, (letter) => plainLetters[letter]!);
  const marked = plain
    .replace(/^ge(?=.{4})/, '')
    .replaceAll('sch', '$')
    .replaceAll('ei', '%')
    .replaceAll('ie', '&')
    .replace(/(.)\1/g, '$1*');
  return withoutSuffixes(marked)
    .replace(/(.)\*/g, '$1$1')
    .replace(/[&%$]/g, (mark) => marks[mark]!);
}

const feminine = /(?<=\p{L}{2}er)in(?:nen)?$/u;
const plainLetters: Record<string, string> = { ü: 'u', ö: 'o', ä: 'a', ß: 'ss' };
/** Letters that no suffix may be cut out of. */
const marks: Record<string, string> = { '&': 'ie', '%': 'ei', $: 'sch' };

const longSuffixes = new Set(['em', 'er', 'nd']);
const shortSuffixes = new Set(['t', 'e', 's', 'n']);

function withoutSuffixes(marked: string): string {
  let end = marked.length;
  while (end > 3) {
    if (end > 5 && longSuffixes.has(marked.slice(end - 2, end))) end -= 2;
    else if (shortSuffixes.has(marked[end - 1]!)) end -= 1;
    else break;
  }
  return marked.slice(0, end);
}
