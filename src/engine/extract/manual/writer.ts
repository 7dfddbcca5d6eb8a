/** Writes Markdown as roff fills its pages: lines of text go on in one paragraph until something ends it. */
export interface Writer {
  /** In a paragraph after a space; in an example a line of its own. `isGlued`: without the space. */
  add(text: string, options?: { isGlued?: boolean }): void;
  /** Ends the paragraph; `unlessTerm`: not between a term and its explanation. */
  end(options?: { unlessTerm?: boolean }): void;
  /** The next line within the paragraph. */
  breakLine(): void;
  /** Begins a paragraph with a term of a list, below which its explanation follows, or with a mark such as `-`. */
  term(text: string): void;
  heading(level: number, text: string): void;
  /** Lines stay as they are, until they are filled again. */
  example(isOn: boolean): void;
  table(rows: readonly string[]): void;
  /** All, with what is open ended. */
  text(): string;
  /** The first paragraph below the first heading. */
  summary(): string | null;
}

const mark = /^(?:[-*•+]|\(?\d{1,3}[.)]|[a-z][.)])$/;

export function createWriter(): Writer {
  const blocks: string[] = [];
  let paragraph: string[] = [];
  let isLineStart = true;
  let example: string[] | null = null;
  let headings = 0;
  let summary: string | null = null;

  function push(text: string, startsLine: boolean): void {
    paragraph.push(text);
    isLineStart = startsLine;
  }

  function block(text: string): void {
    blocks.push(text);
    if (headings === 1) summary ??= text;
  }

  function endParagraph(): void {
    const text = paragraph.join('').trim();
    paragraph = [];
    isLineStart = true;
    // A number sign at its start would make a heading of it.
    const safe = text.replace(/^•[ \t]*/, '- ').replace(/^(?=#{1,6} )/, '\\');
    if (text !== '') block(safe.replace(/(\S) {2,}/g, '$1 '));
  }

  function endExample(): void {
    const lines = (example ?? []).join('\n').replace(/^\n+/, '').trimEnd();
    example = null;
    const fence = lines.includes('```') ? '~~~~' : '```';
    if (lines !== '') block(`${fence}\n${lines}\n${fence}`);
  }

  function endAll(): void {
    endExample();
    endParagraph();
  }

  return {
    add(text, { isGlued = false } = {}) {
      if (!example) push(isGlued || isLineStart ? text : ` ${text.trimStart()}`, false);
      else if (isGlued && example.length > 0) example.push(`${example.pop()}${text}`);
      else example.push(text);
    },
    end({ unlessTerm = false } = {}) {
      if (example) example.push('');
      else if (!unlessTerm || !isLineStart) endParagraph();
    },
    breakLine() {
      if (!example && !isLineStart) push('\n', true);
    },
    term(text) {
      endExample();
      // Terms that share an explanation stand below each other.
      if (!isLineStart) endParagraph();
      const isMark = mark.test(text);
      push(isMark ? `${/[*•+]/.test(text) ? '-' : text} ` : `${text}\n`, !isMark);
      isLineStart = true;
    },
    heading(level, text) {
      endAll();
      if (text === '') return;
      headings += 1;
      blocks.push(`${'#'.repeat(level)} ${text}`);
    },
    example(isOn) {
      endAll();
      if (isOn) example = [];
    },
    table(rows) {
      endAll();
      if (rows.length > 0) block(rows.join('\n'));
    },
    text() {
      endAll();
      return blocks.join('\n\n');
    },
    summary: () => summary,
  };
}
