import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  FastifyReply,
  FastifyTypeProvider,
} from 'fastify';
import type { Static, TSchema } from 'typebox';
import { type Caller, readScope, writeTag, requireWrite } from '../account/access.ts';
import type { ConsoleSession } from '../account/console-sessions.ts';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import type { Connections } from '../connections/connection-service.ts';
import type { Connection, ConnectionRef, InstalledConnector } from '../connections/connection-types.ts';
import type { OpenHook } from '../inbound/hooks/receiver.ts';
import type { WrongKeys } from './admission.ts';
import type { Answered } from './schemas/shared.ts';
import type { ApiConfig, ApiServices } from './services.ts';
import type { SpooledBody } from './upload-spool.ts';
import { invalidField } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes without authentication. */
    caller: Caller | null;
    /** Set for a request that came with the console's cookie instead of a key. */
    consoleSession: ConsoleSession | null;
    /** Milliseconds of the clock. */
    receivedAtMs: number;
    /** SHA-256 of the body, on requests whose answer may be replayed. */
    bodyHash: string | null;
    /** The body of a form. */
    upload: SpooledBody | null;
    /** Id of what a request made, for the security log. Null: what its path names. */
    auditTarget: string | null;
    /** The key that came with it is nobody's. */
    isWrongKey: boolean;
    /** The address of a hook, looked up before its body is read. */
    hook: OpenHook | null;
  }
  interface FastifyContextConfig {
    /** No bearer credential is needed. */
    public?: boolean;
    /** Being nobody is one of its answers, and nothing that was denied. */
    asksWho?: boolean;
    /** The input may hold credentials and is never sent back. */
    sensitive?: boolean;
    /** The answer holds a secret, which is stored nowhere as it is. */
    secretAnswer?: boolean;
    /**
     * A repeated request with the same body gets the first answer (6.3). `without id`: also one that does not say that
     * it is repeated, within seconds and unless its documents have ids, which make it harmless.
     */
    replay?: boolean | 'without id';
    /** Noted in the security log under this name, such as `key.create`. */
    audit?: string;
  }
}

interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
  serializer: this['schema'] extends TSchema ? Answered<this['schema']> : unknown;
}

export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  SchemaTypes
>;

/** Passed to every route file. */
export interface RouteContext {
  services: ApiServices;
  config: ApiConfig;
  clock: Clock;
  version: string;
  wrongKeys: WrongKeys;
}

/** Passed to routes beside those of the API. */
export interface FurtherContext extends RouteContext {
  log: Logger;
}

/** The sender of the request. Throws on routes without authentication. */
export function callerOf(request: FastifyRequest<any, any, any, any, any, any, any>): Caller {
  if (!request.caller) throw new MemorydError('unauthorized', 'Unauthorized');
  return request.caller;
}

/** Aborts when the client goes away before it has the answer: work for it is work for nobody. */
export function abortOnDisconnect(reply: FastifyReply<any, any, any, any, any, any, any, any>): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

export interface TagFields {
  containerTag?: string | undefined;
  containerTags?: string[] | undefined;
}

/** Reads take one tag, several, or both; together they are a union (section 5 rule 9 of the API). */
export function requestedTags({ containerTag, containerTags = [] }: TagFields): string[] {
  return containerTag === undefined ? containerTags : [containerTag, ...containerTags];
}

/** The container of a write, with all that the caller named where older clients may name several (rule 11). */
export function containersOfWrite(caller: Caller, fields: TagFields, config: ApiConfig): Containers {
  const containerTag = tagOfWrite(caller, fields, config);
  const { containerTags = [] } = fields;
  return fields.containerTag === undefined && containerTags.length > 1
    ? { containerTag, containerTags }
    : { containerTag };
}

export interface Containers {
  containerTag: string;
  containerTags?: string[];
}

/** The container of a write. Several `containerTags` are refused unless the operator allows them (rules 7 and 11). */
function tagOfWrite(caller: Caller, fields: TagFields, config: ApiConfig): string {
  return writeTag(caller, fields.containerTag ?? pluralTag(fields.containerTags, config), config.defaultContainerTag);
}

const tagPattern = /^[a-zA-Z0-9_:-]{1,100}$/;

/** One tag in a list is as good as the tag; of several, which older clients send, the first is the container. */
function pluralTag(containerTags: string[] | undefined, config: ApiConfig): string | undefined {
  if (containerTags === undefined) return undefined;
  const [first] = containerTags;
  if (first === undefined || (containerTags.length > 1 && !config.compat?.includes('plural-tags'))) {
    throw new MemorydError(
      'invalid_request',
      'Use containerTag (a single string) on writes, or containerTags with one tag; several tags need the setting COMPAT=plural-tags of the daemon',
    );
  }
  const wrong = containerTags.findIndex((tag) => !tagPattern.test(tag));
  if (wrong === -1) return first;
  throw invalidField(['containerTags', wrong], 'must be 1 to 100 letters, digits, underscores, colons and hyphens');
}

/**
 * For bodies whose schema wants `containerTag`: `containerTags` alone stands for it when it holds one
 * tag, and where older clients may send several, its first element is the container (rules 7 and 11).
 */
export function readPluralTag(config: ApiConfig) {
  return async function convertPluralTag(request: FastifyRequest): Promise<void> {
    const body = request.body as TagFields | null | undefined;
    if (typeof body !== 'object' || body === null) return;
    if (body.containerTag !== undefined || !Array.isArray(body.containerTags)) return;
    body.containerTag = pluralTag(body.containerTags, config);
    delete body.containerTags;
  };
}

