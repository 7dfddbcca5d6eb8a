/** More marks than stand on a letter in any language. */
const manyMarks = /\p{M}{30}(?=\p{M})/gu;
/** A mark that joins nothing, and which no normalization moves other marks across. */
const divider = '\u034f';

/**
 * `text.normalize(form)`, whose own time grows with the square of a run of combining marks: a longer run is
 * divided first, into what Unicode calls stream-safe text (UAX #15).
 */
export function normalized(text: string, form: 'NFC' | 'NFD' | 'NFKC'): string {
  return text.replace(manyMarks, `$&${divider}`).normalize(form);
}
