import type { AddressGuard } from '../../base/address-guard.ts';
import { MemorydError } from '../../base/errors.ts';
import { badConfig, ConnectorError, type ConnectorSpec } from '../../connector/contract.ts';

/** Decides how one connection may use an origin. */
export interface Origins {
  /** The authorization may be sent there. */
  mayAuthorize(url: URL): boolean;
  /** The connector itself names this host, for everybody alike: it is not checked. */
  isFixed(url: URL): boolean;
  /** Refuses addresses that may not be fetched, with the connector's error for it. */
  check(url: string | URL): URL;
  /** The error for an address that the guard refused. */
  refused(url: URL, reason: MemorydError): ConnectorError;
}

/** How an operator lets a connection into the own network. */
export const remedy = 'If it is meant, add the host to allowedPrivateHosts (MEMORYD_ALLOWED_PRIVATE_HOSTS).';

export function createOrigins(spec: ConnectorSpec, config: unknown, guard: AddressGuard): Origins {
  const declared = typeof spec.origins === 'function' ? spec.origins(config) : spec.origins;
  const patterns = declared?.map(patternOf);
  const configured = originsIn(config);
  const isDeclared = (url: URL) => patterns?.some((pattern) => pattern.test(url.origin)) ?? false;
  const isFixed = (url: URL) => Array.isArray(spec.origins) && isDeclared(url);

  /** A wrong address in the configuration concerns the whole connection, one in the source's data only an item. */
  function refused(url: URL, reason: MemorydError): ConnectorError {
    if (configured.has(url.origin)) return badConfig(reason.message, remedy);
    return new ConnectorError('forbidden', reason.message, { remedy });
  }

  return {
    mayAuthorize: (url) => patterns === undefined || isDeclared(url),
    isFixed,
    refused,
    check(url) {
      if (!URL.canParse(url.toString())) throw badConfig('An address that the connector uses is not a valid URL.');
      const parsed = new URL(url);
      if (isFixed(parsed)) return parsed;
      try {
        return guard.check(url);
      } catch (error) {
        throw MemorydError.is(error) ? refused(parsed, error) : error;
      }
    },
  };
}

/** `https://*.example.com`: the star is one or more labels. */
function patternOf(origin: string): RegExp {
  const trimmed = origin.toLowerCase().replace(/\/$/, '');
  const normal = trimmed.includes('*') || !URL.canParse(trimmed) ? trimmed : new URL(trimmed).origin;
  const escaped = normal.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[a-z0-9.-]+');
  return new RegExp(`^${escaped}$`);
}

/** Origins of all addresses that stand in the configuration. */
function originsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === 'string' && URL.canParse(value)) found.add(new URL(value).origin);
  if (typeof value === 'object' && value !== null) Object.values(value).forEach((one) => originsIn(one, found));
  return found;
}
