import { readFile } from 'node:fs/promises';
import { valueOf } from '../base/collections.ts';
import type { JsonObject } from '../connector/contract.ts';
import { call, type Endpoint } from './client-request.ts';
import { CommandFailure, exitCodes } from './exit.ts';

/** The content of another memory service, read page by page. */
export interface ImportSource {
  /** Containers of memoryd with what goes into them, in a steady order. */
  containers(): Promise<string[]>;
  /** A body for `PATCH /v3/settings`; null when the service has no settings. */
  settings(): Promise<JsonObject | null>;
  /** A body for `PATCH /v3/container-tags/{tag}`; null when nothing is set. */
  containerSettings(container: string): Promise<JsonObject | null>;
  /** Pages count from 1. */
  documents(container: string, page: number): Promise<ImportPage>;
  memories(container: string, page: number): Promise<ImportPage>;
}

export interface ImportPage {
  /** Entries for `POST /v3/documents/batch` or `POST /v4/memories`, without the container. */
  entries: JsonObject[];
  /** Why others on the page stay behind, a reason each. */
  left: string[];
  isLast: boolean;
}

const nothing: ImportPage = { entries: [], left: [], isLast: true };

/** Without what is null or absent. */
function present(fields: Record<string, unknown>): JsonObject {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given) as JsonObject;
}

interface Pagination {
  pagination: { currentPage: number; totalPages: number };
}

interface ListedDocument {
  id: string;
  customId?: string | null;
  connectionId?: string | null;
  title: string | null;
  url?: string | null;
  filepath?: string | null;
  content?: string | null;
  metadata: JsonObject | null;
  createdAt: string;
  status: string;
}

interface ListedMemory {
  id: string;
  memory: string;
  isStatic: boolean;
  isForgotten: boolean;
  metadata: JsonObject | null;
  forgetAfter?: string | null;
  forgetReason?: string | null;
  temporalContext?: JsonObject | null;
  history?: unknown[];
}

export interface SupermemoryOptions {
  /** Also what connections of the service wrote. */
  synced: boolean;
  now(): Date;
}

const pageSize = 100;
const synced = 'came from a connection: connect the source here, or say --with-synced';
const empty = 'has no content yet, or could not be read there';
/** A running service, in the dialect that it speaks: v3 and v4 where it still does, else v5. */
export async function openSupermemory(endpoint: Endpoint, options: SupermemoryOptions): Promise<ImportSource> {
  try {
    const tags = await call<{ containerTag: string }[]>(endpoint, 'GET', '/v3/container-tags/list');
    return older(
      endpoint,
      options,
      tags.map(({ containerTag }) => containerTag),
    );
  } catch (error) {
    if (!(error instanceof CommandFailure) || (error.status !== 404 && error.status !== 410)) throw error;
    return newer(endpoint, options);
  }
}

function older(endpoint: Endpoint, options: SupermemoryOptions, tags: readonly string[]): ImportSource {
  const list = <Answer>(path: string, container: string, page: number, fields: object) =>
    call<Answer & Pagination>(endpoint, 'POST', path, {
      body: { containerTags: [container], limit: pageSize, page, sort: 'createdAt', order: 'asc', ...fields },
    });
  return {
    containers: async () => tags.toSorted(),
    async settings() {
      // Other commands start without it.
      const { contentSettingNames } = await import('../account/settings.ts');
      const all = await call<JsonObject>(endpoint, 'GET', '/v3/settings');
      // Secrets of applications are never shown.
      return present(Object.fromEntries(contentSettingNames.map((name) => [name, all[name]])));
    },
    async containerSettings(container) {
      const path = `/v3/container-tags/${encodeURIComponent(container)}`;
      const settings = await call<JsonObject>(endpoint, 'GET', path);
      // What memories are made of is a setting of memoryd alone.
      const { name, entityContext, memoryFilesystemPaths, profileBuckets, memories } = settings;
      const buckets = Array.isArray(profileBuckets) && profileBuckets.length > 0 ? profileBuckets : null;
      return unlessEmpty(present({ name, entityContext, memoryFilesystemPaths, profileBuckets: buckets, memories }));
    },
    async documents(container, page) {
      const answer = await list<{ memories: ListedDocument[] }>('/v3/documents/list', container, page, {
        includeContent: true,
      });
      return pageOf(answer, answer.memories, (document) => documentEntry(document, options));
    },
    async memories(container, page) {
      const answer = await list<{ memoryEntries: ListedMemory[] }>('/v4/memories/list', container, page, {});
      return pageOf(answer, answer.memoryEntries, (memory) => memoryEntry(memory, options));
    },
  };
}

