/** The rows of a table of tbl(1), their cells between bars. `lines` are those between `.TS` and `.TE`. */
export function tableRows(lines: readonly string[], plain: (line: string) => string): string[] {
  const options = lines[0]?.trimEnd().endsWith(';') ? lines[0] : '';
  const separator = /tab[ \t]*\((.)\)/.exec(options)?.[1] ?? '\t';
  const first = lines.findIndex((line) => /\.[ \t]*$/.test(line)) + 1;
  const rows: string[] = [];
  let row: string[] = [];
  let isInCell = false;
  for (const line of lines.slice(first)) {
    const isRule = /^[-_=\s]*$/.test(line) || /^[.']/.test(line);
    if (isRule && !isInCell) continue;
    // Within a cell that goes over several lines, macros set its text in fonts.
    const text = line.replace(/^[.']\S*[ \t]*/, '');
    const ends = text.startsWith('T}');
    if (isInCell && !ends) row.push(' ');
    row.push(ends ? text.slice(2).replace(/T\{[ \t]*$/, '') : text.replace(/T\{[ \t]*$/, ''));
    isInCell = /T\{[ \t]*$/.test(text) || (isInCell && !ends);
    if (isInCell) continue;
    const cells = row
      .join('')
      .split(separator)
      .map((cell) => plain(cell).trim());
    row = [];
    if (cells.some((cell) => cell !== '')) rows.push(cells.join(' | '));
  }
  return rows;
}