/** Where the published schema has only `containerTags`, one element stands for `containerTag` (rule 8). */
export function singleTag({ containerTag, containerTags }: TagFields): string | undefined {
  if (containerTag !== undefined || containerTags === undefined) return containerTag;
  if (containerTags.length === 1) return containerTags[0];
  throw new MemorydError('invalid_request', 'containerTags must have exactly one element here; use containerTag');
}

/**
 * The containers that a list of documents covers. Where older clients may name several tags, a tag also finds the
 * documents that name it beside their container; the key's own containers stay the limit.
 */
export function listedTags(
  caller: Caller,
  fields: TagFields,
  config: ApiConfig,
): { scope: Scope; namedTags?: string[] } {
  const namedTags = requestedTags(fields);
  const isPlural = config.compat?.includes('plural-tags') === true && namedTags.length > 0;
  return isPlural ? { scope: readScope(caller, []), namedTags } : { scope: readScope(caller, namedTags) };
}

/** The containers that a search covers: the same; a container that the key may not read is refused. */
export function searchedTags(caller: Caller, fields: TagFields, config: ApiConfig): ReturnType<typeof listedTags> {
  readScope(caller, requestedTags(fields));
  return listedTags(caller, fields, config);
}

/** Section 19.1 of the API: names that the published clients know, whether or not their connector is installed. */
const knownProviders = [
  'notion',
  'google-drive',
  'onedrive',
  'gmail',
  'github',
  'web-crawler',
  's3',
  'granola',
  'imap',
  'folder',
];

/**
 * Throws `unsupported_operation` for a known provider without connector, `validation_failed` for an unknown name, and
 * `connector_invalid` with the reason for a connector that cannot be used.
 */
export async function requireInstalled(connections: Connections, provider: string): Promise<InstalledConnector> {
  const found = await connections.connector(provider);
  if (found) return found;
  if (!knownProviders.includes(provider)) throw unknownProvider(connections, provider);
  const details = unloadedNote(connections) || undefined;
  throw new MemorydError('unsupported_operation', 'Connector not installed', { details });
}

export function unknownProvider(connections: Connections, provider: string): MemorydError {
  const message = `${provider.slice(0, 40)} is not the name of a connector`;
  return invalidField(['provider'], [message, unloadedNote(connections)].filter(Boolean).join('. '));
}

/** What was asked for may be in one of these. */
function unloadedNote(connections: Connections): string {
  const plugins = connections.unloadedPlugins();
  return plugins.length === 0 ? '' : `Plugins that could not be loaded: ${plugins.join(', ')}`;
}

/** Throws `validation_failed` for a name that is no provider's, installed or not. */
export async function requireKnown(connections: Connections, provider: string): Promise<void> {
  if (!(await isProvider(connections, provider))) throw unknownProvider(connections, provider);
}

/** Whether a word that may be the id of a connection names a provider, installed or not. */
export async function isProvider(connections: Connections, word: string): Promise<boolean> {
  return knownProviders.includes(word) || (await connections.connector(word)) !== null;
}

/** A connection that the caller may see. A foreign one looks like a missing one. */
export async function findConnection(connections: Connections, id: string, caller: Caller): Promise<ConnectionRef> {
  return known(await connections.find(id, readScope(caller, [])));
}

/** All that is shown of a connection. */
export async function getConnection(connections: Connections, id: string, caller: Caller): Promise<Connection> {
  return known(await connections.get(id, readScope(caller, [])));
}

function known<Found>(connection: Found | null): Found {
  if (!connection) throw new MemorydError('not_found', 'Connection not found');
  return connection;
}

/** The connections of a provider in the containers that the body names, newest first; `not_found` for none. */
export async function matchingConnections(
  connections: Connections,
  provider: string,
  request: { caller: Caller; tags: TagFields },
): Promise<[Connection, ...Connection[]]> {
  await requireInstalled(connections, provider);
  const scope = readScope(request.caller, requestedTags(request.tags));
  const [newest, ...others] = await connections.list(scope, provider);
  if (!newest) throw new MemorydError('not_found', `No connection found for ${provider}`);
  return [newest, ...others];
}

/** By id or customId. Throws `not_found`, also for a document outside of the scope. */
export async function findDocument({ documents }: Pick<ApiServices, 'documents'>, id: string, scope: Scope) {
  const document = await documents.find(id, scope);
  if (!document) throw new MemorydError('not_found', 'Document not found');
  return document;
}

/** Deletes documents that are named by ids or customIds, each on its own; says of the others why they are not. */
export async function removeEach(
  services: Pick<ApiServices, 'documents'>,
  names: readonly string[],
  caller: Caller,
  scope: Scope,
): Promise<{ deleted: number; errors: { id: string; error: string }[] }> {
  const found = new Set<string>();
  const errors: { id: string; error: string }[] = [];
  for (const id of new Set(names)) {
    try {
      const document = await findDocument(services, id, scope);
      requireWrite(caller, document.containerTag);
      found.add(document.id);
    } catch (error) {
      if (!MemorydError.is(error) || error.status >= 500) throw error;
      errors.push({ id, error: error.message });
    }
  }
  return { deleted: found.size === 0 ? 0 : await services.documents.remove([...found]), errors };
}
