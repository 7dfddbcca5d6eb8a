import { chooseAuth, isOAuth } from '../auth/auth-choice.ts';
import type { ConnectorSpec, JsonObject } from '../connector/contract.ts';
import type { NewCredentials } from '../auth/credentials.ts';
import { splitConfig } from '../auth/vault.ts';
import type { World } from './world.ts';

/** What the world says a connection is authorized with, as the vault takes it, and the settings that are no secrets. */
export async function newCredentials(
  spec: ConnectorSpec,
  world: World,
  now: Date,
): Promise<NewCredentials & { config: JsonObject }> {
  const { open: config, secret } = splitConfig(spec, world.config);
  if (world.oauth) {
    const auth = spec.auth.find(isOAuth) ?? null;
    const { accessToken, refreshToken = null, expiresIn } = await world.oauth.grant();
    const expiresAt = expiresIn === undefined ? null : new Date(now.getTime() + expiresIn * 1_000);
    const token = { accessToken, refreshToken, expiresAt, clientId: world.oauth.client.id };
    return { config, auth, fields: secret, token };
  }
  const choice = world.credentials ? chooseAuth(spec, world.credentials) : null;
  if (choice?.by !== 'fields') return { config, auth: null, fields: secret, token: null };
  return { config, auth: choice.auth, fields: { ...secret, ...choice.fields }, token: null };
}
