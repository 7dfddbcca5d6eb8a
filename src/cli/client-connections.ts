import type {
  ConnectionProgress,
  ConnectionStatus,
  PartitionIssue,
  SyncMode,
  SyncRun,
} from '../connections/connection-types.ts';
import type { CheckResult, JsonObject, JsonSchema } from '../connector/contract.ts';
import type { SharedHook } from '../inbound/hooks/shared-hooks.ts';
import type { SyncItem } from '../connections/item-service.ts';
import type { PushAnswer, PushState } from '../inbound/push/push-service.ts';
import { call, type Endpoint, openStream } from './client-request.ts';
import { CommandFailure, exitCodes } from './exit.ts';

/** A type as JSON carries it: dates are ISO 8601 texts. */
type Wire<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Wire<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: Wire<Value[Key]> }
      : Value;

export interface ConnectionAnswer {
  id: string;
  provider: string;
  createdAt: string;
  status: ConnectionStatus;
  statusReason?: string | null;
  email?: string | null;
  containerTag: string;
  metadata?: Record<string, unknown> | null;
  schedule?: string | null;
  allowedHours?: string | null;
  documentLimit?: number;
  filters?: Record<string, unknown>;
  selection?: Record<string, unknown>[];
  nextSyncAt?: string | null;
  documentCount: number;
  lastSyncRun?: { status: SyncRun['status']; error?: string | null; completedAt?: string | null } | null;
  /** Absent in the answers of an earlier version. */
  problems?: Wire<PartitionIssue>[];
}

export interface CheckAnswer {
  ok: boolean;
  checks: CheckResult[];
}

export type ItemAnswer = Wire<SyncItem>;

export interface ItemsAnswer {
  items: ItemAnswer[];
  /** Null on the last page. */
  next: string | null;
}

export interface ItemSelection {
  states: readonly string[];
  errorClasses: readonly string[];
}

export interface ConnectBody {
  containerTag?: string | undefined;
  /** Authorizes this connection again. */
  connectionId?: string | undefined;
  metadata: JsonObject;
}

export interface InstalledConnector {
  provider: string;
  displayName: string;
  /** The first way to authorize; `config`: there is none. */
  auth?: 'oauth2' | 'token' | 'config';
  configSchema?: JsonSchema;
}

/** One way to authorize; those without fields need the user's consent at the source. */
export interface AuthorizationWay {
  type: string;
  title?: string;
  fields?: JsonSchema;
}

export interface StartedAuthorization {
  id: string;
  authLink: string | null;
  expiresIn: string | null;
}

export interface AuthorizationAnswer {
  connectionId: string;
  status: 'pending' | 'connected' | 'access_denied' | 'exchange_failed' | 'expired';
}

/** The parameters with which the source sent the browser back. */
export type CallbackParameters = { state: string } & ({ code: string } | { error: string });

export type ProgressAnswer = Wire<ConnectionProgress>;

export type SyncRunAnswer = Wire<SyncRun>;

export interface SyncBody {
  mode: SyncMode;
  dryRun?: boolean | undefined;
}

export interface PushBody {
  deliveryId: string;
  upserts: readonly unknown[];
  deletes: readonly string[];
  snapshot?: { id: string; page: number };
  completeSnapshot?: boolean;
}

export type SharedHookAnswer = Wire<SharedHook>;

export const segment = encodeURIComponent;

const some = (names: readonly string[]) => (names.length > 0 ? names : undefined);

