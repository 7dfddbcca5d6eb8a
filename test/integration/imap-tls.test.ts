import { afterAll, beforeAll, expect, it } from 'vitest';
import imap from '../../connectors/imap/index.ts';
import type { ImapConfig } from '../../connectors/imap/config.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { startTap } from '../../fixtures/servers/imap/tap.ts';
import { createAddressGuard, type AddressGuard } from '../../src/base/address-guard.ts';
import { systemClock } from '../../src/base/clock.ts';
import { checkedAddresses } from '../../src/source/http/outbound.ts';
import { makeCertificate } from '../support/certificate.ts';
import { openMailContext } from '../support/mail-context.ts';
import { describeWhen } from '../support/services.ts';

describeWhen(dovecotBinary, 'there is no Dovecot', 'the encryption of the mail connector', (binary) => {
  let server: Dovecot;
  let ca: string;

  beforeAll(async () => {
    const tls = await makeCertificate();
    ca = tls.certificate;
    server = await startDovecot(binary, { tls });
  });
  afterAll(() => server.close());

  async function check(config: Partial<ImapConfig> & { port: number }, guard?: AddressGuard) {
    const { ctx, dispose } = openMailContext(config);
    const guarded = guard && { addresses: (host: string) => checkedAddresses(guard, host) };
    try {
      return await imap.check({ ...ctx, ...guarded });
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

  it('keeps the name for the certificate, and goes to the address that was checked', async () => {
    const guard = createAddressGuard({
      allowPrivateUrls: false,
      allowedPrivateHosts: ['localhost', 'mail.example.com'],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    for (const secure of [true, false]) {
      const port = secure ? server.tlsPort : server.port;
      const [login] = await check({ host: 'localhost', port, secure, startTls: true, ca }, guard);
      expect(login).toMatchObject({ status: 'ok', detail: 'Encrypted.' });
    }
    // No resolver knows this one by that address.
    const unknown = { host: 'mail.example.com', port: server.port, secure: false, startTls: false };
    expect((await check(unknown, guard))[0]).toMatchObject({ status: 'ok', detail: 'Not encrypted.' });
  });

  it.each(['localhost', '127.0.0.1', 'mail.example.com'])(
    'is not even begun with %s in the own network',
    async (host) => {
      const guard = createAddressGuard({
        allowPrivateUrls: false,
        allowedPrivateHosts: [],
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      });
      const tap = await startTap(server.port, systemClock);
      const [login] = await check({ host, port: tap.port, secure: false, startTls: false }, guard);
      expect(login).toMatchObject({ status: 'failed' });
      expect(login!.detail).toContain('leads to an address that is not public');
      expect(login!.remedy).toContain('MEMORYD_ALLOWED_PRIVATE_HOSTS');
      expect(tap.accepted()).toBe(0);
      await tap.close();
    },
  );

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
