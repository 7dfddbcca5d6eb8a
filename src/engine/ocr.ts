import { Agent, fetch, type Response } from 'undici';
import { MemorydError } from '../base/errors.ts';

/** Reads the text in images and scanned pages. */
export interface Ocr {
  /**
   * Pages are separated by empty lines. Throws `ocr_failed`, which is tried again unless the server refused
   * this very file; `unsupported_type` when there is no text in it; the signal's reason when it aborts.
   */
  read(file: { bytes: Uint8Array; mimeType: string }, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

/** Whether another attempt may read the picture. */
export const mayReadLater = (error: unknown): boolean =>
  MemorydError.is(error) && error.code === 'ocr_failed' && error.shouldRetry !== false;

export interface OcrOptions {
  /**
   * Where a file is posted: its bytes as the body, its type as `content-type`, `accept: text/plain`. The answer
   * is its text in UTF-8, with form feeds between pages. 4xx: the file cannot be read; 408, 429 and 5xx: not now.
   */
  url: string;
  /** Sent as a bearer token. */
  apiKey?: string | undefined;
  /** Silence of the server after which it is given up. */
  timeoutMs: number;
  /** Files at once. */
  concurrency: number;
}

const connectTimeoutMs = 10_000;
/** As much as is taken from any file. */
const maxAnswerBytes = 8 * 1024 * 1024;
const passing = new Set([408, 425, 429]);

export function createOcr({ url, apiKey, timeoutMs, concurrency }: OcrOptions): Ocr {
  // What is over the number of connections waits, and its time begins when it has one.
  const agent = new Agent({
    connections: concurrency,
    connect: { timeout: connectTimeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  return {
    async read({ bytes, mimeType }, signal) {
      const headers = {
        ...{ 'content-type': mimeType, accept: 'text/plain' },
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      };
      try {
        const response = await fetch(url, { method: 'POST', dispatcher: agent, headers, body: bytes, signal });
        return requireText(await textOf(response));
      } catch (error) {
        signal.throwIfAborted();
        if (MemorydError.is(error)) throw error;
        throw new MemorydError('ocr_failed', 'The OCR server does not answer.', { cause: error });
      }
    },
    close: () => agent.destroy(),
  };
}

async function textOf(response: Response): Promise<string> {
  if (!response.ok) {
    await response.body?.cancel();
    throw refusalOf(response.status);
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop cancels the body.
  for await (const part of response.body ?? []) {
    length += (part as Uint8Array).length;
    if (length > maxAnswerBytes) throw new MemorydError('too_large', 'The OCR server answers more than 8 MiB of text.');
    parts.push(part as Uint8Array);
  }
  return Buffer.concat(parts).toString('utf8');
}

function refusalOf(status: number): MemorydError {
  if (status >= 500 || passing.has(status)) {
    return new MemorydError('ocr_failed', `The OCR server answered with status ${status}.`);
  }
  const message = `The OCR server refused the file with status ${status}.`;
  return new MemorydError('ocr_failed', message, { shouldRetry: false });
}

function requireText(answer: string): string {
  const text = answer.replace(/\s*\f\s*/g, '\n\n').trim();
  if (text !== '') return text;
  const message = 'The file is an image or a scan, and OCR found no text in it.';
  throw new MemorydError('unsupported_type', message, { shouldRetry: false });
}
