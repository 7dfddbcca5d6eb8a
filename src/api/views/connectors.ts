import type { InstalledConnector } from '../../connections/connections.ts';
import { limitsOf } from '../../source/http/budgets.ts';
import type { AuthSpec, ConnectorSpec } from '../../connector/contract.ts';
import type { SharedHook } from '../../inbound/hooks/shared-hooks.ts';
import type { ConnectorAnswer, ConnectorSpecAnswer, SharedHookAnswer } from '../schemas/connectors.ts';

/** Section 19.20. */
export function connectorView({ spec, configured, capabilities }: InstalledConnector): ConnectorAnswer {
  return {
    provider: spec.name,
    displayName: spec.title,
    description: spec.description,
    kind: spec.kind,
    version: spec.version,
    auth: authKindOf(spec),
    configured,
    capabilities,
    configSchema: spec.config,
  };
}

function authKindOf({ auth: [first] }: ConnectorSpec): ConnectorAnswer['auth'] {
  if (!first) return 'config';
  return first.type === 'oauth2' || first.type === 'xoauth2' ? 'oauth2' : 'token';
}

export function sharedHookView({ address, state, offered }: SharedHook): SharedHookAnswer {
  return { address, state, offered: offered && { secret: offered.secret, at: offered.at.toISOString() } };
}

/** Bytes that an item may have unless its connector says otherwise. */
const standardItemBytes = 25 * 1024 * 1024;

/** All that a connector says about itself, without what is code. */
export function connectorSpecView(
  { spec, configured, capabilities }: InstalledConnector,
  callbackAddress: string,
): ConnectorSpecAnswer {
  const { name, title, description, kind, version, config, auth, schedule } = spec;
  return {
    name,
    title,
    description,
    kind,
    version,
    configured,
    capabilities,
    config,
    auth: auth.map(authorizationView),
    callbackAddress: auth.some(({ type }) => type === 'oauth2' || type === 'xoauth2') ? callbackAddress : null,
    limits: limitsOf(spec, {}).map(({ match, rate, perMs, weight }) => ({
      match,
      rate,
      perMs,
      ...(weight && { weight }),
    })),
    schedule: schedule ?? null,
    maxItemBytes: spec.maxItemBytes ?? standardItemBytes,
    documentType: spec.documentType ?? null,
  };
}

function authorizationView(auth: AuthSpec): ConnectorSpecAnswer['auth'][number] {
  const { type, title } = auth;
  return {
    type,
    ...(title !== undefined && { title }),
    ...('scopes' in auth && auth.scopes && { scopes: auth.scopes }),
    ...('fields' in auth && { fields: auth.fields }),
  };
}
