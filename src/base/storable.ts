/** Whether the database can store a text as it is: without U+0000 and without half surrogate pairs. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** The text with what cannot be stored taken out, and not longer than so many characters. A cut halves no character. */
export function storableText(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const kept = text.length > maxLength ? text.slice(0, maxLength) : text;
  return isStorable(kept) ? kept : kept.replaceAll('\0', '').toWellFormed();
}
