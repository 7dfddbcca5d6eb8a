import { lookup as lookUpHost } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { MemorydError } from './errors.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface AddressGuardOptions {
  /** Lets addresses of the own network pass (loopback, private, shared, unique local); see `isPrivate`. */
  allowPrivateUrls: boolean;
  /**
   * Host names (`nas.lan`, `*.lan`), whose addresses may be of the own network, and addresses or
   * ranges (`192.168.1.5`, `10.0.0.0/8`), which may be anything.
   */
  allowedPrivateHosts: readonly string[];
  /** Every address of a host name. Default: the operating system's resolver. */
  resolve?: (host: string) => Promise<{ address: string; family: number }[]>;
}

/**
 * Keeps requests to addresses that users or sources chose away from the machine's own network
 * (server-side request forgery). A host name is looked up once for each connection, and the
 * connection goes to the addresses that were checked, so a name that changes its answer between
 * check and use gains nothing.
 */
export interface AddressGuard {
  /**
   * Judges what the text of an address tells: scheme, credentials, odd notations, literal addresses.
   * Throws `fetch_blocked`, whose message names the host alone.
   */
  check(url: string | URL): URL;
  /** For `net.connect` and `tls.connect`: fails with `fetch_blocked` when any address of the host is refused. */
  readonly lookup: LookupFunction;
}

/** Serves cloud machines their credentials, or the cloud its machines, at addresses that look like others. */
const metadataAddresses = new Set(['100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254']);
/** Ranges that `allowPrivateUrls` and host names of the allow-list open. Link-local is not among them: metadata services are there. */
const privateRanges = new Set(['private', 'loopback', 'carrierGradeNat', 'uniqueLocal']);
/** Everything that is handed out to networks (RFC 4291 section 2.4); the rest of IPv6 is special. */
const globalIpv6 = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const { resolve = (host) => lookUpHost(host, { all: true, order: 'verbatim' }) } = options;
  const allowed = readAllowed(options.allowedPrivateHosts);

  function permits(host: string, text: string): boolean {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.parse(text);
    if (allowed.ranges.some((range) => address.kind() === range[0].kind() && address.match(range))) return true;
    if (isPublic(address)) return true;
    return isPrivate(address) && (options.allowPrivateUrls || allowed.names.some((matches) => matches(host)));
  }

  function check(url: string | URL): URL {
    const parsed = parse(url);
    const host = bareHost(parsed);
    if (!['http:', 'https:'].includes(parsed.protocol)) throw blocked(host, 'its scheme is neither http nor https');
    if (parsed.username !== '' || parsed.password !== '') throw blocked(host, 'it carries a user name or password');
    if (typeof url === 'string' && isIP(host) === 4 && writtenHost(url) !== host) {
      throw blocked(host, 'the IP address is not written as four decimal numbers');
    }
    if (isIP(host) !== 0 && !permits(host, host)) throw blocked(host, 'it is not a public address');
    return parsed;
  }

  async function addressesOf(host: string): Promise<{ address: string; family: number }[]> {
    const addresses = await resolve(host);
    if (addresses.every(({ address }) => permits(withoutDot(host), address))) return addresses;
    throw blocked(withoutDot(host), 'it leads to an address that is not public');
  }

  const lookup = async (...[host, wanted, callback]: Parameters<LookupFunction>): Promise<void> => {
    const addresses = await addressesOf(host).catch((error: NodeJS.ErrnoException) => error);
    if (addresses instanceof Error) return callback(addresses, '', 0);
    const family = wanted.family === 4 || wanted.family === 6 ? wanted.family : 0;
    const fitting = addresses.filter((one) => family === 0 || one.family === family);
    const [first] = fitting;
    if (!first) return callback(Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' }), '', 0);
    if (wanted.all === true) return callback(null, fitting);
    return callback(null, first.address, first.family);
  };

  return { check, lookup: (...parameters) => void lookup(...parameters) };
}

function readAllowed(entries: readonly string[]) {
  const ranges: [Address, number][] = [];
  const names: ((host: string) => boolean)[] = [];
  for (const entry of entries) {
    const text = withoutDot(
      entry
        .trim()
        .toLowerCase()
        .replace(/^\[(.*)\]$/, '$1'),
    );
    if (ipaddr.isValidCIDR(text)) ranges.push(ipaddr.parseCIDR(text));
    else if (isIP(text) !== 0) ranges.push([ipaddr.parse(text), isIP(text) === 4 ? 32 : 128]);
    else if (text.startsWith('*.')) names.push((host) => host.endsWith(text.slice(1)));
    else names.push((host) => host === text);
  }
  return { ranges, names };
}

/** IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo) are special ranges, so never public. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || metadataAddresses.has(address.toString())) return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(globalIpv6);
}

function isPrivate(address: Address): boolean {
  return privateRanges.has(address.range()) && !metadataAddresses.has(address.toString());
}

function parse(url: string | URL): URL {
  if (typeof url !== 'string') return url;
  if (!URL.canParse(url)) throw new MemorydError('fetch_blocked', 'The address is not a valid URL.');
  return new URL(url);
}

/** Without the brackets of an IPv6 address and the dot of a complete name. */
function bareHost(url: URL): string {
  return withoutDot(url.hostname.replace(/^\[(.*)\]$/, '$1'));
}

function withoutDot(host: string): string {
  return host.replace(/\.$/, '');
}

/** The host as it stands in the text, before the URL parser makes `127.0.0.1` of `0x7f.1` or `2130706433`. */
function writtenHost(url: string): string | undefined {
  return /^\s*https?:\/\/(?:[^/?#@\\]*@)?([^:/?#\\]*)/i.exec(url)?.[1];
}

function blocked(host: string, why: string): MemorydError {
  return new MemorydError('fetch_blocked', `${host === '' ? 'The address' : host} is not fetched: ${why}.`);
}
