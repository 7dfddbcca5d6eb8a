import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createAddressGuard, type AddressGuardOptions } from '../../src/base/address-guard.ts';
import { MemorydError } from '../../src/base/errors.ts';

function guardOf(options: Partial<AddressGuardOptions> = {}) {
  return createAddressGuard({ allowPrivateUrls: false, allowedPrivateHosts: [], ...options });
}

/** What a name that leads to these addresses is answered with. */
function lookUp(guard: ReturnType<typeof guardOf>, host: string, options: object = { all: true }) {
  return new Promise<unknown>((resolve) => {
    guard.lookup(host, options, (error, address, family) =>
      resolve(error ? (MemorydError.is(error) ? error.code : error.code) : (family ?? address) && [address, family]),
    );
  });
}

const leadsTo = (...addresses: string[]) => ({
  resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
});

/** One of each kind that must never be reached from outside. */
const special = [
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['loopback', '::1'],
  ['private', '10.0.0.1'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.0.1'],
  ['shared (RFC 6598)', '100.64.0.1'],
  ['shared (RFC 6598)', '100.127.255.255'],
  ['link-local, metadata', '169.254.169.254'],
  ['link-local', 'fe80::1'],
  ['metadata of Alibaba', '100.100.100.200'],
  ['metadata of Azure', '168.63.129.16'],
  ['metadata of Oracle', '192.0.0.192'],
  ['metadata of AWS', 'fd00:ec2::254'],
  ['unspecified', '0.0.0.0'],
  ['unspecified', '0.1.2.3'],
  ['unspecified', '::'],
  ['broadcast', '255.255.255.255'],
  ['multicast', '224.0.0.1'],
  ['multicast', 'ff02::1'],
  ['reserved', '240.0.0.1'],
  ['protocol assignments', '192.0.0.1'],
  ['documentation', '192.0.2.1'],
  ['documentation', '198.51.100.1'],
  ['documentation', '203.0.113.1'],
  ['documentation', '2001:db8::1'],
  ['benchmarking', '198.18.0.1'],
  ['unique local', 'fc00::1'],
  ['unique local', 'fd12:3456::1'],
  ['site-local', 'fec0::1'],
  ['IPv4-mapped', '::ffff:127.0.0.1'],
  ['IPv4-mapped', '::ffff:8.8.8.8'],
  ['IPv4-compatible', '::7f00:1'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['NAT64, local', '64:ff9b:1::7f00:1'],
  ['6to4', '2002:7f00:1::'],
  ['Teredo', '2001:0:7f00:1::'],
  ['discard', '100::1'],
] as const;

const open = ['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.1', '100.63.255.255', '2606:4700:4700::1111'];

describe('the address guard', () => {
  it.each(special)('refuses %s (%s), written out or behind a name', async (_, address) => {
    const url = address.includes(':') ? `http://[${address}]/` : `https://${address}:8443/x`;
    expect(() => guardOf().check(url)).toThrow('not a public address');
    expect(() => guardOf().check(new URL(url))).toThrow(MemorydError);
    expect(await lookUp(guardOf(leadsTo(address)), 'example.com')).toBe('fetch_blocked');
    expect(await lookUp(guardOf(leadsTo('8.8.8.8', address)), 'example.com')).toBe('fetch_blocked');
  });

  it.each(open)('lets %s pass', async (address) => {
    const url = address.includes(':') ? `http://[${address}]/` : `https://${address}/`;
    expect(guardOf().check(url).href).toBe(url);
    const family = address.includes(':') ? 6 : 4;
    expect(await lookUp(guardOf(leadsTo(address)), 'example.com', {})).toEqual([address, family]);
  });

  it.each([
    'http://2130706433/',
    'http://134744072/',
    'http://017700000001/',
    'http://0177.0.0.1/',
    'http://0x7f000001/',
    'http://0x8.8.8.8/',
    'http://8.8.2056/',
    'http://127.1/',
    'http://１２７.0.0.1/',
    'http://8%2e8.8.8/',
    'http://8。8。8。8/',
    'http:\\\\8.8.8.8/',
    'http:8.8.8.8/',
    'http://\t8.8.8.8/',
  ])('refuses an address in an odd notation: %s', (url) => {
    expect(() => guardOf().check(url)).toThrow(/not written as four decimal numbers/);
  });

  it.each([
    ['ftp://example.com/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['gopher://127.0.0.1:6379/_x', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['https://user:pw@example.com/', 'user name'],
    ['https://user@example.com/', 'user name'],
    ['no address', 'valid URL'],
    ['', 'valid URL'],
    ['http://[::1', 'valid URL'],
    ['http://1.2.3.4.5/', 'valid URL'],
  ])('refuses %s: %s', (url, why) => {
    expect(() => guardOf().check(url)).toThrow(why);
  });

  it('names the host alone', () => {
    const error = (() => {
      try {
        return guardOf().check('http://10.0.0.1/path-canary?token=canary');
      } catch (thrown) {
        return thrown as MemorydError;
      }
    })() as MemorydError;
    expect(error).toMatchObject({
      code: 'fetch_blocked',
      message: '10.0.0.1 is not fetched: it is not a public address.',
    });
  });

  it('leaves names of the own machine to what they lead to', async () => {
    expect(guardOf().check('http://localhost:8080/').host).toBe('localhost:8080');
    expect(await lookUp(guardOf(), 'localhost')).toBe('fetch_blocked');
  });
});

describe('addresses of the own network', () => {
  const isAllowed = (options: Partial<AddressGuardOptions>, url: string) => {
    try {
      guardOf(options).check(url);
      return true;
    } catch {
      return false;
    }
  };
  const hosts = (...allowedPrivateHosts: string[]) => ({ allowedPrivateHosts });

  it('pass when all of them are allowed, but metadata services and special ranges never do', () => {
    const allowed = special.filter(([, address]) =>
      isAllowed({ allowPrivateUrls: true }, address.includes(':') ? `http://[${address}]` : `http://${address}`),
    );
    expect(new Set(allowed.map(([kind]) => kind))).toEqual(
      new Set(['loopback', 'private', 'shared (RFC 6598)', 'unique local']),
    );
  });

  it.each([
    [hosts('192.168.1.5'), 'http://192.168.1.5:8080/', true],
    [hosts('192.168.1.5'), 'http://192.168.1.6/', false],
    [hosts('192.168.0.0/16'), 'http://192.168.200.1/', true],
    [hosts('192.168.0.0/16'), 'http://10.0.0.1/', false],
    [hosts('::1'), 'http://[::1]/', true],
    [hosts('[::1]'), 'http://[::1]/', true],
    [hosts('fd00::/8'), 'http://[fd00::5]/', true],
    [hosts('fd00::/8'), 'http://10.0.0.1/', false],
    [hosts('169.254.169.254'), 'http://169.254.169.254/', true],
    [hosts('0.0.0.0/0'), 'http://0x7f.1/', false],
  ])('pass by number: %j, %s', (options, url, expected) => {
    expect(isAllowed(options, url)).toBe(expected);
  });

  it.each([
    ['nas.lan', 'nas.lan', '192.168.1.5', true],
    ['NAS.lan.', 'nas.lan', '192.168.1.5', true],
    ['nas.lan', 'nas.lan.', '192.168.1.5', true],
    ['*.lan', 'nas.lan', '192.168.1.5', true],
    ['*.lan', 'lan', '192.168.1.5', false],
    ['*.lan', 'evil-lan', '192.168.1.5', false],
    ['nas.lan', 'other.lan', '192.168.1.5', false],
    ['nas.lan', 'nas.lan', '169.254.169.254', false],
    ['nas.lan', 'nas.lan', '::ffff:192.168.1.5', false],
    ['192.168.1.0/24', 'any.example', '192.168.1.5', true],
    ['192.168.1.0/24', 'any.example', '192.168.2.5', false],
  ])('pass by name: %s lets %s at %s pass: %j', async (entry, host, address, expected) => {
    const guard = guardOf({ allowedPrivateHosts: [entry], ...leadsTo(address) });
    expect(await lookUp(guard, host)).toEqual(
      expected ? [[{ address, family: address.includes(':') ? 6 : 4 }], undefined] : 'fetch_blocked',
    );
  });
});

describe('its lookup', () => {
  it('gives what the caller asked for, and the errors of the resolver', async () => {
    const both = guardOf(leadsTo('8.8.8.8', '2606:4700::1111'));
    expect(await lookUp(both, 'a', { family: 6 })).toEqual(['2606:4700::1111', 6]);
    expect(await lookUp(both, 'a', { family: 0 })).toEqual(['8.8.8.8', 4]);
    expect(await lookUp(both, 'a', { all: true, family: 4 })).toEqual([[{ address: '8.8.8.8', family: 4 }], undefined]);
    expect(await lookUp(guardOf(leadsTo('8.8.8.8')), 'a', { family: 6 })).toBe('ENOTFOUND');
    const lost = guardOf({ resolve: () => Promise.reject(Object.assign(new Error('no'), { code: 'EAI_AGAIN' })) });
    expect(await lookUp(lost, 'a')).toBe('EAI_AGAIN');
  });

  it('serves the sockets of Node', async () => {
    const guard = guardOf(leadsTo('127.0.0.1'));
    const socket = connect({ host: 'example.com', port: 9, lookup: guard.lookup });
    const error = await new Promise((resolve) => socket.on('error', resolve));
    expect(error).toMatchObject({ code: 'fetch_blocked' });
  });
});
