import { MemorydError } from '../base/errors.ts';

/**
 * Whether a browser may be sent to an address: it must be one of the list, or lie below one. An
 * empty list allows every http(s) address.
 */
export function isAllowedRedirect(address: string, allowlist: readonly string[]): boolean {
  const wanted = URL.parse(address);
  if (!wanted || !['http:', 'https:'].includes(wanted.protocol)) return false;
  // `https://app.example.com@evil.example` looks like what it is not.
  if (wanted.username !== '' || wanted.password !== '') return false;
  return allowlist.length === 0 || allowlist.some((entry) => covers(entry, wanted));
}

/**
 * Whether a browser is sent to an address that was allowed without its user being asked: the operator has named it, or
 * it lies on this machine or at the daemon's own address. Otherwise anyone who may connect could make a link at this
 * address that ends anywhere.
 */
export function isTrustedRedirect(
  address: string,
  { allowlist, publicUrl }: { allowlist: readonly string[]; publicUrl?: string | undefined },
): boolean {
  if (!isAllowedRedirect(address, allowlist)) return false;
  const { hostname, origin } = new URL(address);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return allowlist.length > 0 || isLocal || (publicUrl !== undefined && new URL(publicUrl).origin === origin);
}

function covers(entry: string, wanted: URL): boolean {
  const allowed = URL.parse(entry);
  if (!allowed || allowed.origin !== wanted.origin) return false;
  const path = allowed.pathname.replace(/\/+$/, '');
  return wanted.pathname === path || wanted.pathname.startsWith(`${path}/`);
}

/** Throws `invalid_request` for an address that browsers may not be sent to. */
export function checkRedirect(address: string, allowlist: readonly string[]): void {
  if (isAllowedRedirect(address, allowlist)) return;
  throw new MemorydError('invalid_request', 'redirectUrl is not allowed', {
    details: 'It must be an http(s) address without credentials, and lie below one of redirectAllowlist',
  });
}

/** The address with more query parameters. */
export function withParameters(address: string, parameters: Record<string, string>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}
