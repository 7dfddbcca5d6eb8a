import { expectedOf, type Source } from './sources.ts';

/** What an item that was added over the API may be: what was acknowledged last, or what was asked for since. */
export interface Added {
  /** Null: deleted. Undefined: nothing was ever acknowledged. */
  acknowledged: string | null | undefined;
  possible: (string | null)[];
}

interface Remembered {
  customId: string;
  content: string;
  status: string;
}

/** Documents by container. */
export type Memory = ReadonlyMap<string, readonly Remembered[]>;
type Ask = (method: string, path: string, body?: unknown) => Promise<any>;

/** Undefined when the daemon does not answer. */
export async function readMemory(ask: Ask, tags: readonly string[]): Promise<Memory | undefined> {
  const memory = new Map<string, Remembered[]>();
  for (const tag of tags) {
    const body = { containerTags: [tag], page: 1, limit: 500, includeContent: true };
    const answer = await ask('POST', '/v3/documents/list', body);
    if (!answer) return undefined;
    memory.set(tag, answer.memories as Remembered[]);
  }
  return memory;
}

export async function differencesOf(
  sources: readonly Source[],
  added: ReadonlyMap<string, Added>,
  memory: Memory,
  apiTag: string,
): Promise<string[]> {
  const found: string[] = [];
  for (const source of sources) {
    const held = memory.get(`chaos_${source.name}`)!;
    found.push(...compare(source.name, await expectedOf(source), held));
  }
  return [...found, ...compareAdded(added, memory.get(apiTag)!)];
}

function compare(name: string, expected: ReadonlyMap<string, string>, held: readonly Remembered[]): string[] {
  const found: string[] = [];
  const byId = new Map(held.map((one) => [one.customId, one]));
  if (byId.size !== held.length) found.push(`${name}: an item has several documents.`);
  for (const [id, text] of expected) {
    const one = byId.get(id);
    if (!one) found.push(`${name}: ${id} is missing.`);
    else if (one.status !== 'done') found.push(`${name}: ${id} is ${one.status}.`);
    else if (one.content.trim() !== text) found.push(`${name}: ${id} is ${shown(one.content)}, not ${shown(text)}.`);
  }
  for (const id of byId.keys()) if (!expected.has(id)) found.push(`${name}: ${id} is there and must not be.`);
  return found;
}

function compareAdded(added: ReadonlyMap<string, Added>, held: readonly Remembered[]): string[] {
  const found: string[] = [];
  const byId = new Map(held.map((one) => [one.customId, one]));
  for (const [id, { acknowledged = null, possible }] of added) {
    const one = byId.get(id);
    if (one && one.status !== 'done') found.push(`api: ${id} is ${one.status}.`);
    const text = one?.content.trim() ?? null;
    if ([acknowledged, ...possible].some((may) => (may?.trim() ?? null) === text)) continue;
    found.push(`api: ${id} is ${text === null ? 'missing' : shown(text)}, not ${shown(acknowledged)}.`);
  }
  return found;
}

const shown = (text: string | null) => (text === null ? 'nothing' : JSON.stringify(text.slice(0, 60)));
