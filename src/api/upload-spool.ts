import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGate } from '../base/concurrency.ts';
import { MemorydError } from '../base/errors.ts';

/** A body that was received, on disk. */
export interface SpooledBody {
  /** SHA-256 as base64, of all but the boundary: clients choose another one when they send the same form again. */
  hash: string;
  read(): Readable;
  /** Frees the disk. Harmless a second time. */
  close(): Promise<void>;
}

/**
 * Receives large bodies on disk, so that a hundred slow uploads hold a hundred files and no memory,
 * and lets only a few of them be worked on, in memory, at once.
 */
export interface UploadSpool {
  /** Throws `payload_too_large` at the first byte too many; the rest is thrown away. */
  receive(stream: Readable, form: { maxBytes: number; boundary: string }): Promise<SpooledBody>;
  /** Waits for its turn. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createUploadSpool({ folder, atOnce }: { folder: string; atOnce: number }): UploadSpool {
  const gate = createGate(atOnce);

  return {
    async receive(stream, form) {
      const file = await openUnnamed(folder);
      try {
        const hash = await write(stream, file, form);
        return spooled(file, hash);
      } catch (error) {
        await file.close();
        stream.resume();
        throw error;
      }
    },
    inTurn: (work) => gate.run(work),
  };
}

/** A file without a name is gone when it is closed, whatever happens to the process. */
async function openUnnamed(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, `upload-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    await unlink(path);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

async function write(
  stream: Readable,
  file: FileHandle,
  { maxBytes, boundary }: { maxBytes: number; boundary: string },
): Promise<string> {
  const hash = createHashWithout(Buffer.from(boundary));
  let length = 0;
  // Not closed by the loop: what is too much has to be read to its end, or the client never sees the answer.
  for await (const part of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxBytes) throw new MemorydError('payload_too_large', `The body is larger than ${maxBytes} bytes`);
    hash.update(part);
    await file.writeFile(part);
  }
  return hash.digest();
}

/** Hashes what lies between the places where `left` stands, which may begin in one part and end in the next. */
function createHashWithout(left: Buffer) {
  const hash = createHash('sha256');
  let held: Buffer = Buffer.alloc(0);
  return {
    update(part: Buffer): void {
      const bytes = Buffer.concat([held, part]);
      let from = 0;
      for (let at = bytes.indexOf(left); left.length > 0 && at >= 0; at = bytes.indexOf(left, from)) {
        hash.update(bytes.subarray(from, at));
        from = at + left.length;
      }
      const until = Math.max(from, bytes.length - Math.max(left.length - 1, 0));
      hash.update(bytes.subarray(from, until));
      held = bytes.subarray(until);
    },
    digest: () => hash.update(held).digest('base64'),
  };
}

function spooled(file: FileHandle, hash: string): SpooledBody {
  let closing: Promise<void> | undefined;
  return {
    hash,
    read: () => file.createReadStream({ start: 0, autoClose: false }),
    close: () => (closing ??= file.close()),
  };
}
