import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import imap from '../../connectors/imap/index.ts';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { openMailContext } from '../support/mail-context.ts';
import { describeWhen } from '../support/services.ts';

const run = promisify(execFile);

/** A certificate for `localhost`, signed by itself. */
async function makeCertificate(): Promise<{ certificate: string; key: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
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

describeWhen(dovecotBinary, 'there is no Dovecot', 'the encryption of the mail connector', (binary) => {
  let server: Dovecot;
  let ca: string;

  beforeAll(async () => {
    const tls = await makeCertificate();
    ca = tls.certificate;
    server = await startDovecot(binary, { tls });
  });
  afterAll(() => server.close());

  async function check(config: Partial<ImapConfig> & { port: number }) {
    const { ctx, dispose } = openMailContext(config);
    try {
      return await imap.check(ctx);
    } finally {
      await dispose();
    }
  }

  const fromStart = () => ({ host: 'localhost', port: server.tlsPort, secure: true });

  it('is content with a certificate of the authority that it was given', async () => {
    const results = await check({ ...fromStart(), ca });
    expect(results.map(({ name, status }) => [name, status])).toEqual([
      ['login', 'ok'],
      ['read', 'ok'],
    ]);
    expect(results[0]!.detail).toBe('Encrypted.');
  });

  it('uses STARTTLS where TLS does not begin at once', async () => {
    const [login] = await check({ host: 'localhost', port: server.port, secure: false, startTls: true, ca });
    expect(login).toMatchObject({ status: 'ok', detail: 'Encrypted.' });
  });

  it('says what to do about an authority that nobody knows', async () => {
    const [login] = await check(fromStart());
    expect(login).toMatchObject({ status: 'failed' });
    expect(login!.detail).toMatch(/not signed by a known authority/);
    expect(login!.remedy).toMatch(/`ca`/);
  });

  it('says that the certificate is for another name', async () => {
    const [login] = await check({ ...fromStart(), host: '127.0.0.1', ca });
    expect(login).toMatchObject({ status: 'failed' });
    expect(login!.detail).toMatch(/another server name/);
  });

  it('says that a port does not speak TLS', async () => {
    const [login] = await check({ host: 'localhost', port: server.port, secure: true, ca });
    expect(login).toMatchObject({ status: 'failed' });
    expect(login!.remedy).toMatch(/993/);
  });
});
