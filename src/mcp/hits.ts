import type { SearchResult } from '../search/search.ts';
import { fenceNote, quoted, type Fence } from './fence.ts';
import { day, percent, shortLine } from './text.ts';

/** What the results of a search say of themselves, in the words of the tools. */

export function hitOf(result: SearchResult) {
  const { id, text, similarity, containerTag, trust, author, version, documents } = result;
  const [first] = documents;
  const title = first?.title ?? null;
  return {
    ...{ id, text, similarity, containerTag, trust, version },
    kind: result.memoryKind ?? ('passage' as const),
    date: (result.saidAt ?? first?.documentDate ?? result.createdAt).toISOString(),
    from: author ?? senderOf(first?.metadata['from']),
    path: first?.filepath ?? null,
    url: first?.url ?? null,
    documentIds: documents.map((document) => document.id),
    ...(title !== null && { title }),
  };
}

export type Hit = ReturnType<typeof hitOf>;

/** Of mail, whose connectors name the senders in metadata. */
function senderOf(from: unknown): string | null {
  if (typeof from === 'string') return from;
  return Array.isArray(from) && from.length > 0 ? from.slice(0, 3).join(', ') : null;
}

/** Everything of a hit that a source has written. */
export function writtenBySource({ title, path, from, url, text }: Hit): string[] {
  return [title, path, from, url, text].filter((one) => typeof one === 'string');
}

/** What was told apart from what was mirrored; both in the order of the search. */
export function hitSections(hits: readonly Hit[], fence: Fence): string[] {
  const numbered = hits.map((hit, index) => ({ hit, label: `[${index + 1}] ${labelOf(hit)}` }));
  const told = numbered
    .filter(({ hit }) => hit.trust === 'told')
    .map(({ hit, label }) => `${label}\n${quoted(blockOf(hit))}`);
  const mirrored = numbered
    .filter(({ hit }) => hit.trust !== 'told')
    .map(({ hit, label }) => `${label}\n${fence(blockOf(hit))}`);
  return [
    ...(told.length > 0 ? ['## Told to memory', ...told] : []),
    ...(mirrored.length > 0 ? [`## From mirrored sources\n${fenceNote}`, ...mirrored] : []),
  ];
}

/** Only what memoryd itself knows: nothing that a source may choose. */
function labelOf({ id, kind, similarity, date, version, trust, containerTag, documentIds }: Hit): string {
  const [documentId] = documentIds;
  return [
    ...[kind, `${percent(similarity)} match`, day(date), `namespace ${containerTag}`],
    ...(trust === 'own' ? ['written by the owner'] : []),
    ...(kind === 'passage' ? [] : [`memory ${id}`]),
    ...(version !== null && version > 1 ? [`version ${version}`] : []),
    ...(documentId === undefined ? [] : [`document ${documentId}`]),
    ...(documentIds.length > 1 ? [`and ${documentIds.length - 1} more`] : []),
  ].join(', ');
}

function blockOf({ title, path, from, url, text }: Hit): string {
  // A memory that was written directly is its own title.
  const named = title !== undefined && !text.startsWith(title) ? title : null;
  const lines = Object.entries({ title: named, path, from, link: url });
  const known = lines.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${shortLine(value)}`]));
  return known.length === 0 ? text : `${known.join('\n')}\n\n${text}`;
}
