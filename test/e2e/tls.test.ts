import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { makeCertificate } from '../support/certificate.ts';
import { startDaemon } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const launcher = join(import.meta.dirname, '../../bin/memoryd.js');

it('speaks https with the certificate of the settings, and commands on the machine find it', async () => {
  const folder = await temporaryFolder('memoryd-tls-');
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const { certificate, key } = await makeCertificate();
  await Promise.all([writeFile(files.cert, certificate), writeFile(files.key, key)]);
  await mkdir(join(folder, 'data'));
  const dataDir = join(folder, 'data');
  const env = { MEMORYD_TLS_CERT_FILE: files.cert, MEMORYD_TLS_KEY_FILE: files.key, MEMORYD_EMBEDDER_KIND: 'hashing' };
  const daemon = await startDaemon({ dataDir, env });
  try {
    expect(daemon.url).toMatch(/^https:/);
    const { stdout } = await run(process.execPath, [launcher, 'status', '--json', '--data-dir', dataDir], {
      env: { PATH: process.env['PATH'] },
    });
    expect(JSON.parse(stdout)).toMatchObject({ version: expect.any(String) });
    await expect(fetch(`${daemon.url}/health`)).rejects.toThrow();
  } finally {
    await daemon.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