export const connectionCalls = (endpoint: Endpoint) => ({
  connectors: () => call<InstalledConnector[]>(endpoint, 'GET', '/v3/connectors'),
  /** Newest first. */
  connections: () => call<ConnectionAnswer[]>(endpoint, 'POST', '/v3/connections/list', { body: {} }),
  connect: (provider: string, body: ConnectBody) =>
    call<StartedAuthorization>(endpoint, 'POST', `/v3/connections/${segment(provider)}`, { body }),
  waysToAuthorize: async (provider: string) =>
    (await call<{ auth: AuthorizationWay[] }>(endpoint, 'GET', `/v3/connectors/${segment(provider)}/spec`)).auth,
  authorization: (id: string) =>
    call<AuthorizationAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/authorization`),
  completeAuthorization: (provider: string, query: CallbackParameters) =>
    call<{ connectionId: string }>(endpoint, 'GET', `/v3/connections/auth/callback/${segment(provider)}`, { query }),
  disconnect: (id: string, deleteDocuments: boolean) =>
    call<{ id: string; provider: string }>(endpoint, 'DELETE', `/v3/connections/${segment(id)}`, {
      query: { deleteDocuments: String(deleteDocuments) },
    }),
  setPaused: (id: string, paused: boolean) =>
    call<ConnectionAnswer>(endpoint, 'PATCH', `/v3/connections/${segment(id)}`, { body: { paused } }),
  check: (id: string) => call<CheckAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/check`),
  hook: (name: string) => call<SharedHookAnswer>(endpoint, 'GET', `/v3/connectors/${segment(name)}/hook`),
  acceptHook: (name: string, secret: string) =>
    call<SharedHookAnswer>(endpoint, 'POST', `/v3/connectors/${segment(name)}/hook`, { body: { secret } }),
  forgetHook: (name: string) => call<SharedHookAnswer>(endpoint, 'DELETE', `/v3/connectors/${segment(name)}/hook`),
  push: (id: string, body: PushBody) =>
    call<PushAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/push`, { body }),
  pushState: (id: string) => call<Wire<PushState>>(endpoint, 'GET', `/v3/connections/${segment(id)}/push`),
});

export const syncCalls = (endpoint: Endpoint) => ({
  sync: (id: string, body: SyncBody) =>
    call<SyncRunAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/sync`, { body }),
  cancel: (id: string) => call<SyncRunAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/cancel`),
  progress: (id: string) => call<ProgressAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/progress`),
  /** Newest first. */
  syncRuns: (id: string, limit = 20) =>
    call<SyncRunAnswer[]>(endpoint, 'GET', `/v3/connections/${segment(id)}/sync-runs`, {
      query: { limit: String(limit) },
    }),
  syncRun: (id: string, runId: string) =>
    call<SyncRunAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/sync-runs/${segment(runId)}`),
  /** Until the documents of the run can be found. */
  runEvents: (id: string, runId: string, lastEventId: string | null) =>
    readEvents<ProgressAnswer>(
      endpoint,
      `/v3/connections/${segment(id)}/runs/${segment(runId)}/events?until=documents`,
      lastEventId,
    ),
  items: (id: string, { states, errorClasses }: ItemSelection, page: { limit: number; cursor?: string | undefined }) =>
    call<ItemsAnswer>(endpoint, 'GET', `/v3/connections/${segment(id)}/items`, {
      query: {
        limit: String(page.limit),
        cursor: page.cursor,
        state: some(states)?.join(','),
        class: some(errorClasses)?.join(','),
      },
    }),
  retryItems: (id: string, { states, errorClasses }: ItemSelection) =>
    call<{ retried: number }>(endpoint, 'POST', `/v3/connections/${segment(id)}/items/retry`, {
      body: { state: some(states), class: some(errorClasses) },
    }),
  retryItem: (id: string, itemId: string) =>
    call<ItemAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/items/${segment(itemId)}/retry`),
  decideHeldDeletes: (id: string, decision: 'confirm' | 'reject') =>
    call<ProgressAnswer>(endpoint, 'POST', `/v3/connections/${segment(id)}/pending-deletes/${decision}`),
});

export interface ReceivedEvent<Data> {
  event: string;
  id: string | null;
  data: Data;
}

/** A daemon that is there says something at least every 15 seconds. */
const silenceMs = 45_000;

/**
 * The server-sent events of one answer, until it ends. Throws `CommandFailure`, `noDaemon` when the
 * connection breaks in the middle. `lastEventId` goes on after an event of an answer before.
 */
async function* readEvents<Data>(
  endpoint: Endpoint,
  path: string,
  lastEventId: string | null,
): AsyncGenerator<ReceivedEvent<Data>> {
  const body = await openStream(endpoint, path, {
    accept: 'text/event-stream',
    ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
  });
  if (!body) return;
  let text = '';
  for await (const part of readText(endpoint, body)) {
    const blocks = (text + part).replaceAll('\r\n', '\n').split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const received = parseEvent<Data>(block);
      if (received) yield received;
    }
  }
}

async function* readText(endpoint: Endpoint, body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await unlessSilent(reader.read());
      if (done) return;
      yield value;
    }
  } catch (error) {
    if (endpoint.signal.aborted) throw new CommandFailure(exitCodes.interrupted, 'Interrupted.', { cause: error });
    throw new CommandFailure(exitCodes.noDaemon, `The connection to the daemon at ${endpoint.url} broke.`, {
      remedy: endpoint.unreachable,
      cause: error,
    });
  } finally {
    reader.cancel().catch(() => {});
  }
}

function unlessSilent<Value>(answer: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`nothing came for ${silenceMs / 1000} s`)), silenceMs);
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer));
}

/** Null for what carries no data: comments, and the time to wait. */
function parseEvent<Data>(block: string): ReceivedEvent<Data> | null {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name, value] = /^([a-z]+):? ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) fields.set(name, value ?? '');
  }
  const data = fields.get('data');
  if (data === undefined) return null;
  return { event: fields.get('event') ?? 'message', id: fields.get('id') ?? null, data: JSON.parse(data) as Data };
}
