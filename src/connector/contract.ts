/**
 * The connector contract: everything a connector sees of memoryd. It imports nothing, and it is
 * published as `memoryd/connector`.
 *
 * A connector is a value with verbs. `list` and `fetch` alone are a complete connector: the
 * framework lists everything, compares revisions with its ledger, downloads what changed and
 * removes what is gone. `head` and `changes` make it incremental. Every verb does one page or one
 * item and keeps no state of its own, so the framework can stop, crash and resume between any two
 * calls; what a connector must remember stands in the cursor it returns.
 */

/** The version of this contract. A connector built for another major version is refused at load. */
export const contractVersion = 1;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
/** A JSON Schema (draft 2020-12). Hints for people and forms: `title`, `description`, `x-secret`, `x-order`, `x-local-path`. */
export type JsonSchema = { [key: string]: unknown };
/** A metadata value as the API stores it. */
export type MetadataValue = string | number | boolean | string[];

// ---------------------------------------------------------------------------------------------
// What a connector says about itself

export interface ConnectorSpec {
  /** Lower case, `^[a-z][a-z0-9-]{1,31}$`; the provider name in the API and in `customId`. */
  name: string;
  /** Semantic version of the connector. */
  version: string;
  /** For people, e.g. `Google Drive`. */
  title: string;
  kind: 'files' | 'drive' | 'notes' | 'mail' | 'code' | 'other';
  /** One sentence: what is mirrored. */
  description: string;
  /** Schema of the connection's configuration. Properties with `"x-secret": true` are stored encrypted and never shown; those with `"x-local-path": true` name a path of the daemon's machine, which callers of the API may only choose below the setting `folderRoots`. */
  config: JsonSchema;
  /** Ways to authorize, the first is the default. Empty: nothing to authorize. */
  auth: AuthSpec[];
  /** Request budgets of the source, applied to every call through `ctx.http`, fixed or by the configuration. */
  limits?: BudgetSpec[] | ((config: any) => BudgetSpec[]);
  /**
   * Where the authorization may be sent: origins such as `https://api.example.com` or
   * `https://*.example.com`, fixed or by the configuration. Default: every origin that the connector
   * calls. Never an origin that only a redirect leads to. Hosts of a fixed list are the connector's
   * own responsibility; any other address must be a public one unless the operator allows it.
   */
  origins?: readonly string[] | ((config: any) => readonly string[]);
  /** Judges an answer whose status does not tell, e.g. a 403 that is a limit. Undefined: the status decides. */
  classify?(answer: SourceAnswer): Verdict | undefined;
  /** When to sync unless the connection says otherwise. */
  schedule?: ScheduleSpec;
  /**
   * `tree`: the framework finds out what lies in the selected folders (see `roots`). Listings and changes
   * then show the whole partition: every item with its `parent`, and every folder as a `container` ref,
   * whatever is selected; the rev of each changes when its `parent` does. Default: what a listing shows
   * is what is mirrored.
   */
  scope?: 'tree';
  /**
   * Whether a listing that comes to its end has shown everything. `exhaustive` (the default): what it no longer
   * shows is gone, as in a folder or a git tree. `partial`: the source may leave items out without saying so, as
   * search indexes do. What such a listing no longer shows is asked about with `lookup`, which is needed then, and
   * only goes when that does not find it; and a first listing is repeated until it brings nothing new.
   */
  listing?: 'exhaustive' | 'partial';
  /** Items larger than this are skipped with a reason. Default 25 MiB. */
  maxItemBytes?: number;
  /**
   * `loose`: revs also change with what is not content, such as permissions, because the source tells no better.
   * Default: an item whose rev changed and whose content did not is taken for a fault of the connector.
   */
  revs?: 'loose';
  /** The `type` of its documents (`text`, `pdf`, `notion_doc`, …) unless the item says otherwise. */
  documentType?: string;
}

export interface ScheduleSpec {
  /** Milliseconds between incremental syncs. */
  everyMs: number;
  /** Milliseconds between full listings that also find deletions; only for connectors with `changes`. */
  reconcileEveryMs?: number;
}

