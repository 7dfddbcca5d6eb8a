import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import type { Database } from '../../store/database.ts';
import { deleteSetting, readSetting, writeSetting } from '../../store/settings.ts';
import type { Vault } from '../../auth/vault.ts';

/** The hook that serves all connections of a provider, as the operator sees it. */
export interface SharedHook {
  /** Where the source sends to; null: sources do not reach this installation. */
  address: string | null;
  /** `set`: what is signed with its secret is taken. `offered`: the source has named one, and nobody has said yes yet. */
  state: 'none' | 'offered' | 'set';
  offered: { secret: string; at: Date } | null;
}

/** Secrets of hooks that serve a provider: those of the configuration, and those that sources offered. */
export interface SharedHooks {
  /** Nothing is looked up for a source that offers none (`isOffered`): whoever sends what costs no statement then. */
  secretOf(provider: string, source: { isOffered: boolean }): Promise<string | null>;
  show(provider: string): Promise<SharedHook>;
  /** Keeps what a source offers in place of an earlier offer. */
  offer(provider: string, secret: string): Promise<void>;
  /** Takes the secret that was shown. Throws `conflict` when it is not the one that is offered by now. */
  accept(provider: string, secret: string): Promise<void>;
  /** Forgets what was offered and taken; a secret of the configuration stays. */
  forget(provider: string): Promise<void>;
}

export interface SharedHooksOptions {
  database: Database;
  vault: Vault;
  clock: Clock;
  /** Without a slash at the end. */
  publicUrl: string | null;
  /** By provider. They come before what was offered. */
  configured: Readonly<Record<string, string>>;
}

/** The row in the settings table. */
interface Stored {
  /** A `Kept`. */
  sealed: string;
}

interface Kept {
  secret: string | null;
  offered: { secret: string; at: string } | null;
}

const keyOf = (provider: string) => `hook_secrets:${provider}`;

export function createSharedHooks(options: SharedHooksOptions): SharedHooks {
  const { database, vault, clock, publicUrl, configured } = options;

  async function read(provider: string): Promise<Kept> {
    const key = keyOf(provider);
    const stored = await readSetting<Stored>(database, key);
    return stored
      ? (vault.open('offered hook secret', key, stored.sealed) as unknown as Kept)
      : { secret: null, offered: null };
  }

  async function write(provider: string, kept: Kept): Promise<void> {
    const key = keyOf(provider);
    const stored: Stored = { sealed: vault.seal('offered hook secret', key, kept) };
    await writeSetting(database, key, stored, clock.now());
  }

  async function secretOf(provider: string, { isOffered }: { isOffered: boolean }): Promise<string | null> {
    if (Object.hasOwn(configured, provider)) return configured[provider]!;
    return isOffered ? (await read(provider)).secret : null;
  }

  return {
    secretOf,
    async show(provider) {
      const { offered } = await read(provider);
      const isSet = (await secretOf(provider, { isOffered: true })) !== null;
      return {
        address: publicUrl && `${publicUrl}/v3/hooks/${provider}`,
        state: isSet ? 'set' : offered ? 'offered' : 'none',
        offered: offered && { secret: offered.secret, at: new Date(offered.at) },
      };
    },
    offer: (provider, secret) => write(provider, { secret: null, offered: { secret, at: clock.now().toISOString() } }),
    async accept(provider, secret) {
      const { offered } = await read(provider);
      if (offered?.secret !== secret) throw new MemorydError('conflict', 'The source offers another secret by now');
      await write(provider, { secret, offered: null });
    },
    forget: async (provider) => void (await deleteSetting(database, keyOf(provider))),
  };
}
