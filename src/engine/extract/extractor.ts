import { convert, isHeavy } from './convert.ts';
import { checkSize } from './clean.ts';
import { detect, isHtmlPage } from './detect.ts';
import { defaultMaxTextBytes, type Extracted, type ExtractInput, type Source, type SourceFormat } from './extracted.ts';
import { createPool, type PoolOptions } from './pool.ts';

/** Takes the text out of documents. */
export interface Extractor {
  /**
   * Throws `MemorydError`, none of which another attempt would mend: `unsupported_type`,
   * `extract_failed` (damaged, encrypted, too slow, too hungry), `too_large`; `unavailable` when the
   * extractor is closed; the signal's reason when it aborts.
   */
  extract(input: ExtractInput, options?: { signal?: AbortSignal }): Promise<Extracted>;
  close(): Promise<void>;
}

/** Defaults: 2 threads, 60,000 ms, 512 MiB for each. */
export type ExtractorOptions = Partial<PoolOptions> & Pick<PoolOptions, 'log'>;

export function createExtractor(options: ExtractorOptions): Extractor {
  const pool = createPool({ threads: 2, timeoutMs: 60_000, maxMemoryMb: 512, ...options });
  return {
    async extract(input, { signal } = {}) {
      signal?.throwIfAborted();
      const source = toSource(input);
      return isHeavy(source) ? pool.run(source, signal) : convert(source);
    },
    close: () => pool.close(),
  };
}

function toSource(input: ExtractInput): Source {
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