/**
 * One way to authorize. The fields of a way that is not OAuth are given with the connection's
 * configuration (their names must differ from it) and are stored encrypted. The way whose fields
 * are given is taken, otherwise OAuth.
 */
export type AuthSpec = OAuth2Spec | ApiKeySpec | BasicSpec | ServiceAccountSpec | GithubAppSpec;

/** A key that goes into one header: `Authorization: Bearer <key>` unless said otherwise. */
export interface ApiKeySpec {
  type: 'apiKey';
  title?: string;
  fields: JsonSchema;
  /** The field that holds the key. Default: the first one with `"x-secret": true`, else the first one. */
  field?: string;
  /** Name of the header. Null: the connector sends the key by itself (`ctx.secret`). */
  header?: string | null;
  /** Precedes the key. Default `Bearer ` in the header `Authorization`, nothing in others. */
  prefix?: string;
}

/** User and password: the header `Authorization: Basic …` (RFC 7617). */
export interface BasicSpec {
  type: 'basic';
  title?: string;
  fields: JsonSchema;
  /** The fields that hold them. Default `user` and `password`. */
  userField?: string;
  passwordField?: string;
  /** Null: the connector logs in by itself (`ctx.secret`), e.g. at a mail server. */
  header?: null;
}

/**
 * A machine's own account: a JWT signed by its private key is exchanged for an access token
 * (RFC 7523 section 2.1, RS256). Fields: `key`, the JSON key file as text with `client_email`,
 * `private_key` and perhaps `private_key_id`; or `issuer` and `privateKey` (PEM). In both cases
 * perhaps `subject`, the user that it acts for.
 */
export interface ServiceAccountSpec {
  type: 'serviceAccount';
  title?: string;
  fields: JsonSchema;
  /** See `OAuth2Spec.tokenUrl`. */
  tokenUrl: string;
  scopes?: string[];
  /** Claim `aud`. Default: the token URL. */
  audience?: string;
}

/**
 * A GitHub App, or what works alike: a JWT of the app (RS256) opens `tokenUrl`, which answers
 * `{token, expires_at}` of one installation. Fields: `appId`, `privateKey` (PEM), and those that
 * `tokenUrl` names.
 */
export interface GithubAppSpec {
  type: 'githubApp';
  title?: string;
  fields: JsonSchema;
  /** E.g. `https://api.github.com/app/installations/{installationId}/access_tokens`; see `OAuth2Spec.tokenUrl`. */
  tokenUrl: string;
}

export interface OAuth2Spec {
  /** `xoauth2` hands the token to a mail server by SASL instead of an HTTP header. */
  type: 'oauth2' | 'xoauth2';
  title?: string;
  authorizeUrl: string;
  /**
   * Addresses may hold values of the configuration and of the fields: `{name}` encoded as a part of
   * a path, `{+name}` as it is, e.g. `{+baseUrl}/oauth/token` for a server of one's own.
   */
  tokenUrl: string;
  /** RFC 7009. Without it the grant stays when the connection goes. */
  revokeUrl?: string;
  scopes: string[];
  /** Scopes that a configuration needs instead. */
  scopesFor?(config: any): string[];
  /** Said to the user when the source has ended a grant, e.g. why it does that. */
  endedHint?: string;
  /** Proof key (RFC 7636), S256. Default true. */
  pkce?: boolean;
  /** The provider replaces the refresh token at each use. */
  rotatingRefresh?: boolean;
  /** More query parameters of the authorize request, e.g. `access_type: 'offline'`. */
  extraParams?: Record<string, string>;
  /** Where the client's secret goes in token requests. Default `body`. */
  clientAuthentication?: 'body' | 'header';
  /** Names the account that was connected. */
  identity?(http: Http): Promise<{ id: string; email?: string }>;
}

/**
 * At most `rate` requests in any period of `perMs` for calls whose URL matches, by all processes
 * together. Answers can lower it. A call must fit into every budget that it matches.
 */
