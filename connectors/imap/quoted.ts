const attributions = [
  /^(on|am|le|el|il|op|em)\b.{4,200}\b(wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu)\b.{0,60}:\s*$/i,
  /^-{2,}\s*(original message|ursprüngliche nachricht|message d'origine|mensaje original|forwarded message)\s*-{2,}$/i,
];
/** The line that Outlook puts above a quoted mail, and the header that follows. */
const outlookFrom = /^(from|von|de|da|van):\s.+$/i;
const outlookNext = /^(sent|date|gesendet|datum|envoyé|enviado|inviato|verzonden|to|an):\s.+$/i;

/**
 * A mail's text without the history below it, which the thread's other parts hold already. Text
 * between quoted lines stays. Of a mail that is nothing but quoted text everything stays.
 */
export function withoutQuoted(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const end = historyStart(lines);
  const kept = lines.slice(0, end).filter((line) => !/^\s*>/.test(line));
  const result = trimmed(kept);
  return result === '' ? text.trim() : result;
}

function historyStart(lines: readonly string[]): number {
  const found = lines.findIndex((line, index) => isHistory(lines, line.trim(), index));
  return found === -1 ? lines.length : found;
}

/** An attribution counts only when nothing but quoted text follows, else answers between the lines were lost. */
function isHistory(lines: readonly string[], line: string, index: number): boolean {
  const wrapped = `${line} ${(lines[index + 1] ?? '').trim()}`;
  if (attributions[0]!.test(line)) return isQuotedToTheEnd(lines, index + 1);
  if (line !== '' && attributions[0]!.test(wrapped)) return isQuotedToTheEnd(lines, index + 2);
  if (attributions[1]!.test(line)) return true;
  return outlookFrom.test(line) && outlookNext.test((lines[index + 1] ?? '').trim());
}

function isQuotedToTheEnd(lines: readonly string[], from: number): boolean {
  for (let index = from; index < lines.length; index++) {
    const line = lines[index]!;
    if (/^--\s?$/.test(line)) return true;
    if (line.trim() !== '' && !/^\s*>/.test(line)) return false;
  }
  return true;
}

function trimmed(lines: readonly string[]): string {
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
