import { checkSize } from './clean.ts';
import { detect, isHtmlPage } from './detect.ts';
import { defaultMaxTextBytes, type ExtractInput, type Source, type SourceFormat } from './extracted.ts';

/** What the content is; see `detect`, which throws for files that hold no text. */
export function toSource(input: ExtractInput): Source {
  const maxTextBytes = input.maxTextBytes ?? defaultMaxTextBytes;
  const common = { maxTextBytes, depth: 0, ...(input.url === undefined ? {} : { url: input.url }) };
  if (input.kind === 'file') {
    const name = input.name === undefined ? {} : { name: input.name };
    return { ...common, ...name, ...detect(input.bytes, input.mimeType, input.name), bytes: input.bytes, page: true };
  }
  if (input.kind !== 'html') checkSize(Buffer.byteLength(input.text), maxTextBytes);
  const format: SourceFormat = input.kind === 'text' && isHtmlPage(input.text) ? 'html' : input.kind;
  // A fragment is what a source takes for the content; a page has more around it.
  return { ...common, format, text: input.text, page: format === 'html' && isHtmlPage(input.text) };
}
