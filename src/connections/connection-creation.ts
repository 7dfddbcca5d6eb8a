import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { listConnections, type ConnectionRow } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { chooseAuth, withoutConsent, type AuthChoice, splitConfig, splitFields } from '../auth/fields.ts';
import { checkedHours, checkedSchedule } from '../schedule/connection-schedule.ts';
import { contextOver } from '../source/context.ts';
import { storePlan, type ConnectionPlan } from './connection-plan.ts';
import { type NewConnection, type StartedConnection, requireConnection } from './connection-types.ts';
import type { AuthSpec, Connector, ConnectorSpec, JsonObject } from '../connector/contract.ts';
import type { Credentials } from '../auth/credentials.ts';
import type { Outbound } from '../source/http/outbound.ts';
import { type Consents, createReactivation } from './consents.ts';
import { parseFilters } from '../sync/filters.ts';
import { checkLocalPaths } from '../source/local-paths.ts';
import { checkRedirect } from '../auth/redirects.ts';
import type { Registry } from '../connector/registry.ts';
import { pushProvider } from '../inbound/push/push-service.ts';

export interface CreationOptions {
  database: Database;
  registry: Registry;
  credentials: Credentials;
  consents: Consents;
  redirectAllowlist: readonly string[];
  /** Folders of this machine that may be connected by callers without `readsAnyPath`. */
  folderRoots: readonly string[];
  /** Absent: connectors cannot send requests. */
  outbound?: Outbound | undefined;
  clock: Clock;
  log: Logger;
  /** Wakes a worker for the connection. */
  wake(connectionId: string): Promise<void>;
  /** Called when connections come, go, pause or resume. */
  changed(): Promise<void>;
}

/** Answers the function that makes connections, or begins to: `Connections.create`. */
export function createCreation(options: CreationOptions): (input: NewConnection) => Promise<StartedConnection> {
  return async (input) => {
    const { redirectUrl } = input;
    if (redirectUrl !== undefined) checkRedirect(redirectUrl, options.redirectAllowlist);
    const connector = await options.registry.load(input.provider);
    return input.connectionId === undefined
      ? createNew(options, connector, input)
      : authorizeAgain(options, connector, input, input.connectionId);
  };
}

async function createNew(
  options: CreationOptions,
  connector: Connector<any, any>,
  input: NewConnection,
): Promise<StartedConnection> {
  const { spec } = connector;
  const { credentials, database, clock } = options;
  const given = splitFields(spec, input.metadata);
  const config = splitConfig(spec, await options.registry.validateConfig(input.provider, given.config));
  if (!input.readsAnyPath) await checkLocalPaths(spec, config.open, options.folderRoots);
  const choice = chooseAuth(spec, given.authorization);
  const secrets = { ...given.unknownSecrets, ...config.secret };
  const fields = choice.by === 'fields' ? { ...secrets, ...choice.fields } : secrets;
  const plan = planOf(spec, input, { config: config.open, metadata: given.metadata, fields });
  const others = await listConnections(database, [input.containerTag], { provider: input.provider });
  refuseTooMany(others, input);
  if (choice.by === 'consent') {
    const redirectUrl = input.redirectUrl ?? null;
    const begun = options.consents.begin({ connector, auth: choice.auth, of: { plan }, redirectUrl });
    return begun.catch((error: unknown) => {
      throw withoutConsent(spec, error);
    });
  }
  // With an account, the same configuration may well be another source.
  if (spec.auth.length === 0 && Object.keys(plan.config).length > 0) refuseTwin(others, input, plan.config);
  const auth = authOf(choice);
  const now = clock.now();
  const id = newId(now);
  const owner = { id, provider: input.provider, config: plan.config };
  await probeAccess(options, connector, { owner, auth, fields });
  await database.transaction(async (tx) => {
    await storePlan(tx, { id, provider: input.provider, account: null, now }, plan);
    if (!isEmpty({ auth, fields })) await credentials.put(tx, id, spec, { auth, fields, token: null });
  });
  await options.changed();
  await options.wake(id);
  return { id, authLink: null, expiresInMs: null };
}

function isEmpty({ auth, fields }: { auth: AuthSpec | null; fields: JsonObject }): boolean {
  return auth === null && Object.keys(fields).length === 0;
}

function authOf(choice: AuthChoice): AuthSpec | null {
  return choice.by === 'fields' ? choice.auth : null;
}

function planOf(
  spec: ConnectorSpec,
  input: NewConnection,
  fields: Pick<ConnectionPlan, 'config' | 'metadata' | 'fields'>,
): ConnectionPlan {
  return {
    ...fields,
    containerTag: input.containerTag,
    documentLimit: input.documentLimit ?? null,
    onSourceDelete: input.onSourceDelete ?? 'delete',
    paused: input.paused,
    filters: { ...parseFilters(input.filters ?? {}) },
    schedule: checkedSchedule(input.provider === pushProvider ? null : input.schedule),
    allowedHours: checkedHours(input.allowedHours ?? null),
    memories: input.memories ?? null,
    trust: input.trust ?? 'read',
    author: input.author ?? null,
    inProfile: input.inProfile ?? false,
    syncEveryMs: spec.schedule?.everyMs ?? null,
  };
}