type NewerDocument = Omit<ListedDocument, 'status' | 'createdAt'> & { system: { status: string; createdAt: string } };

function newer(endpoint: Endpoint, options: SupermemoryOptions): ImportSource {
  const pathOf = (namespace: string, rest = '') => `/ns/${encodeURIComponent(namespace)}${rest}`;
  const list = <Answer>(namespace: string, type: 'documents' | 'memories', page: number) =>
    call<Answer & Pagination>(endpoint, 'POST', pathOf(namespace, `/list/${type}`), {
      query: { page: String(page), limit: String(pageSize), sort: 'createdAt', order: 'asc' },
      body: {},
    });
  return {
    containers: () => namespacesOf(endpoint),
    settings: async () => null,
    async containerSettings(namespace) {
      const { supportingContext } = await call<JsonObject>(endpoint, 'GET', pathOf(namespace));
      return unlessEmpty(present({ entityContext: supportingContext }));
    },
    async documents(namespace, page) {
      const answer = await list<{ documents: { id: string }[] }>(namespace, 'documents', page);
      const whole: ListedDocument[] = [];
      for (const { id } of answer.documents) {
        const path = pathOf(namespace, `/document/${encodeURIComponent(id)}`);
        const { system, ...document } = await call<NewerDocument>(endpoint, 'GET', path);
        whole.push({ ...document, ...system });
      }
      return pageOf(answer, whole, (document) => documentEntry(document, options));
    },
    async memories(namespace, page) {
      const answer = await list<{ memories: ListedMemory[] }>(namespace, 'memories', page);
      return pageOf(answer, answer.memories, (memory) => memoryEntry(memory, options));
    },
  };
}

async function namespacesOf(endpoint: Endpoint): Promise<string[]> {
  const found: string[] = [];
  for (let page = 1; ; page++) {
    const query = { page: String(page), limit: String(pageSize) };
    const answer = await call<{ namespaces: { namespace: string }[] } & Pagination>(endpoint, 'GET', '/ns', { query });
    found.push(...answer.namespaces.map(({ namespace }) => namespace));
    if (isLast(answer)) return found.toSorted();
  }
}

/** An entry, or why it stays behind. */
type Carried = JsonObject | string;

function pageOf<Listed>(answer: Pagination, listed: readonly Listed[], carry: (one: Listed) => Carried): ImportPage {
  const carried = listed.map(carry);
  return {
    ...nothing,
    entries: carried.filter((one) => typeof one !== 'string'),
    left: carried.filter((one) => typeof one === 'string'),
    isLast: isLast(answer),
  };
}

const isLast = ({ pagination }: Pagination) => pagination.currentPage >= pagination.totalPages;

function documentEntry(document: ListedDocument, options: SupermemoryOptions): Carried {
  const { id, customId, connectionId, title, url, content, createdAt } = document;
  if (connectionId && !options.synced) return synced;
  if (!content || content.trim() === '') return empty;
  const metadata = { ...present({ title, url }), ...document.metadata };
  return present({
    content,
    // So that the same document comes once, however often it is carried over.
    customId: customId ?? `supermemory:${id}`,
    metadata,
    filepath: document.filepath,
    documentDate: createdAt,
  });
}

function memoryEntry(memory: ListedMemory, { now }: SupermemoryOptions): Carried {
  const { memory: content, isStatic, metadata, forgetAfter, forgetReason, temporalContext } = memory;
  if (memory.isForgotten) return 'is forgotten';
  if (forgetAfter && Date.parse(forgetAfter) <= now().getTime()) return 'is to be forgotten by now';
  return present({ content, isStatic, metadata, forgetAfter, forgetReason, temporalContext });
}

const unlessEmpty = (fields: JsonObject) => (Object.keys(fields).length > 0 ? fields : null);

/** A memory in an export or a list: https://docs.mem0.ai/api-reference/memory/get-memories. */
interface Mem0Memory {
  id?: string;
  memory?: string;
  user_id?: string | null;
  agent_id?: string | null;
  app_id?: string | null;
  run_id?: string | null;
  categories?: string[] | null;
  metadata?: Record<string, unknown> | null;
  created_at?: string | null;
  expiration_date?: string | null;
}

const longestMemory = 10_000;
const noOwner = 'mem0';

/** The memories of an export: an array, or an object that holds one as `results` or `memories`. */
export async function readMem0File(path: string): Promise<Mem0Memory[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandFailure(exitCodes.usage, `${path} cannot be read.`, { cause: error });
  });
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new CommandFailure(exitCodes.usage, `${path} is not JSON.`, { cause: error });
  }
  const memories = listIn(parsed);
  if (memories) return memories;
  throw new CommandFailure(exitCodes.usage, `${path} holds no list of memories.`, {
    remedy: 'It must be an array, or an object with one in "results" or "memories".',
  });
}