export interface BudgetSpec {
  /** Glob over `METHOD host/path` (no query; the host in lower case), or `*`. */
  match: string;
  /** Whole number, at least 1. */
  rate: number;
  perMs: number;
  /** The owner of the budget: one connection, or the OAuth app that connections share. Default `connection`. */
  per?: 'connection' | 'application';
  /** The cost of one request, a whole number. Default 1. */
  weight?: number;
  /**
   * Names a quota that several budgets spend together: equal in all but `match` and `weight`. Without it each budget
   * has its own.
   */
  quota?: string;
  /** Names of response headers with the remaining requests and the reset time. */
  headers?: { remaining: string; reset: string; resetUnit: 'unix-seconds' | 'delta-seconds' };
  /** Share of the budget that is never used, e.g. 0.2 of a personal quota. */
  reserve?: number;
}

/** An answer as `classify` sees it. */
export interface SourceAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  text(): string;
  /** The parsed body; undefined when it is not JSON. */
  json(): any;
}

/** The error that an answer stands for. */
export interface Verdict {
  kind: Exclude<ConnectorErrorKind, 'skip'>;
  /** For `rate_limited`: when the next request may be sent, by the clock of this answer's `date` header. */
  retryAt?: Date;
  /** The same as a duration from now. */
  retryAfterMs?: number;
  /** Advice for the user, without content or secrets. */
  remedy?: string;
}

// ---------------------------------------------------------------------------------------------
// What a source holds

/** A part of a connection with its own cursor: a drive, a mailbox, a repository's files, a folder. */
export interface Partition {
  /** Stable; at most 500 characters. */
  id: string;
  title?: string;
  /** The id of the resource (see `resources`) that it belongs to. */
  resource?: string;
  /**
   * Why it cannot be reached, in words for people. Stands for something that was chosen and whose id may be unknown, as
   * that of a repository that the source does not show: it is not read, the others are, and as long as there is one of
   * these, no partition counts as vanished.
   */
  unread?: string;
}

/** One item as a listing shows it. */
export interface Ref {
  /** The item's own stable identity at the source (not a URL, not a name that changes). Becomes the `customId`. */
  id: string;
  /** Changes if and only if the content may have changed. An unchanged rev costs no download. */
  rev: string;
  /** `container` refs (folders) are kept in the ledger for scope, never fetched. Default `document`. */
  kind?: 'document' | 'container';
  /** Id of the container it is in. */
  parent?: string;
  title?: string;
  mimeType?: string;
  /** Bytes. */
  size?: number;
  /** ISO 8601. */
  updatedAt?: string;
  url?: string;
  /** Path at the source, for `filepath` filters. */
  path?: string;
  /**
   * Says that two ids may be one item under a new id: an inode, a blob hash. When an id disappears
   * in the same listing or page in which a new one with the same fingerprint appears, the document
   * keeps its id and is not embedded again.
   */
  fingerprint?: string;
  /** Metadata of the document, at most 32 KiB. */
  metadata?: Record<string, MetadataValue>;
  /** Helps `fetch` to find the item again, beyond its id; at most 4 KiB. Never a secret. */
  locator?: JsonObject;
  /** Who may read it at the source. */
  access?: Access;
  /** The content, when the listing already carries it; up to about 1 MiB `fetch` is not called then. */
  document?: FetchedDocument;
}

export interface Access {
  users?: string[];
  groups?: string[];
  public?: boolean;
}

export interface Group {
  id: string;
  members: string[];
}