const maxConnections = 20;

function refuseTooMany(others: readonly ConnectionRow[], { provider, containerTag }: NewConnection): void {
  if (others.length < maxConnections) return;
  throw new MemorydError('invalid_request', `${containerTag} has ${others.length} connections to ${provider} already`, {
    details: `A container holds at most ${maxConnections} of one provider: delete one, or use another container`,
  });
}

/** Two mirrors of one source into one container would only contend for the same documents. */
function refuseTwin(others: readonly ConnectionRow[], { containerTag }: NewConnection, config: JsonObject): void {
  const twin = others.find((other) => isDeepStrictEqual(other.config, config));
  if (!twin) return;
  throw new MemorydError('conflict', `This is connected to ${containerTag} already, as ${twin.id}.`, {
    details: 'Sync that connection, or delete it first',
    shouldRetry: false,
  });
}

async function authorizeAgain(
  options: CreationOptions,
  connector: Connector<any, any>,
  input: NewConnection,
  connectionId: string,
): Promise<StartedConnection> {
  const { database, credentials, clock } = options;
  const { spec } = connector;
  const connection = await requireConnection(database, connectionId);
  if (connection.provider !== input.provider) throw new MemorydError('not_found', 'Connection not found');
  const { secrets, choice } = await newAuthorization(options, connector, input, connection);
  if (choice.by === 'consent') {
    const redirectUrl = input.redirectUrl ?? null;
    await database.transaction((tx) => credentials.change(tx, connectionId, secrets));
    return options.consents.begin({ connector, auth: choice.auth, of: { connection }, redirectUrl });
  }
  const fields = choice.by === 'fields' ? { ...secrets, ...choice.fields } : secrets;
  const auth = authOf(choice);
  await probeAccess(options, connector, { owner: connection, auth, fields });
  const reactivate = createReactivation(clock);
  await database.transaction(async (tx) => {
    await credentials.put(tx, connectionId, spec, { auth, fields, token: null });
    await reactivate(tx, connection);
  });
  await options.changed();
  await options.wake(connectionId);
  return { id: connectionId, authLink: null, expiresInMs: null };
}

/** Only credentials can be given for a connection that exists: the rest is changed where it can be seen. */
async function newAuthorization(
  options: CreationOptions,
  { spec }: Connector<any, any>,
  input: NewConnection,
  connection: ConnectionRow,
): Promise<{ secrets: JsonObject; choice: AuthChoice }> {
  const given = splitFields(spec, input.metadata);
  const { open, secret } = splitConfig(spec, given.config);
  const others = Object.keys({ ...open, ...given.metadata });
  if (others.length > 0) {
    throw new MemorydError('invalid_request', `With connectionId only credentials can be given, not ${others[0]}`, {
      details: 'Change the rest with PATCH /v3/connections/{connectionId}',
    });
  }
  const opened = await options.credentials.open(connection, spec, new AbortController().signal);
  const secrets = { ...opened?.secrets, ...given.unknownSecrets, ...secret };
  await options.registry.validateConfig(input.provider, { ...(connection.config as JsonObject), ...secrets });
  const choice = chooseAuth(spec, given.authorization);
  if (choice.by === 'nothing' && Object.keys(given.unknownSecrets).length + Object.keys(secret).length === 0) {
    throw new MemorydError('invalid_request', `${spec.title} has nothing to authorize`);
  }
  return { secrets, choice };
}

/** A source that cannot be reached is told at once, not after the first failed run. */
async function probeAccess(
  options: CreationOptions,
  connector: Connector<any, any>,
  access: {
    owner: { id: string; provider: string; config: Record<string, unknown> };
    auth: AuthSpec | null;
    fields: JsonObject;
  },
): Promise<void> {
  const { owner, auth, fields } = access;
  const opened = isEmpty(access)
    ? null
    : options.credentials.preview(owner, connector.spec, { auth, fields, token: null });
  const signal = AbortSignal.timeout(30_000);
  const probed = contextOver(options, {
    connector,
    connectionId: null,
    config: owner.config,
    opened,
    selection: [],
    signal,
  });
  try {
    const failed = (await probed.connector.check(probed.context)).find((result) => result.status === 'failed');
    if (!failed) return;
    const hidden = (text: string) => opened?.redaction.text(text) ?? text;
    throw new MemorydError(
      'connector_invalid',
      hidden(failed.detail ?? `Not true of the source: ${failed.title}`),
      failed.remedy ? { details: hidden(failed.remedy) } : {},
    );
  } finally {
    await probed.dispose();
  }
}
