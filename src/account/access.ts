import { MemorydError } from '../base/errors.ts';
import { everyContainer, type Scope } from '../base/scope.ts';
import type { Grant, Permission } from '../store/api-keys.ts';

/**
 * Section 2.3 of the API: what a key may do, in one place. A full key may do everything its
 * permission allows; a scoped key only sees the containers of its grants.
 */

/** The scope of a read: the named containers, or every one the key may read. `forbidden` for a foreign one. */
export function readScope(caller: Caller, requested: readonly string[]): Scope {
  if (caller.kind === 'full') return requested.length === 0 ? everyContainer : { containerTags: unique(requested) };
  const granted = caller.grants.map((grant) => grant.containerTag);
  if (requested.length === 0) return { containerTags: granted };
  if (!requested.every((tag) => granted.includes(tag))) throw accessDenied();
  return { containerTags: unique(requested) };
}

/** The one container that a write goes to. */
export function writeTag(caller: Caller, requested: string | undefined, defaultTag: string): string {
  const tag = requested ?? impliedTag(caller, defaultTag);
  requireWrite(caller, tag);
  return tag;
}

function impliedTag(caller: Caller, defaultTag: string): string {
  if (caller.kind === 'full') return defaultTag;
  const [first, ...others] = caller.grants;
  if (first && others.length === 0) return first.containerTag;
  throw new MemorydError('invalid_request', 'containerTag is required for this key');
}

/** Throws `forbidden` unless the key may write in the container. */
export function requireWrite(caller: Caller, containerTag: string): void {
  const refusal = refusalOfWrite(caller, containerTag);
  if (refusal) throw refusal;
}

export function mayWrite(caller: Caller, containerTag: string): boolean {
  return refusalOfWrite(caller, containerTag) === null;
}

function refusalOfWrite(caller: Caller, containerTag: string): MemorydError | null {
  if (caller.kind === 'scoped') {
    const grant = caller.grants.find((candidate) => candidate.containerTag === containerTag);
    if (!grant) return accessDenied();
    if (grant.permission !== 'write') return readOnly();
  }
  return caller.permission === 'write' ? null : readOnly();
}

/** Throws `forbidden` for a key that may write nowhere; it is told so before it is told what there is. */
export function requireSomeWrite(caller: Caller): void {
  const mayWrite = caller.kind === 'full' || caller.grants.some(({ permission }) => permission === 'write');
  if (!mayWrite || caller.permission !== 'write') throw readOnly();
}

/** For reads of the whole organization. */
export function requireFullKey(caller: Caller): void {
  if (caller.kind !== 'full') throw new MemorydError('forbidden', 'This operation needs a full key');
}

/** For changes of the organization: keys, settings, connections. */
export function requireManagement(caller: Caller): void {
  requireFullKey(caller);
  if (caller.permission !== 'write') throw readOnly();
}

function accessDenied(): MemorydError {
  return new MemorydError('forbidden', 'Namespace access denied');
}

function readOnly(): MemorydError {
  return new MemorydError('forbidden', 'This key may only read');
}

function unique(tags: readonly string[]): string[] {
  return [...new Set(tags)];
}

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