/** One page of `list`, `changes` or `lookup`. */
export interface Page<Cursor extends Json = Json> {
  refs: Ref[];
  /**
   * Ids of items that the source itself says were deleted, or moved out of what is mirrored (only from `changes`).
   * They are removed, unless they are among the refs as well. In a page of `lookup`: ids that are not found, which
   * counts as `missing`.
   */
  gone?: string[];
  /**
   * Only in a page of `lookup`: ids that the source shows, and that lie outside of what is mirrored, e.g. of what is
   * selected. They are removed however many they are. One whose place is not certain belongs in `gone`.
   */
  outside?: string[];
  /**
   * Ids that are not found any more although the source does not say that they were deleted, e.g. because a
   * comparison misses them (only from `changes` and `lookup`). They are removed like what a listing no longer
   * shows: too many of them at once, or within a day, wait for a confirmation or a second look.
   */
  missing?: string[];
  /** Where to go on. After the last page of `changes`: where the next sync starts. */
  next?: Cursor;
  /** True on the last page. */
  done?: boolean;
  /** The listing is not complete, and why; nothing is swept then. */
  incomplete?: string;
  /**
   * Parts that this listing cannot show although it goes on, e.g. folders without permission. What lies in them
   * is kept, and the rest is swept as after a complete listing. Only for refs with a `path`.
   */
  unread?: UnreadPart[];
  /** Items in all, when the source tells. */
  total?: number;
  /**
   * Values that the connector keeps for this partition beside its cursor, by names of its own; null
   * removes. Stored in the transaction that stores the page, read with `ctx.records`. At most 1,000 in a
   * page, names up to 256 characters, values up to 64 KiB as JSON. Never a secret. A new listing leaves
   * them as they are: what no longer holds is for the connector to remove.
   */
  records?: Record<string, Json | null>;
}

export interface UnreadPart {
  /** The `path` of a folder or of one item, as refs have it. */
  path: string;
  /** Why, for people. */
  reason: string;
}

/** An item's content. Exactly one of `text`, `markdown`, `html`, `file`, `parts` carries it. */
export interface FetchedDocument {
  title?: string;
  text?: string;
  markdown?: string;
  html?: string;
  file?: { bytes: Uint8Array; mimeType?: string; name?: string };
  /** Pieces that are one document: the messages of a thread, a page and its attachments. */
  parts?: FetchedDocument[];
  metadata?: Record<string, MetadataValue>;
  /** ISO 8601. */
  createdAt?: string;
  updatedAt?: string;
  url?: string;
  path?: string;
  /** The author, as `Name`, `Name <address>` or an address: whom `I` stands for in its text. */
  author?: string;
  /**
   * The owner of the account wrote it, and the source vouches for that: it lies in the folder of sent mail.
   * Statements in the text itself, such as the sender of a mail, are no proof.
   */
  own?: boolean;
  /** The document's `type`, e.g. `google_doc`. */
  type?: string;
  /** The revision of what was really read, when it may differ from the ref's. */
  rev?: string;
  /**
   * Ids of items that its content shows to be there, at most 1,000. Where listings are `partial`, the next sync asks
   * with `lookup` about those that no listing has shown.
   */
  leadsTo?: string[];
}

export type Fetched = FetchedDocument | { gone: true } | { skip: SkipReason; detail?: string };

/** Why an item is not mirrored. It is looked at again when its rev changes. */
export type SkipReason =
  'too_large' | 'unsupported_type' | 'binary' | 'encrypted' | 'empty' | 'filtered' | 'no_access' | 'other';

// ---------------------------------------------------------------------------------------------
// The verbs

export interface Connector<Config = JsonObject, Cursor extends Json = Json> {
  contractVersion: number;
  spec: ConnectorSpec;
  /** Named probes. An unknown error is never proof that a credential is bad: answer `unknown`. */
  check(ctx: Context<Config>): Promise<CheckResult[]>;
  /** One level of the picker tree. */
  resources?(ctx: Context<Config>, parent?: string, page?: string): Promise<ResourcePage>;
  /** The parts that are synced on their own. Called at the start of each run. */
  partitions(ctx: Context<Config>): Promise<Partition[]>;
  /**
   * Only with the scope `tree`: ids of the folders whose subtrees are mirrored, and of single items;
   * none: everything. Default: the ids of the selected resources.
   */
  roots?(ctx: Context<Config>): Promise<string[]>;
  /**
   * ONE page of everything that is there now. Without `from`: the first page. `pass` counts, from 0, the times that
   * a `partial` listing is repeated, for sources that can show the same in another order.
   */
  list(ctx: Context<Config>, partition: Partition, from?: Cursor, pass?: number): Promise<Page<Cursor>>;
  /** ONE item. Must be safe to repeat. */
  fetch(ctx: Context<Config>, partition: Partition, ref: Ref): Promise<Fetched>;
  /** The cursor of the feed as of now. Taken before a listing, so that changes during the listing are replayed after it. */
  head?(ctx: Context<Config>, partition: Partition): Promise<Cursor>;
  /** ONE page of changes since a cursor. Throws `CursorExpired` when the source no longer knows it. */
  changes?(ctx: Context<Config>, partition: Partition, from: Cursor): Promise<Page<Cursor>>;
  /** Many items in fewer requests. Items left out are fetched one by one. */
  fetchMany?(ctx: Context<Config>, partition: Partition, refs: Ref[]): AsyncIterable<[id: string, fetched: Fetched]>;
  /**
   * The present refs of some ids, as `gone` those that the source says are not there, and as `outside` those that are
   * there and not to be mirrored. One that it does not
   * answer for, e.g. because access to it is denied, is in neither, and stays. Serves hints without a full listing,
   * and confirms what a `partial` listing leaves out.
   */
  lookup?(ctx: Context<Config>, partition: Partition, ids: string[]): Promise<Page<Cursor>>;
  /** Reports changes as they happen until `ctx.signal` aborts. Hints only: listing stays the truth. */
  watch?(ctx: Context<Config>, hint: (hint: Hint) => void): Promise<void>;
  /** Membership of groups, for access control. */
  groups?(ctx: Context<Config>): AsyncIterable<Group>;
  hooks?: Hooks<Config>;
  /** Releases what `ctx.session` holds. */
  close?(ctx: Context<Config>): Promise<void>;
}

