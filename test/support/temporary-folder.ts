import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new empty folder; whoever made it removes it. */
export function temporaryFolder(name = 'memoryd-test-'): Promise<string> {
  return mkdtemp(join(tmpdir(), name));
}
