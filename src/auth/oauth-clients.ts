import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Database } from '../store/database.ts';
import { readSetting, writeSetting } from '../store/settings.ts';
import type { Vault } from './vault.ts';

/** A client that the operator registered at a provider (bring your own client). Without a secret: a public one (RFC 6749 section 2.1). */
export interface ClientKeys {
  clientId: string;
  clientSecret?: string;
}

/** A client of the settings (section 20 of the API), as it is shown. */
export interface CustomClient {
  enabled: boolean;
  clientId: string | null;
  hasClientSecret: boolean;
}

/** The OAuth clients of this installation, by provider. */
export interface OAuthClients {
  /**
   * The client for new connections: of the settings if they are enabled, else of the configuration.
   * With an id: the one that a grant was issued to, wherever it stands. Null when there is none.
   */
  find(provider: string, clientId?: string): Promise<ClientKeys | null>;
  /** `invalid_request` that says how to register one. */
  missing(provider: string): MemorydError;
  /** Which settings name the client of a provider, as a sentence without a full stop. */
  howToSet(provider: string): string;
  custom(name: CustomClientName): Promise<CustomClient>;
  /** Absent fields stay as they are; null removes. */
  setCustom(name: CustomClientName, change: CustomClientChange): Promise<void>;
}

export interface CustomClientChange {
  enabled?: boolean | null;
  clientId?: string | null;
  clientSecret?: string | null;
}

export const customClientNames = ['googleDrive', 'notion', 'onedrive', 'github'] as const;
/** First part of the settings `…CustomKeyEnabled`, `…ClientId` and `…ClientSecret`. */
export type CustomClientName = (typeof customClientNames)[number];

interface Family {
  setting: CustomClientName;
  group: 'google' | 'notion' | 'onedrive' | 'github';
}

/** Providers with names of their own in settings and environment; one client of Google serves both. */
const families: Readonly<Record<string, Family>> = {
  'google-drive': { setting: 'googleDrive', group: 'google' },
  gmail: { setting: 'googleDrive', group: 'google' },
  notion: { setting: 'notion', group: 'notion' },
  onedrive: { setting: 'onedrive', group: 'onedrive' },
  github: { setting: 'github', group: 'github' },
};

/** The part of the configuration that names clients. */
export interface ClientConfig extends Partial<Record<Family['group'], Partial<ClientKeys>>> {
  oauthClients?: Readonly<Record<string, ClientKeys>>;
}

export interface OAuthClientsOptions {
  database: Database;
  vault: Vault;
  clock: Clock;
  config: ClientConfig;
}

/** The row in the settings table; the secret is sealed. */
interface StoredClient {
  enabled: boolean;
  clientId: string | null;
  clientSecret: string | null;
}

const nothingStored: StoredClient = { enabled: false, clientId: null, clientSecret: null };
const keyOf = (name: CustomClientName) => `oauth_client:${name}`;

export function createOAuthClients({ database, vault, clock, config }: OAuthClientsOptions): OAuthClients {
  const stored = async (name: CustomClientName) =>
    (await readSetting<StoredClient>(database, keyOf(name))) ?? nothingStored;

  async function candidates(provider: string): Promise<ClientKeys[]> {
    const family = Object.hasOwn(families, provider) ? families[provider] : undefined;
    const ofConfig =
      config.oauthClients && Object.hasOwn(config.oauthClients, provider) ? config.oauthClients[provider] : undefined;
    const custom = family ? await opened(family.setting) : [];
    return [...custom, ...(ofConfig ? [ofConfig] : []), ...complete(family && config[family.group])];
  }

  async function opened(name: CustomClientName): Promise<ClientKeys[]> {
    const { enabled, clientId, clientSecret } = await stored(name);
    if (!enabled || clientId === null || clientSecret === null) return [];
    return [{ clientId, clientSecret: vault.open('oauth client', keyOf(name), clientSecret)['text'] as string }];
  }

  return {
    async find(provider, clientId) {
      const found = await candidates(provider);
      return found.find((one) => clientId === undefined || one.clientId === clientId) ?? null;
    },
    missing: (provider) =>
      new MemorydError('invalid_request', `OAuth is not configured for ${provider}`, { details: howToSet(provider) }),
    howToSet,
    async custom(name) {
      const { enabled, clientId, clientSecret } = await stored(name);
      return { enabled, clientId, hasClientSecret: clientSecret !== null };
    },
    async setCustom(name, change) {
      const before = await stored(name);
      const { enabled = before.enabled, clientId = before.clientId, clientSecret } = change;
      const sealed = clientSecret ? vault.seal('oauth client', keyOf(name), { text: clientSecret }) : null;
      const after: StoredClient = {
        enabled: enabled ?? false,
        clientId,
        clientSecret: clientSecret === undefined ? before.clientSecret : sealed,
      };
      await writeSetting(database, keyOf(name), after, clock.now());
    },
  };
}

function complete(keys: Partial<ClientKeys> | undefined): ClientKeys[] {
  const { clientId, clientSecret } = keys ?? {};
  return clientId && clientSecret ? [{ clientId, clientSecret }] : [];
}

function howToSet(provider: string): string {
  const family = Object.hasOwn(families, provider) ? families[provider] : undefined;
  if (!family) {
    const client = `{ "${provider}": { "clientId": …, "clientSecret": … } }`;
    return `Set oauthClients in the configuration: ${client}, without the secret for a client that has none`;
  }
  const name = family.group.toUpperCase();
  const { setting } = family;
  return (
    `Set ${name}_CLIENT_ID and ${name}_CLIENT_SECRET, or PATCH /v3/settings with ` +
    `${setting}CustomKeyEnabled, ${setting}ClientId and ${setting}ClientSecret`
  );
}
