import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A certificate for `localhost`, signed by itself. */
export async function makeCertificate(): Promise<{ certificate: string; key: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const config = join(folder, 'config');
  await writeFile(
    config,
    '[req]\ndistinguished_name=n\nx509_extensions=e\nprompt=no\n[n]\nCN=localhost\n[e]\nsubjectAltName=DNS:localhost\n',
  );
  const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  await run('openssl', ['req', ...kind, '-config', config, '-keyout', key, '-out', certificate]);
  const texts = { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
  await rm(folder, { recursive: true });
  return texts;
}
