/** A section of Markdown; nothing when it has no lines. */
export function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}\n${lines.map((line) => `- ${line}`).join('\n')}`];
}

/** Sections with a line between them, or what to say when there are none. */
export function joined(sections: readonly string[], nothing: string): string {
  return sections.length === 0 ? nothing : sections.join('\n\n');
}

export function percent(similarity: number): string {
  return `${Math.round(similarity * 100)}%`;
}

export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}

/** A title, a path or a name: on one line of bounded length. */
export function shortLine(text: string): string {
  const line = oneLine(text);
  return line.length <= 200 ? line : `${line.slice(0, 199).toWellFormed()}…`;
}

export function day(date: Date | string): string {
  return new Date(date).toISOString().slice(0, 10);
}
