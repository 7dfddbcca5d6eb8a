import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/** SHA-256 of a file's content, and the SHA-1 by which git names it; hexadecimal digits. */
export async function hashesOfFile(path: string): Promise<{ bytes: number; sha256: string; git: string }> {
  const { size } = await stat(path);
  const sha256 = createHash('sha256');
  // A git object is its content after a line that says what it is: "Git Internals, Git Objects".
  const git = createHash('sha1').update(`blob ${size}\0`);
  for await (const part of createReadStream(path)) {
    sha256.update(part as Buffer);
    git.update(part as Buffer);
  }
  return { bytes: size, sha256: sha256.digest('hex'), git: git.digest('hex') };
}
