import type { Authorization } from '../../src/auth/authorization.ts';
import { createRedaction } from '../../src/auth/redaction.ts';
import type { RunnerOptions } from '../../src/sync/runner.ts';

/** What a connector gets whose account is one token that never ends. */
export function authorizedBy(token: string): Authorization {
  return {
    headers: async () => ({ authorization: `Bearer ${token}` }),
    renew: async () => false,
    token: async () => token,
    secret: async () => token,
  };
}

/** What a run opens connections with when each has the same authorization; nothing else of credentials is there. */
export function credentialsOf(authorization: Authorization): NonNullable<RunnerOptions['credentials']> {
  return { open: async () => ({ authorization, secrets: {}, redaction: createRedaction(), clientId: null }) } as never;
}
