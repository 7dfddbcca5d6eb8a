import type { Grant, Permission } from '../store/api-keys.ts';

export type { Grant, Permission };

/** The sender of a request, according to its key. */
export interface Caller {
  keyId: string;
  name: string;
  /** `full`: every container and the organization. `scoped`: the containers of `grants`. */
  kind: 'full' | 'scoped';
  permission: Permission;
  grants: readonly Grant[];
  /** Null: the limit of the configuration for full keys applies. */
  rateLimit: RateLimit | null;
  expiresAt: Date | null;
  /** Under which what it writes is counted; null: for nobody. */
  usageId: string | null;
}

/** The mark of the caller's key on everything that it writes. */
export function addedBy({ usageId }: Caller): { addedBy?: string } {
  return usageId === null ? {} : { addedBy: usageId };
}

/** The key id of whoever has the local token: commands on this machine, run by the daemon's own user. */
export const localKeyId = 'local';

export function isLocal({ keyId }: Caller): boolean {
  return keyId === localKeyId;
}

/** At most `max` requests in each window of `windowMs` milliseconds. 0 means no limit. */
export interface RateLimit {
  max: number;
  windowMs: number;
}
