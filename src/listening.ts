import { join } from 'node:path';
import type { createApi } from './api/create-api.ts';
import type { ApiConfig } from './api/services.ts';
import type { Config } from './base/config.ts';
import { MemorydError } from './base/errors.ts';

/** Where browsers reach this process, without a slash at the end. */
export function publicUrl({ publicUrl: configured, port }: Config, listening: string): string {
  if (configured !== undefined) return configured.replace(/\/+$/, '');
  return `http://localhost:${listening === '' ? port : new URL(listening).port}`;
}

/** Answers where it listens. Throws `port_in_use`. */
export async function listen(api: ReturnType<typeof createApi>, config: Config): Promise<string> {
  try {
    return await api.listen({ host: config.host, port: config.port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new MemorydError('port_in_use', `Port ${config.port} on ${config.host} is in use.`, { cause: error });
  }
}

/** What the API needs of the configuration. */
export function apiConfig(config: Config, organization: ApiConfig['organization']): ApiConfig {
  return {
    limits: config.limits,
    requestTimeoutMs: config.requestTimeoutMs,
    uploadFolder: join(config.dataDir, 'uploads'),
    defaultContainerTag: config.defaultContainerTag,
    organization,
    corsOrigins: config.corsOrigins,
    compat: config.compat,
    ...(config.publicUrl === undefined ? {} : { publicUrl: config.publicUrl }),
    ...(config.rateLimit.max > 0 ? { rateLimit: config.rateLimit } : {}),
  };
}
