import type { FetchedDocument } from 'memoryd/connector';
import { unzip } from './unzip.ts';

/**
 * Every sheet of a spreadsheet. Google exports a page of HTML for each, named after it, in one archive; a CSV would
 * have the first sheet alone.
 */
export function sheetsOf(bytes: Uint8Array): FetchedDocument[] {
  const pages = unzip(bytes, (name) => name.endsWith('.html'));
  return [...pages].map(([name, html]) => ({
    title: name.slice(name.lastIndexOf('/') + 1, -'.html'.length),
    html: html.toString('utf8'),
  }));
}
