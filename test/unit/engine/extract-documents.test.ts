import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { makeDocuments } from '../../../fixtures/make-documents.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { createTextWork } from '../../../src/engine/text/text-work.ts';

type Expected =
  | { refused: string; reason: string }
  | {
      type: string;
      format: string;
      title: string | null;
      metadata?: object;
      degraded?: string;
      includes: string[];
      excludes: string[];
    };

const folder = new URL('../../../fixtures/documents/', import.meta.url);
const documents = JSON.parse(readFileSync(new URL('../expected-documents.json', folder), 'utf8')) as Record<
  string,
  Expected
>;
const textWork = createTextWork({ log: silentLogger, threads: 1 });
afterAll(() => textWork.close());

describe('sample documents', { timeout: 60_000 }, () => {
  it('are all described', () => {
    const files = readdirSync(folder).filter((name) => !name.startsWith('.'));
    expect(Object.keys(documents).sort()).toEqual(files.sort());
  });

  it.each([...makeDocuments()])('%s is as make-documents.ts makes it', (name, bytes) => {
    expect(Buffer.from(bytes).equals(readFileSync(new URL(name, folder)))).toBe(true);
  });

  it.each(Object.entries(documents))('%s gives what is expected', async (name, expected) => {
    const extracted = textWork.extract({ kind: 'file', bytes: readFileSync(new URL(name, folder)), name });
    if ('refused' in expected) {
      const message = expect.stringContaining(expected.reason) as string;
      return expect(extracted).rejects.toMatchObject({ code: expected.refused, message, shouldRetry: false });
    }
    const { text, type, format, title, metadata, degraded } = await extracted;
    expect({ type, format, title, metadata }).toEqual({
      type: expected.type,
      format: expected.format,
      title: expected.title,
      metadata: expected.metadata,
    });
    for (const phrase of expected.includes) expect(text).toContain(phrase);
    for (const phrase of expected.excludes) expect(text).not.toContain(phrase);
    expect(degraded?.join(' ') ?? '').toContain(expected.degraded ?? '');
    expect(degraded !== undefined).toBe(expected.degraded !== undefined);
  });
});
