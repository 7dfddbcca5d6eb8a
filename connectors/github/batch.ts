import type { Fetched, Partition, Ref } from 'memoryd/connector';
import { hashOf } from './blob-hash.ts';
import { query, type GithubContext } from './client.ts';
import { binarySkipped, linkSkipped, moduleSkipped, toDocument } from './file-document.ts';
import { blobOf } from './file-ref.ts';
import { seenPositions } from './position.ts';
import { isDocument, isProse } from './rules.ts';

/** The most files in one query, and the bytes from which on they are asked for in another one, as far as these are known. */
const batchSize = 100;
const batchBytes = 8 * 1024 * 1024;
const maxBytes = 25 * 1024 * 1024;

export function* batchesOf(refs: Ref[]): Generator<Ref[]> {
  let batch: Ref[] = [];
  let bytes = 0;
  for (const ref of refs) {
    const { size = 0 } = ref;
    if (batch.length === batchSize || (batch.length > 0 && bytes + size > batchBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(ref);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** An entry of a tree in GraphQL; `mode` is a number. */
export interface BatchEntry {
  oid: string;
  mode: number;
  type: string;
  object: { isBinary: boolean | null; isTruncated: boolean; byteSize: number; text: string | null } | null;
}

interface BatchAnswer {
  repository: { object: Record<string, BatchEntry | null> | null } | null;
}

/** Files of one commit by one query. What it cannot carry exactly is left out, to be fetched by itself. */
export async function* fetchBatch(
  ctx: GithubContext,
  partition: Partition,
  { commit, refs }: { commit: string; refs: Ref[] },
): AsyncGenerator<[string, Fetched]> {
  const position = (await seenPositions(ctx)).get(partition.id);
  if (!position) return;
  const [owner, name] = new URL(position.url).pathname.split('/').slice(-2);
  const paths = Object.fromEntries(refs.map((ref, index) => [`p${index}`, ref.path ?? '']));
  const answer = await query<BatchAnswer>(ctx, textOf(refs.length), { owner, name, commit, ...paths });
  const entries = answer.repository?.object ?? {};
  for (const [index, ref] of refs.entries()) {
    const fetched = fetchedOf(ref, entries[`f${index}`] ?? null);
    if (fetched) yield [ref.id, fetched];
  }
}

function textOf(count: number): string {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const variables = numbers.map((number) => `$p${number}: String!`).join(', ');
  const files = numbers.map((number) => `f${number}: file(path: $p${number}) { ...Entry }`).join('\n');
  return `query ($owner: String!, $name: String!, $commit: GitObjectID!, ${variables}) {
  repository(owner: $owner, name: $name) { object(oid: $commit) { ... on Commit {
${files}
  } } }
}
fragment Entry on TreeEntry { oid mode type object { ... on Blob { isBinary isTruncated byteSize text } } }`;
}

/** Prose may be UTF-16, which Git takes for binary. */
const mayBeText = (path: string) => isDocument(path) || isProse(path);

function fetchedOf(ref: Ref, entry: BatchEntry | null): Fetched | undefined {
  if (!entry || entry.oid !== blobOf(ref).sha) return undefined;
  if (entry.type === 'commit') return moduleSkipped;
  if (entry.mode === 0o120000) return linkSkipped;
  const { object } = entry;
  if (!object) return undefined;
  if (object.byteSize > maxBytes) return { skip: 'too_large', detail: `It has ${object.byteSize} bytes.` };
  if (object.isBinary) return mayBeText(ref.path ?? '') ? undefined : binarySkipped;
  if (object.text === null || object.isTruncated) return undefined;
  const bytes = Buffer.from(object.text);
  // Texts in other encodings do not come through a JSON answer as they are.
  return hashOf(bytes) === entry.oid ? toDocument(ref, bytes) : undefined;
}
