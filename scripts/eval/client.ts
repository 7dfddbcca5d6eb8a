import { setTimeout as sleep } from 'node:timers/promises';
import { processEnvironment } from '../../src/base/config.ts';
import { startDaemon } from '../../test/support/daemon.ts';

export const modes = ['documents', 'memories', 'hybrid'] as const;
export type Mode = (typeof modes)[number];

/** How is searched. */
export interface Way {
  mode: Mode;
  rerank: boolean;
}

export interface NewDocument {
  customId: string;
  content: string;
  date: string | null;
}

export interface Hit {
  /** `customId` of the document that it comes from; an id where there is none. */
  documents: string[];
  text: string;
}

export interface StoredMemory {
  memory: string;
  kind: string;
  version: number;
  isLatest: boolean;
  documentIds: string[];
  parentMemoryId: string | null;
  history: { memory: string }[];
}

/** A daemon with an embedded database, and what is asked of it over HTTP. */
export interface Client {
  /** Adds documents, oldest first, and waits until they are searchable and their memories are written. Answers their ids. */
  add(containerTag: string, documents: readonly NewDocument[]): Promise<string[]>;
  /** Adds something that was read, as a file. */
  upload(containerTag: string, name: string, content: string): Promise<void>;
  search(containerTag: string, query: string, way: Way, limit: number): Promise<{ hits: Hit[]; ms: number }>;
  memories(containerTag: string): Promise<StoredMemory[]>;
  profile(containerTag: string): Promise<string[]>;
  stop(): Promise<void>;
}

interface Result {
  memory?: string;
  chunk?: string;
  sources?: { documentId: string }[];
  documents?: { id: string }[];
}

/** The daemon has default settings, but for the embedding model where the environment names another one. */
export async function startClient(): Promise<Client> {
  const model = Object.entries(processEnvironment()).filter(([name]) => name.startsWith('MEMORYD_EMBEDDER_'));
  const daemon = await startDaemon({ env: Object.fromEntries(model) as Record<string, string> });
  const customIds = new Map<string, string>();
  const headers = { authorization: `Bearer ${daemon.key}` };

  async function request<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const isForm = body instanceof FormData;
    const response = await fetch(`${daemon.url}${path}`, {
      method,
      headers: { ...headers, ...(body !== undefined && !isForm && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Answer;
  }

  async function settled(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      for (;;) {
        const { status } = await request<{ status: string }>('GET', `/v3/documents/${id}`);
        if (status === 'failed') throw new Error(`Document ${customIds.get(id) ?? id} failed.`);
        if (status === 'done') break;
        await sleep(50);
      }
    }
  }

  return {
    async add(containerTag, documents) {
      const ids: string[] = [];
      for (let from = 0; from < documents.length; from += 500) {
        const batch = documents.slice(from, from + 500).map(({ customId, content, date }) => ({
          ...{ customId, content, dreaming: 'instant' },
          ...(date !== null && { documentDate: date }),
        }));
        const { results } = await request<{ results: { id: string }[] }>('POST', '/v3/documents/batch', {
          ...{ containerTag, documents: batch, dreaming: 'instant' },
        });
        for (const [place, { id }] of results.entries()) {
          customIds.set(id, batch[place]!.customId);
          ids.push(id);
        }
      }
      await settled(ids);
      return ids;
    },
    async upload(containerTag, name, content) {
      const form = new FormData();
      form.set('file', new Blob([content], { type: 'text/plain' }), name);
      form.set('containerTag', containerTag);
      form.set('dreaming', 'instant');
      const { id } = await request<{ id: string }>('POST', '/v3/documents/file', form);
      await settled([id]);
    },
    async search(containerTag, q, { mode: searchMode, rerank }, limit) {
      const from = performance.now();
      const body = { q, containerTag, searchMode, limit, threshold: 0, rerank };
      const { results } = await request<{ results: Result[] }>('POST', '/v4/search', body);
      const hits = results.map(({ memory, chunk, sources, documents }) => ({
        documents: (sources?.map(({ documentId }) => documentId) ?? documents?.map(({ id }) => id) ?? []).map(
          (id) => customIds.get(id) ?? id,
        ),
        text: memory ?? chunk ?? '',
      }));
      return { hits, ms: performance.now() - from };
    },
    async memories(containerTag) {
      const found: StoredMemory[] = [];
      for (let page = 1; ; page += 1) {
        const body = { containerTags: [containerTag], page, limit: 100 };
        const { memoryEntries } = await request<{ memoryEntries: StoredMemory[] }>('POST', '/v4/memories/list', body);
        found.push(...memoryEntries);
        if (memoryEntries.length < 100) return found;
      }
    },
    async profile(containerTag) {
      const { profile } = await request<{ profile: { static?: string[]; dynamic?: string[] } }>('POST', '/v4/profile', {
        containerTag,
      });
      return [...(profile.static ?? []), ...(profile.dynamic ?? [])];
    },
    async stop() {
      await daemon.stop();
    },
  };
}
