/**
 * Elements may stand in each other this deep. Parsers, and what walks their trees, take time for each level that a
 * text is under; browsers stop at 512.
 */
const maxDepth = 256;

/** HTML whose end may be left out, or which has none. */
const unclosed = new Set(
  'area base br col dd dt embed hr img input li link meta option p source tbody td tfoot th thead tr track wbr'.split(
    ' ',
  ),
);
const tag = /<(\/?)([a-z][\w:.-]*)[^<>]*?(\/?)>/gi;

/** Whether elements stand in each other deeper than is read. */
export function isTooDeep(markup: string, kind: 'html' | 'xml'): boolean {
  let depth = 0;
  let inDrawing = false;
  for (const [, end, written, closed] of markup.matchAll(tag)) {
    const name = written!.toLowerCase();
    if (name === 'svg') inDrawing = end === '';
    // `<div/>` is open in HTML, but not in a drawing.
    const isEmpty = kind === 'html' ? unclosed.has(name) || (inDrawing && closed === '/') : closed === '/';
    if (isEmpty) continue;
    depth = Math.max(0, depth + (end === '' ? 1 : -1));
    if (depth > maxDepth) return true;
  }
  return false;
}
