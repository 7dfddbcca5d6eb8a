import { at } from '../base/collections.ts';
import type { Database } from '../store/database.ts';
import { memoriesOfDocument, readStanding } from '../store/search/document-standing.ts';
import type { Line } from './results.ts';
import type { Scored } from './score-candidates.ts';
import type { Explanation, SearchRequest } from './search.ts';

/** The steps of a search. */
export interface Trace {
  ranked: readonly Scored[];
  /** One for each thing that is said, best first. */
  lines: readonly Line[];
  /** Results that reach the threshold, in the order of the answer. */
  order: readonly Line[];
}

interface Parts {
  database: Database;
  trace: Trace;
  /** The same search of nothing but this document. */
  ofDocumentAlone(): Promise<readonly Scored[]>;
}

/** Says of a document whether a search shows it, and if not, why. */
export async function explained(request: SearchRequest, documentId: string, parts: Parts): Promise<Explanation> {
  const { database, trace } = parts;
  const { ranked, lines, order } = trace;
  const own = await textsOf(documentId, ranked, database);
  const none = { rank: null, ranked: lines.length, similarity: null, scores: null, leftOutBy: [] };
  const place = (list: readonly Line[], outcome: Explanation['outcome']): Explanation | undefined => {
    const index = list.findIndex(({ id }) => own.has(id));
    if (index === -1) return undefined;
    const { similarity, scores } = at(list, index);
    return { ...none, outcome, rank: index + 1, similarity, scores };
  };
  const chosen = place(order, 'below_limit');
  if (chosen) return chosen.rank! <= request.limit ? { ...chosen, outcome: 'shown' } : chosen;
  const line = place(lines, 'below_threshold');
  if (line) return line;
  if (own.size > 0) return { ...none, outcome: 'said_by_another' };
  const { scope, ...narrowed } = request;
  const standing = await readStanding(database, documentId, { ...narrowed, ...scope });
  if (standing && standing.leftOutBy.length > 0) {
    return { ...none, outcome: 'left_out', leftOutBy: standing.leftOutBy };
  }
  if (!standing?.hasTexts) return { ...none, outcome: 'not_indexed' };
  const similarity = (await parts.ofDocumentAlone()).reduce((most, one) => Math.max(most, one.similarity), 0);
  return { ...none, outcome: similarity < request.threshold ? 'below_threshold' : 'below_limit', similarity };
}

/** The chunks of a document among these, and the memories that came from it. */
async function textsOf(documentId: string, ranked: readonly Scored[], database: Database): Promise<Set<string>> {
  const chunks = ranked.filter(({ kind, places }) => kind === 'chunk' && places[0]?.document === documentId);
  const memories = ranked.filter(({ kind }) => kind === 'memory').map(({ id }) => id);
  return new Set([...chunks.map(({ id }) => id), ...(await memoriesOfDocument(database, documentId, memories))]);
}
