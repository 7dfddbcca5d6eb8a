import { once } from 'node:events';
import { createServer } from 'node:net';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { createApi } from './api/create-api.ts';
import type { ApiConfig } from './api/services.ts';
import type { Config } from './base/config.ts';
import { MemorydError } from './base/errors.ts';

/** The output of `npm run build:console`; in the package, too, it is beside the sources. */
const consoleFolder = fileURLToPath(new URL('../console/dist', import.meta.url));

/** Where browsers reach this process, without a slash at the end. */
export function publicUrl({ publicUrl: configured, port, tls }: Config, listening: string): string {
  if (configured !== undefined) return configured.replace(/\/+$/, '');
  return `http${tls.certFile === undefined ? '' : 's'}://localhost:${listening === '' ? port : new URL(listening).port}`;
}

/** Answers where it listens. Throws `port_in_use` and `config_invalid`. */
export async function listen(api: ReturnType<typeof createApi>, config: Config): Promise<string> {
  try {
    return await api.listen({ host: config.host, port: config.port });
  } catch (error) {
    throw listenError(error, config);
  }
}

/** Throws `port_in_use` and `config_invalid` before anything is opened. What listens in the meantime is noticed by `listen`. */
export async function requireFreePort(config: Config): Promise<void> {
  const { role, host, port } = config;
  if (role === 'worker' || role === 'scheduler') return;
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (error) {
    throw listenError(error, config);
  }
  server.close();
  await once(server, 'close');
}

function listenError(error: unknown, { host, port }: Config): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new MemorydError('port_in_use', `Port ${port} on ${host} is in use.`, { cause: error });
  const problem =
    code === 'EACCES'
      ? `This user may not listen on port ${port}: choose another with --port`
      : `This machine cannot listen on the host ${host}: choose one of its own addresses with --host`;
  return code === undefined ? error : new MemorydError('config_invalid', `${problem} (${code}).`, { cause: error });
}

/** The API's part of the configuration. Throws `config_invalid` for a certificate that cannot be read. */
export async function apiConfig(config: Config, organization: ApiConfig['organization']): Promise<ApiConfig> {
  const tls = await readTls(config.tls);
  return {
    tls,
    limits: config.limits,
    requestTimeoutMs: config.requestTimeoutMs,
    consoleFolder,
    uploadFolder: join(config.dataDir, 'uploads'),
    defaultContainerTag: config.defaultContainerTag,
    organization,
    corsOrigins: config.corsOrigins,
    allowedHosts: config.allowedHosts,
    redirectAllowlist: config.redirectAllowlist,
    compat: config.compat,
    publicUrl: config.publicUrl,
    rateLimit: config.rateLimit.max > 0 ? config.rateLimit : undefined,
  };
}

async function readTls({ certFile, keyFile }: Config['tls']): Promise<ApiConfig['tls']> {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    throw new MemorydError('config_invalid', 'TLS needs both tls.certFile and tls.keyFile; one of them is not set.');
  }
  const [cert, key] = await Promise.all([readPem('tls.certFile', certFile), readPem('tls.keyFile', keyFile)]);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MemorydError('config_invalid', `${certFile} and ${keyFile} cannot be used for TLS: ${reason}`, {
      cause: error,
    });
  }
  return { cert, key };
}

async function readPem(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new MemorydError('config_invalid', `${setting} names ${file}, which cannot be read (${code}).`, {
      cause: error,
    });
  }
}
