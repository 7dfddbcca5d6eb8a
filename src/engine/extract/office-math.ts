/** Around a part of a formula; in the end nothing, or brackets where the part is more than a letter or digit. */
const [from, to] = ['\u{e000}', '\u{e001}'];
/** What stands between the parts of a formula (ECMA-376 part 1, 22.1): a fraction is `(num)/(den)`, a power `a^(b)`. */
const marks: readonly (readonly [RegExp, string])[] = [
  [/<m:(?:num|den|deg)>/g, from],
  [/<\/m:num>/g, `${to}/`],
  [/<m:sup>/g, `^${from}`],
  [/<m:sub>/g, `_${from}`],
  [/<\/m:(?:den|sup|sub|deg)>/g, to],
  [/<m:radPr[ />]/g, '√$&'],
  [/<m:dPr[ />]/g, '($&'],
  [/<\/m:d>/g, ')'],
];
const [opening, closing] = ['<m:oMath>', '</m:oMath>'];

/** The body of a Word document with its formulas as runs of text, which readers of text know. */
export function withFormulas(xml: string): string {
  let read = '';
  let position = 0;
  for (;;) {
    const start = xml.indexOf(opening, position);
    const end = start === -1 ? -1 : xml.indexOf(closing, start);
    if (end === -1) break;
    read += `${xml.slice(position, start)}<w:r><w:t xml:space="preserve">${formula(xml.slice(start, end))}</w:t></w:r>`;
    position = end + closing.length;
  }
  return (read + xml.slice(position)).replace(/<\/?m:oMathPara>/g, '');
}

function formula(math: string): string {
  const marked = marks.reduce((text, [part, mark]) => text.replace(part, mark), math);
  const said = marked.replace(/<[^<>]*>/g, '').replace(/[\u2061-\u2064]/g, '');
  const brief = said.replace(/\ue000([\p{L}\p{N}]?)\ue001/gu, '$1');
  return brief.replaceAll(from, '(').replaceAll(to, ')').replace(/\s+/g, ' ');
}
