import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readDaemonFile } from '../../src/cli/daemon-file.ts';
import { putEmptyDatabase } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const launcher = join(import.meta.dirname, '../../bin/memoryd.js');
const within = { timeout: 60_000, interval: 100 };

// `npm run dev`: threads then send what they import in between their own messages.
it('reads, embeds and finds files while Node watches its sources', { timeout: 240_000 }, async () => {
  const folder = await temporaryFolder('memoryd-watched-by-node-');
  const [dataDir, notes] = [join(folder, 'data'), join(folder, 'notes')];
  await mkdir(dataDir);
  await mkdir(notes);
  await putEmptyDatabase(dataDir);
  await writeFile(join(notes, 'kiln.md'), 'The kiln is cold on Mondays.');
  const daemon = spawn(process.execPath, ['--watch', launcher, 'start', notes, '--port', '0', '--data-dir', dataDir], {
    env: { PATH: process.env['PATH'] },
    stdio: 'ignore',
  });
  try {
    await expect.poll(() => readDaemonFile(dataDir), within).not.toBeNull();
    const { url, token } = (await readDaemonFile(dataDir))!;
    const found = async () => {
      const response = await fetch(`${url}/v4/search`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ q: 'when is the oven not hot?', searchMode: 'documents' }),
      });
      const { results } = (await response.json()) as { results: { chunk: string }[] };
      return results.map(({ chunk }) => chunk).join();
    };
    await expect.poll(found, within).toContain('Mondays');
  } finally {
    daemon.kill('SIGTERM');
    await once(daemon, 'exit');
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
});
