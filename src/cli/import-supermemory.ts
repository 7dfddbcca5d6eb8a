import type { ContentSettings } from '../account/settings.ts';
import type { JsonObject } from '../connector/contract.ts';
import { call, type Endpoint } from './client-request.ts';
import { CommandFailure } from './exit.ts';
import { nothing, present, type ImportPage, type ImportSource } from './import-source.ts';

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
/** Settings that both have; secrets of applications are never shown. */
const carriedSettings: readonly (keyof ContentSettings)[] = [
  'shouldLLMFilter',
  'filterPrompt',
  'includeItems',
  'excludeItems',
  'chunkSize',
  'profileBuckets',
  'workspacePrompt',
];

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
      const all = await call<JsonObject>(endpoint, 'GET', '/v3/settings');
      return present(Object.fromEntries(carriedSettings.map((name) => [name, all[name]])));
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
