import { ConnectorError, transient } from 'memoryd/connector';

/** The system's error code (`ENOENT`), or undefined for what is not a system error. */
export function faultCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('errno' in error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** There is nothing at this path: it does not exist, or what should be a folder on the way is not one. */
export function isAbsent(error: unknown): boolean {
  const code = faultCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

export function isDenied(error: unknown): boolean {
  const code = faultCode(error);
  return code === 'EACCES' || code === 'EPERM';
}

/** A file system error as the contract's error: no permission is `forbidden`, the rest worth another attempt. */
export function toConnectorError(error: unknown, path: string): unknown {
  if (ConnectorError.is(error) || faultCode(error) === undefined) return error;
  if (isDenied(error)) {
    return new ConnectorError('forbidden', `No permission to read ${path} (${faultCode(error)}).`, {
      remedy: 'Give the user that runs the daemon permission to read it, or exclude it.',
      cause: error,
    });
  }
  return transient(`${path} could not be read (${faultCode(error)}).`, error);
}
