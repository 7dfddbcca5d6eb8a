import { authExpired, ConnectorError, rateLimited, transient } from 'memoryd/connector';

const certificateCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_UNTRUSTED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** When a server that allows no more does not say for how long (RFC 5530). */
const limitPauseMs = 60_000;

interface Fault {
  code?: string;
  authenticationFailed?: boolean;
  serverResponseCode?: string;
  throttleReset?: number;
  /** The vendor's client leaves the answer to FETCH as it was parsed, e.g. `[LIMIT]` in front of the text. */
  response?: { attributes?: { section?: { value?: unknown }[] }[] } | string;
}

/** RFC 5530, e.g. `LIMIT`. */
function responseCode({ serverResponseCode, response }: Fault): string | undefined {
  if (serverResponseCode !== undefined || typeof response !== 'object') return serverResponseCode;
  const code = response.attributes?.[0]?.section?.[0]?.value;
  return typeof code === 'string' ? code.toUpperCase() : undefined;
}

/** Turns an error of the vendor's library into the contract's. `server` is `host:port`, for the message. */
export function toConnectorError(error: unknown, server: string, now: Date): unknown {
  if (ConnectorError.is(error)) return error;
  if (!(error instanceof Error)) return transient(`${server} answered something unexpected.`, error);
  const fault = error as Fault;
  if (fault.code === 'ETHROTTLE') {
    return rateLimited(
      `${server} asks to slow down.`,
      new Date(now.getTime() + (Number(fault.throttleReset) || 60_000)),
    );
  }
  if (fault.authenticationFailed === true && !isPassing(fault)) {
    return authExpired(`${server} refuses the login.`, error);
  }
  if (responseCode(fault) === 'LIMIT') {
    return rateLimited(`${server} allows no more for now.`, new Date(now.getTime() + limitPauseMs));
  }
  if (fault.code !== undefined && certificateCodes.has(fault.code)) return certificateError(server, fault.code, error);
  if (isNoTls(error, fault)) {
    return new ConnectorError('bad_config', `${server} does not speak TLS on this port.`, {
      remedy: 'Port 993 is for `secure: true`, port 143 for `secure: false` with STARTTLS.',
      cause: error,
    });
  }
  return transient(`${server} could not be read (${fault.code ?? responseCode(fault) ?? 'no answer'}).`, error);
}

/** Whether the server said nothing for too long. */
export function isSilence(error: unknown): boolean {
  const { code = '' } = ((error as Error | undefined)?.cause ?? {}) as Fault;
  return ['ETIMEOUT', 'ETIMEDOUT', 'CONNECT_TIMEOUT', 'GREETING_TIMEOUT'].includes(code);
}

export function isTransient(error: unknown): boolean {
  return ConnectorError.is(error) && error.kind === 'transient';
}

export function isLimit(error: unknown): boolean {
  return ConnectorError.is(error) && error.kind === 'rate_limited';
}

/** RFC 5530: the credentials were not judged at all. */
function isPassing(fault: Fault): boolean {
  return ['UNAVAILABLE', 'INUSE', 'LIMIT', 'SERVERBUG', 'CONTACTADMIN'].includes(fault.serverResponseCode ?? '');
}

function isNoTls(error: Error, fault: Fault): boolean {
  return fault.code === 'ERR_SSL_WRONG_VERSION_NUMBER' || /wrong version number|STARTTLS/i.test(error.message);
}

function certificateError(server: string, code: string, cause: Error): ConnectorError {
  const what =
    code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? 'is for another server name'
      : code === 'CERT_HAS_EXPIRED'
        ? 'has expired'
        : 'is not signed by a known authority';
  return new ConnectorError('bad_config', `The certificate of ${server} ${what} (${code}).`, {
    remedy:
      code === 'ERR_TLS_CERT_ALTNAME_INVALID'
        ? 'Give the server name that the certificate is made for as `host`.'
        : 'Have the certificate renewed, or give the PEM text of its authority as `ca`.',
    cause,
  });
}
