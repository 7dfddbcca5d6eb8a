import type { KnownMemory } from '../store/known-memories.ts';
import { isSamePerson, nameOf } from './authors.ts';
import { rankOf, saidBy } from './known.ts';

/** `replaces`: it is the newer version. `precedes`: it is an older one. Null: both stand side by side. */
export type Succession = 'replaces' | 'precedes' | null;

/**
 * Whether a fact is another version of one that stands. What was told gives way only to what is told,
 * the owner's own only to the same person's and to what is told, and what was read to either of these and to
 * the same person's: of what one person writes, nothing changes what another one has said.
 */
export function successionOf(added: KnownMemory, standing: KnownMemory): Succession {
  const isNewer = saidBy(added) >= saidBy(standing);
  const above = rankOf(added) - rankOf(standing);
  if (above < 0) return null;
  if (above > 0) return isNewer ? 'replaces' : null;
  if (!speaksForSame(added, standing)) return null;
  return isNewer ? 'replaces' : 'precedes';
}

function speaksForSame(added: KnownMemory, standing: KnownMemory): boolean {
  if (added.trust === 'told') return !isFirstHand(standing) || isFirstHand(added) || added.author === standing.author;
  if (isSamePerson(added.author, standing.author)) return true;
  if (added.author !== null || standing.author !== null) return false;
  return added.trust === 'own' || standing.documentIds.some((id) => added.documentIds.includes(id));
}

/** It says something of the person who says it. Others may know less. */
function isFirstHand({ author, subject, trust }: KnownMemory): boolean {
  if (subject === null) return false;
  if (author === null) return trust === 'told' && /^(?:the )?user$/.test(subject);
  return subject === nameOf(author).toLowerCase();
}