export interface CheckResult {
  name: string;
  title: string;
  status: 'ok' | 'failed' | 'unknown';
  detail?: string;
  /** Advice for the user. */
  remedy?: string;
}

export interface Resource {
  id: string;
  name: string;
  kind?: string;
  hasChildren?: boolean;
  /** False for resources that only lead to others. Default true. */
  selectable?: boolean;
  metadata?: JsonObject;
}

export interface ResourcePage {
  resources: Resource[];
  next?: string;
  total?: number;
}

/** Something may have changed: a partition, or some of its items. */
export interface Hint {
  /** Absent: any partition. */
  partition?: string;
  /** Ids to look up. Absent: list or read the changes of the partition. */
  ids?: string[];
  /**
   * In hints of `watch`: the source cannot be watched for now, so that changes are found late; why, and what can be
   * done about it. Shown with the connection until a hint comes without it.
   */
  late?: string;
}

/** An incoming request of a source, with the body as it arrived. */
export interface RawHook {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: Uint8Array;
}

export interface HookSubscription {
  id: string;
  /** ISO 8601. Renewed before. */
  expiresAt?: string;
  state?: JsonObject;
}

/**
 * `connection` is for a hook that serves all connections of a connector: the account that it is about. Without
 * it, the connections are meant that have the partitions of the hints.
 */
export type HookResult =
  | { hints: Hint[]; deliveryId?: string; connection?: string }
  /** Answers a handshake of the source. */
  | { respond: { status: number; headers?: Record<string, string>; body?: string } };

export interface Hooks<Config> {
  /** Milliseconds in which hints are gathered into one sync, at most 600,000. Default 3,000. */
  gatherMs?: number;
  /** Bytes of the largest hook, at most 4 MiB. Default 256 KiB. What a larger one would say is found by listing. */
  maxBodyBytes?: number;
  /** Asks the source to send its hooks to `url`, signed with `secret`. Called again when the selection changes. */
  subscribe?(ctx: Context<Config>, url: string, secret: string): Promise<HookSubscription[]>;
  renew?(ctx: Context<Config>, subscription: HookSubscription, url: string, secret: string): Promise<HookSubscription>;
  cancel?(ctx: Context<Config>, subscription: HookSubscription): Promise<void>;
  /**
   * The secret of a source that makes it by itself, and sends it once, unsigned, before it signs anything with it.
   * Asked of the one hook that serves all connections, as long as that has no secret: the operator is shown it, and
   * says whether it is taken. Undefined for a request that offers none.
   */
  offered?(raw: RawHook): string | undefined;
  /** Checks the signature and says what changed. Throws `Forbidden` for a wrong signature. */
  receive(raw: RawHook, secret: string): Promise<HookResult>;
}

// ---------------------------------------------------------------------------------------------
// What the framework gives to a connector

