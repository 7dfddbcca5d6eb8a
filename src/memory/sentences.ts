export interface Sentence {
  text: string;
  /** Where it begins in what was split. */
  start: number;
}

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
const abbreviation = /\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|e\.g|i\.e|approx|Inc|Ltd)\.\s*$/;
const lineMark = /^(?:[-*+•]|\d{1,3}[.)]|>|#{1,6})\s+/;

/** Sentences of prose and of lists; headings, code and tables say nothing by themselves and are left out. */
export function sentencesOf(text: string): Sentence[] {
  const found: Sentence[] = [];
  for (const block of blocksOf(text)) found.push(...sentencesOfBlock(block));
  return found;
}

/** Paragraphs, whose lines belong together, and list entries. */
function blocksOf(text: string): Sentence[] {
  const blocks: Sentence[] = [];
  let open = false;
  let inCode = false;
  let start = 0;
  for (const line of text.split('\n')) {
    const isFence = /^\s*(?:```|~~~)/.test(line);
    if (isFence) inCode = !inCode;
    const skipped = isFence || inCode || /^\s*(?:#{1,6}\s|\||$)/.test(line);
    if (skipped) open = false;
    else if (open && !lineMark.test(line.trim())) blocks.at(-1)!.text += `\n${line}`;
    else {
      blocks.push({ text: line, start });
      open = true;
    }
    start += line.length + 1;
  }
  return blocks;
}

function sentencesOfBlock(block: Sentence): Sentence[] {
  const found: Sentence[] = [];
  let pending: Sentence | null = null;
  for (const { segment, index } of segmenter.segment(block.text.replaceAll('\n', ' '))) {
    const whole: Sentence = pending
      ? { text: pending.text + segment, start: pending.start }
      : { text: segment, start: index };
    pending = abbreviation.test(whole.text) ? whole : null;
    if (pending === null) found.push(whole);
  }
  if (pending) found.push(pending);
  return found.flatMap((sentence) => {
    const unmarked = sentence.text.replace(lineMark, '');
    const text = unmarked.trim();
    const leading = sentence.text.length - unmarked.trimStart().length;
    return text === '' ? [] : [{ text, start: block.start + sentence.start + leading }];
  });
}