function listIn(answer: unknown): Mem0Memory[] | null {
  if (Array.isArray(answer)) return answer;
  const { results, memories } = (answer ?? {}) as { results?: unknown; memories?: unknown };
  return Array.isArray(results) ? results : Array.isArray(memories) ? memories : null;
}

/** Users of the hosted service; for a self-hosted server, which lists none, the named ones. */
export async function fetchMem0(endpoint: Endpoint, users: readonly string[]): Promise<Mem0Memory[]> {
  if (users.length > 0) {
    const lists = [];
    for (const user of users) lists.push(await call(endpoint, 'GET', '/memories', { query: { user_id: user } }));
    return lists.flatMap((answer) => listIn(answer) ?? []);
  }
  const entities = ['user_id', 'agent_id', 'app_id', 'run_id'];
  const found = new Map<string, Mem0Memory>();
  for (let page = 1; ; page++) {
    const memories = listIn(
      await call(endpoint, 'POST', '/v2/memories/', {
        query: { page: String(page), page_size: String(pageSize) },
        body: { filters: { OR: entities.map((entity) => ({ [entity]: '*' })) } },
      }),
    );
    for (const [index, memory] of (memories ?? []).entries()) found.set(memory.id ?? `${page}:${index}`, memory);
    if ((memories?.length ?? 0) < pageSize) return [...found.values()];
  }
}

/** A container for each user (or agent, application or run), named after it. */
export function mem0Source(memories: readonly Mem0Memory[], now: Date): ImportSource {
  const containers = new Map<string, Mem0Memory[]>();
  const names = containerNames(memories.map(ownerOf));
  for (const memory of memories) {
    const container = valueOf(names, ownerOf(memory));
    containers.set(container, [...(containers.get(container) ?? []), memory]);
  }
  return {
    containers: async () => [...containers.keys()].toSorted(),
    settings: async () => null,
    containerSettings: async () => null,
    documents: async () => nothing,
    async memories(container, page) {
      const all = containers.get(container) ?? [];
      const carried = all.slice((page - 1) * pageSize, page * pageSize).map((memory) => entryOf(memory, now));
      return {
        entries: carried.filter((one) => typeof one !== 'string'),
        left: carried.filter((one) => typeof one === 'string'),
        isLast: page * pageSize >= all.length,
      };
    },
  };
}

const ownerOf = ({ user_id: user, agent_id: agent, app_id: app, run_id: run }: Mem0Memory) =>
  user ?? agent ?? app ?? run ?? noOwner;

/** Names may hold letters, digits, `_`, `:` and `-`; owners that would get one name are numbered. */
function containerNames(owners: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const owner of [...new Set(owners)].toSorted()) {
    const plain = owner.replace(/[^a-zA-Z0-9_:-]/g, '_').slice(0, 90) || noOwner;
    let name = plain;
    for (let number = 2; taken.has(name); number++) name = `${plain}-${number}`;
    taken.add(name);
    names.set(owner, name);
  }
  return names;
}

function entryOf(memory: Mem0Memory, now: Date): JsonObject | string {
  const { memory: content, categories, expiration_date: expires } = memory;
  if (typeof content !== 'string' || content.trim() === '') return 'has no text';
  if (content.length > longestMemory) return `is longer than ${longestMemory} characters`;
  if (expires && Date.parse(expires) <= now.getTime()) return 'has expired';
  const { user_id: user, agent_id: agent, app_id: app, run_id: run, created_at: created } = memory;
  const others = Object.entries({ user, agent, app, run }).filter(([, id]) => id && id !== ownerOf(memory));
  return present({
    content,
    metadata: { ...flat(memory.metadata ?? {}), ...Object.fromEntries(others), ...present({ categories }) },
    forgetAfter: expires ? new Date(expires).toISOString() : null,
    temporalContext: created ? { documentDate: new Date(created).toISOString() } : null,
  });
}

/** Metadata holds texts, numbers, truth values and lists of texts; anything else becomes JSON. */
function flat(metadata: Record<string, unknown>): JsonObject {
  const isPlain = (value: unknown) =>
    ['string', 'number', 'boolean'].includes(typeof value) ||
    (Array.isArray(value) && value.every((one) => typeof one === 'string'));
  const given = Object.entries(metadata).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(
    given.map(([key, value]) => [key, isPlain(value) ? value : JSON.stringify(value)]),
  ) as JsonObject;
}