export interface Context<Config = JsonObject> {
  /** Validated against the spec, secrets filled in. */
  readonly config: Config;
  /** Resources chosen by the user; empty: everything. */
  readonly selection: readonly Resource[];
  readonly http: Http;
  /**
   * Where a host may be connected to by another protocol than HTTP: its IP addresses, if all of them are
   * public or allowed by the operator. Connect to these, not to the name once more, whose answer may differ by
   * then. Throws `BadConfig` for others, `Transient` when the name has none.
   */
  addresses(host: string): Promise<HostAddress[]>;
  readonly log: ConnectorLog;
  /** Aborts when the run is cancelled, paused or the daemon stops. */
  readonly signal: AbortSignal;
  /** The time, corrected by the source's clock where it tells. */
  now(): Date;
  /**
   * A valid access token (or API key), renewed when needed. With one that the source `refused`:
   * another one, or `AuthExpired` when there is none. `ctx.http` does that by itself.
   */
  token(refused?: string): Promise<string>;
  /** A field of the authorization, or a secret setting. */
  secret(name: string): Promise<string>;
  /** A live thing kept between calls of one run (an IMAP session, an open walk). Made again after a crash. */
  session<Value>(key: string, make: () => Promise<Value>, dispose?: (value: Value) => Promise<void>): Promise<Value>;
  /**
   * Real paths of the folders in which the daemon keeps its own data and keys. A connector that reads the
   * machine's files must leave out whatever lies in them, however it is reached.
   */
  readonly ownFolders: readonly string[];
  /**
   * Whether a path matches a glob, from its first name to its last: `*` any characters but `/`, `?` one of them, `[a-z]`
   * and `[!a-z]` one of a set, `{a,b}` either, `**` any number of names, also none. Takes time proportional to the
   * lengths of both, whatever somebody writes. Throws `BadConfig` for what is not a pattern.
   */
  glob(pattern: string): (path: string) => boolean;
  /** An empty folder that is removed after the run. */
  temporaryFolder(): Promise<string>;
  /**
   * Reads `records` that pages of this partition have stored, only names that begin with `prefix`. The page
   * before may not be stored yet while a listing goes on. A dry run stores none. Before there is a
   * connection: none.
   */
  records(partition: Partition, prefix?: string): Promise<Record<string, Json>>;
}

export interface HostAddress {
  address: string;
  family: 4 | 6;
}

export interface ConnectorLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface HttpOptions {
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string | Uint8Array;
  /** Default 25 MiB. */
  maxBytes?: number;
  /** For one attempt, without waiting for its turn. Default 30,000. */
  timeoutMs?: number;
  /** The longest silence in an answer. Default 10,000. */
  idleTimeoutMs?: number;
  /** The request may be sent twice without harm. Default: true for GET, HEAD, OPTIONS, PUT and DELETE. */
  idempotent?: boolean;
  /**
   * Send the conditional headers of the last answer; `status` is 304 when nothing changed since, with
   * the body of that answer. The last answer may be one of a run that did not finish, so compare the
   * body with the cursor. Bodies over 256 KiB are not kept; then the source answers in full.
   */
  conditional?: boolean;
  /** Do not add the authorization. */
  anonymous?: boolean;
  /** Statuses that are answers, not errors. Default: 2xx and, with `conditional`, 304. */
  accept?: number[];
}

export interface HttpResponse<Body = any> {
  status: number;
  headers: Record<string, string>;
  /** The parsed body when it is JSON. */
  json: Body;
  text(): string;
  bytes: Uint8Array;
}

/**
 * HTTP with authorization, refresh, budgets, retries, conditional requests, size caps and redaction.
 * Throws the errors below; a wait of more than 5 seconds is `RateLimited` instead of a sleep.
 */
export interface Http {
  get<Body = any>(url: string, options?: HttpOptions): Promise<HttpResponse<Body>>;
  post<Body = any>(url: string, options?: HttpOptions): Promise<HttpResponse<Body>>;
  request<Body = any>(method: string, url: string, options?: HttpOptions): Promise<HttpResponse<Body>>;
  /**
   * The same as a `fetch` function, for vendor SDKs, whose own retries should be off. Answers of any
   * status come back as they are, except what is `AuthExpired` or `RateLimited` for more than 5 seconds.
   */
  readonly fetch: typeof globalThis.fetch;
}

