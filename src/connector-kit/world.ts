import type { JsonObject, MetadataValue, RawHook, Resource } from '../connector/contract.ts';
import type { Traffic } from './serve-source.ts';

type Awaitable<Value> = Value | Promise<Value>;

/** One item as memory must hold it. Absent fields are not compared. */
export interface ExpectedItem {
  text: string;
  title?: string;
  path?: string;
  url?: string;
  metadata?: Record<string, MetadataValue>;
}

/** Options that the kit passes to a new world. */
export interface WorldOptions {
  /** The time in which the world lives. It passes when the kit says so. */
  clock: { now(): Date };
  /** A word that must never leave the credentials: use it inside of every key, password and token. */
  canary: string;
  /** `small`: about three items to a page, so that a few items make several pages. `full`: as the source has it. */
  pages: 'small' | 'full';
}

export type UnreadableKind = 'too_large' | 'binary' | 'encrypted' | 'empty';

/** How the source refuses or delays what it does with a credential. */
export type CredentialTrouble = 'refused' | 'slow';

/**
 * The far side of a connector in a test: a source whose items come, change and go as the kit says. The
 * kit gives each item a name (`note-1`), by which it speaks of it from then on; `idOf` says which id it
 * has at the source. Every check starts with a new, empty world.
 *
 * Only the first part is needed. Each further method is something that the source can do; checks about
 * what it cannot do are listed as not applied.
 */
export interface World {
  /** The configuration of a connection to this world. */
  readonly config: JsonObject;
  /** The connection's credentials, if it needs any: the fields of one of the connector's `auth`. */
  readonly credentials?: JsonObject;
  /**
   * Settings with which a connection waits for an answer only for a moment, where that does not depend on
   * `ctx.http`: they hold while the source is silent.
   */
  readonly impatience?: JsonObject;
  /**
   * Hosts of the source, and the address on this machine that stands for each, e.g. `api.example.com` and
   * `http://127.0.0.1:4000`. Requests to other hosts fail then.
   */
  readonly hosts?: Readonly<Record<string, string>>;
  /** Items that memory must hold now, by id at the source; of the selected resources, if any are selected. */
  expected(selected: readonly string[]): Awaitable<ReadonlyMap<string, ExpectedItem>>;
  /** The id that the item has now. */
  idOf(name: string): string;
  create(name: string, text: string): Awaitable<void>;
  edit(name: string, text: string): Awaitable<void>;
  remove(name: string): Awaitable<void>;
  close(): Awaitable<void>;

  /** Creates `count` small items with the names `bulk-0`, `bulk-1`, … at once. Default: `create` for each. */
  fill?(count: number): Awaitable<void>;
  /** Gives the item another title or name; it stays the same item. */
  rename?(name: string, title: string): Awaitable<void>;

  /** Containers of items: folders, pages with sub-pages, labels. */
  containers?: {
    create(container: string): Awaitable<void>;
    /** Moves an item into a container; it stays the same item. */
    move(name: string, container: string): Awaitable<void>;
    rename(container: string, title: string): Awaitable<void>;
    /** Removes a container with everything in it, as one act at the source. */
    remove(container: string): Awaitable<void>;
  };

  /** A trash from which items can be taken back. */
  trash?: { put(name: string): Awaitable<void>; restore(name: string): Awaitable<void> };
  /** Access of the connected account to single items. */
  access?: { revoke(name: string): Awaitable<void>; grant(name: string): Awaitable<void> };
  /** Moves an item to a place that the connection does not mirror, and back. */
  scope?: { leave(name: string): Awaitable<void>; enter(name: string): Awaitable<void> };
  /** Resources among which the user chooses, two at least, and a way to put an item into one of them. */
  resources?: { all(): Awaitable<readonly Resource[]>; move(name: string, resource: string): Awaitable<void> };
  /** Items of which no text can be taken. */
  unreadable?: Partial<Record<UnreadableKind, (name: string) => Awaitable<void>>>;
  /** Reading this item fails at the source until it is cured. */
  poison?: { put(name: string): Awaitable<void>; cure(name: string): Awaitable<void> };

  /** The source forgets every cursor that it gave out before. */
  expirePositions?(): Awaitable<void>;
  /** How far the source's own clock is ahead of the daemon's. */
  setClockSkew?(ms: number): void;
  /** Size of the steps in which the source's timestamps move on, e.g. 60,000 for whole minutes. */
  setClockStep?(ms: number): void;

  /** Makes the source refuse the credential, or answer nothing while it is checked. */
  credential?: { break(trouble: CredentialTrouble): Awaitable<void>; mend(): Awaitable<void> };
  /** The token endpoint of the source. `credentials` are absent then. */
  oauth?: WorldOAuth;
  /** Signed requests with which the source reports changes. */
  hooks?: WorldHooks;

  /** The requests that the source gets. Comes with `serveSource`. */
  traffic?: Traffic;
  /** Seconds to wait, written as the source writes limits without the status 429. */
  limit?(seconds: number): { status: number; headers?: Record<string, string>; json?: unknown };
}

/** A grant as the token endpoint answered it. */
export interface WorldGrant {
  accessToken: string;
  refreshToken?: string;
  /** Seconds. */
  expiresIn?: number;
  scope?: string;
}

export interface WorldOAuth {
  client: { id: string; secret: string };
  /** A new grant, as if the user had consented. */
  grant(): Awaitable<WorldGrant>;
  /** The access tokens of now stop working. */
  expireAccessTokens(): Awaitable<void>;
  /** The grant is withdrawn: refreshing answers `invalid_grant`. */
  withdraw(): Awaitable<void>;
  /** How many refreshes the endpoint has served or refused. */
  refreshes(): number;
  /** Whether a request's address is that of the token endpoint. */
  isTokenRequest(request: { method: string; path: string }): boolean;
}

export interface WorldHooks {
  secret: string;
  /** The request by which the source reports that these items changed; a new delivery each time. */
  delivery(names: readonly string[]): Awaitable<RawHook>;
}
