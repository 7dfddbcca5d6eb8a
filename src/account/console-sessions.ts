import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { findApiKey } from '../store/api-keys.ts';
import {
  deleteConsoleSession,
  deleteConsoleSessionsOf,
  findConsoleSession,
  insertConsoleLink,
  insertConsoleSession,
  useConsoleLink,
} from '../store/console-sessions.ts';
import type { Database } from '../store/database.ts';
import { isLocal, type Caller } from './access.ts';
import { type Keys, hashSecret } from './keys.ts';

/** Somebody who is signed in to the console. */
export interface ConsoleSession {
  /** The caller with the present rights of its key. */
  caller: Caller;
  /** Required beside the cookie in every request that changes something. */
  csrf: string;
  expiresAt: Date;
}

export interface ConsoleSessions {
  /** Signs in with a key, or with a link, which is used up. Null for a wrong one. `secret`: what the cookie holds. */
  signIn(credential: Credential): Promise<(ConsoleSession & { secret: string }) | null>;
  /** Null for an unknown secret, after the end, and while the key is disabled or gone. */
  find(secret: string): Promise<ConsoleSession | null>;
  signOut(secret: string): Promise<void>;
  /** Ends all sessions of the key of this caller, or all of the machine's own, and links that would begin another. */
  signOutEverywhere(caller: Caller): Promise<void>;
  /** Makes a link that signs in once, as this caller. `address`: of the daemon, as its user reaches it. */
  createLink(caller: Caller, address: string): Promise<{ url: string; expiresAt: Date }>;
}

export type Credential = { key: string } | { link: string };

const sessionMs = 12 * 60 * 60_000;
const linkMs = 5 * 60_000;

export interface ConsoleSessionsDependencies {
  database: Database;
  clock: Clock;
  keys: Pick<Keys, 'authenticate' | 'holderOf'>;
}

/** Sessions are rows, so that they hold in every process, and end with their key in all of them at once. */
export function createConsoleSessions({ database, clock, keys }: ConsoleSessionsDependencies): ConsoleSessions {
  const inMs = (ms: number) => new Date(clock.now().getTime() + ms);

  async function callerOfLink(token: string): Promise<Caller | null> {
    const link = await useConsoleLink(database, hashSecret(token), clock.now());
    if (!link) return null;
    if (link.keyId === null) return keys.holderOf(null);
    const row = await findApiKey(database, link.keyId);
    return row && keys.holderOf(row);
  }

  return {
    async signIn(credential) {
      const caller =
        'key' in credential ? await keys.authenticate(credential.key) : await callerOfLink(credential.link);
      if (!caller) return null;
      const secret = newSecret();
      const expiresAt = earlier(inMs(sessionMs), caller.expiresAt);
      const row = { hash: hashSecret(secret), keyId: keyIdOf(caller), createdAt: clock.now(), expiresAt };
      await insertConsoleSession(database, row);
      return { caller, csrf: csrfOf(secret), expiresAt, secret };
    },
    async find(secret) {
      const found = await findConsoleSession(database, hashSecret(secret), clock.now());
      const caller = found && keys.holderOf(found.key);
      return caller && { caller, csrf: csrfOf(secret), expiresAt: earlier(found.endsAt, caller.expiresAt) };
    },
    signOut: (secret) => deleteConsoleSession(database, hashSecret(secret)),
    signOutEverywhere: (caller) => deleteConsoleSessionsOf(database, keyIdOf(caller)),
    async createLink(caller, address) {
      const token = newSecret();
      const expiresAt = inMs(linkMs);
      await insertConsoleLink(database, { hash: hashSecret(token), keyId: keyIdOf(caller), expiresAt });
      // What stands after # is in no log on the way.
      return { url: `${address.replace(/\/+$/, '')}/#/sign-in/${token}`, expiresAt };
    },
  };
}

/** 256 random bits, so a plain hash of it cannot be searched. */
function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Made from the secret, so that it need not be stored and cannot be guessed from what is. */
function csrfOf(secret: string): string {
  return createHash('sha256').update(`csrf ${secret}`).digest('base64url');
}

function keyIdOf(caller: Caller): string | null {
  return isLocal(caller) ? null : caller.keyId;
}

function earlier(end: Date, other: Date | null): Date {
  return other !== null && other < end ? other : end;
}