// ---------------------------------------------------------------------------------------------
// Errors that a connector may throw. Everything else is judged by its HTTP status or as transient.

export type ConnectorErrorKind =
  | 'auth_expired'
  | 'forbidden'
  | 'gone'
  | 'cursor_expired'
  | 'rate_limited'
  | 'transient'
  | 'bad_config'
  | 'skip'
  | 'source_missing';

const errorMarker = Symbol.for('memoryd.connector.error');

export class ConnectorError extends Error {
  readonly kind: ConnectorErrorKind;
  readonly retryAt: Date | undefined;
  readonly skip: SkipReason | undefined;
  /** Advice for the user. */
  readonly remedy: string | undefined;
  readonly [errorMarker] = true;

  constructor(
    kind: ConnectorErrorKind,
    message: string,
    options: { retryAt?: Date; skip?: SkipReason; remedy?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ConnectorError';
    this.kind = kind;
    this.retryAt = options.retryAt;
    this.skip = options.skip;
    this.remedy = options.remedy;
  }

  /** Works across two installed copies of this package, where `instanceof` does not. */
  static is(error: unknown): error is ConnectorError {
    return typeof error === 'object' && error !== null && errorMarker in error;
  }

  /** The connector's error that this error is or was caused by: SDKs wrap what their `fetch` throws. */
  static find(error: unknown): ConnectorError | undefined {
    let current = error;
    for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
      if (ConnectorError.is(current)) return current;
      current = current.cause;
    }
    return undefined;
  }
}

/** The authorization is no longer valid: the connection waits for a new one. */
export const authExpired = (message: string, cause?: unknown) => new ConnectorError('auth_expired', message, { cause });
/** No access to this item or partition. Never a deletion. */
export const forbidden = (message: string, cause?: unknown) => new ConnectorError('forbidden', message, { cause });
/** The item does not exist. Looked at a second time before it is deleted. */
export const gone = (message: string) => new ConnectorError('gone', message);
/** The source no longer knows the cursor: everything is listed again, nothing is lost. */
export const cursorExpired = (message: string) => new ConnectorError('cursor_expired', message);
export const rateLimited = (message: string, retryAt: Date) => new ConnectorError('rate_limited', message, { retryAt });
/** Worth trying again later. */
export const transient = (message: string, cause?: unknown) => new ConnectorError('transient', message, { cause });
/** The configuration is wrong; nothing is tried again until it changes. */
export const badConfig = (message: string, remedy?: string) =>
  new ConnectorError('bad_config', message, remedy === undefined ? {} : { remedy });
/** The whole source (a folder, a drive, a repository) is not there. Paused, never swept. */
export const sourceMissing = (message: string, remedy?: string) =>
  new ConnectorError('source_missing', message, remedy === undefined ? {} : { remedy });
export const skip = (reason: SkipReason, message: string) => new ConnectorError('skip', message, { skip: reason });

/** Gives a connector its types. The value is returned as it is. */
export function defineConnector<Config = JsonObject, Cursor extends Json = Json>(
  connector: Omit<Connector<Config, Cursor>, 'contractVersion'>,
): Connector<Config, Cursor> {
  return { contractVersion, ...connector };
}

/** Runs one probe of `check`: resolves = ok, a `ConnectorError` about access or configuration = failed, else unknown. */
export async function probe(name: string, title: string, run: () => Promise<unknown>): Promise<CheckResult> {
  try {
    const detail = await run();
    return { name, title, status: 'ok', ...(typeof detail === 'string' ? { detail } : {}) };
  } catch (error) {
    const known =
      ConnectorError.is(error) && ['auth_expired', 'forbidden', 'bad_config', 'source_missing'].includes(error.kind);
    return {
      name,
      title,
      status: known ? 'failed' : 'unknown',
      detail: error instanceof Error ? error.message : String(error),
      ...(ConnectorError.is(error) && error.remedy ? { remedy: error.remedy } : {}),
    };
  }
}
