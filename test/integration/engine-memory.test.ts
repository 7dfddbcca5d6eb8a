import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { putEmptyDatabase } from '../support/daemon.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'memoryd-engine-'));
  await putEmptyDatabase(dataDir);
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

it('the embedded engine never has its parser optimized, which would take 600 MB', async () => {
  const script = join(import.meta.dirname, '../support/engine-statements-main.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, dataDir]);
  expect(Number(stdout)).toBeGreaterThan(50);
  expect(Number(stdout)).toBeLessThan(450);
}, 180_000);
