import { readFile } from 'node:fs/promises';
import { valueOf } from '../base/collections.ts';
import type { JsonObject } from '../connector/contract.ts';
import { call, type Endpoint } from './client-request.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { nothing, present, type ImportSource } from './import-source.ts';

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

const pageSize = 100;
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
