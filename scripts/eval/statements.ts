/** Words that two wordings of one statement may differ in. */
const empty = new Set(
  'the a an of for in on at to from with by and is are was were be been has have had do does did now just also already currently still really s his her their'.split(
    ' ',
  ),
);

/** Whether two texts state the same: the same numbers and negations, and four of five of their words in common. */
export function isSameStatement(found: string, expected: string): boolean {
  const [left, right] = [wordsOf(found), wordsOf(expected)];
  const exact = (word: string) => /\d/.test(word) || /^(?:not|no|never|nobody|longer)$/.test(word);
  const weighty = (words: ReadonlySet<string>) => [...words].filter(exact).sort().join(' ');
  if (weighty(left) !== weighty(right)) return false;
  const common = [...left].filter((word) => right.has(word)).length;
  return common >= 0.8 * left.size && common >= 0.8 * right.size;
}

/** Share of `found` that states something expected, and of `expected` that is found. */
export function matched(
  found: readonly string[],
  expected: readonly string[],
): { right: string[]; wrong: string[]; missed: string[] } {
  const isExpected = (text: string) => expected.some((one) => isSameStatement(text, one));
  return {
    right: found.filter(isExpected),
    wrong: found.filter((text) => !isExpected(text)),
    missed: expected.filter((one) => !found.some((text) => isSameStatement(text, one))),
  };
}

function wordsOf(text: string): Set<string> {
  const plain = text
    .toLowerCase()
    .replace(/\s*\((?:week of )?\d{4}[\d-]*\)/g, '')
    .replace(/n['’]t\b/g, ' not')
    .replace(/['’]s\b/g, '');
  const words = plain.match(/[\p{L}\p{N}]+(?:[.:,]\d+)*/gu) ?? [];
  return new Set(words.filter((word) => !empty.has(word)).map((word) => word.replace(/(?<=\p{L}{3})(?:es|s)$/u, '')));
}
