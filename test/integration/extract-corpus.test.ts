import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { chunk } from '../../src/engine/chunk/chunk.ts';
import type { Extracted } from '../../src/engine/extract/extracted.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { terms } from '../../src/engine/terms.ts';
import { countTokens } from '../support/count-tokens.ts';

/** Any folder of documents; the samples of this project unless MEMORYD_TEST_CORPUS names another. */
const corpus =
  process.env['MEMORYD_TEST_CORPUS'] ?? fileURLToPath(new URL('../../fixtures/documents', import.meta.url));
const files = readdirSync(corpus, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .sort();

const textWork = createTextWork({ log: silentLogger });
afterAll(() => textWork.close());

/** The text, or null when the file is refused in the way that a document may fail. */
async function read(path: string): Promise<Extracted | null> {
  try {
    return await textWork.extract({ kind: 'file', bytes: readFileSync(path), name: path });
  } catch (error) {
    if (!MemorydError.is(error)) throw error;
    expect(['unsupported_type', 'extract_failed', 'too_large']).toContain(error.code);
    expect(error.shouldRetry).toBe(false);
    expect(error.message).toMatch(/^[A-Z].{10,}\.$/);
    return null;
  }
}

describe('a folder of documents', () => {
  it('is there', () => {
    expect(files.length).toBeGreaterThan(0);
  });

  it.each(files)('%s can be stored and searched, or says why not', async (path) => {
    const extracted = await read(path);
    if (!extracted) return;
    const { text, title, format } = extracted;
    expect(text.isWellFormed() && !/[\0\r]/.test(text)).toBe(true);
    expect(title === null || (title.trim() === title && title !== '' && !title.includes('\n'))).toBe(true);
    const options = { format, maxTokens: 256, overlapTokens: 25, countTokens, ...(title === null ? {} : { title }) };
    let covered = 0;
    for (const { start, end, content, context, tokenCount } of chunk(text, options)) {
      expect(text.slice(covered, Math.max(covered, start)).trim()).toBe('');
      covered = Math.max(covered, end);
      expect(tokenCount).toBeLessThanOrEqual(256);
      expect(terms(`${context ?? ''} ${content}`).terms.every((term) => term.length <= 40)).toBe(true);
    }
    expect(text.slice(covered).trim()).toBe('');
  });
});
